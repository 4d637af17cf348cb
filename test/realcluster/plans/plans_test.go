package plans_test

import (
	"context"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/plans"
	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/report"
	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

const (
	// nodes is how many there are beside those of cluster.yaml.
	nodes = 3
	// atOnce is how many cases are played at a time, unless PLANS_AT_ONCE says otherwise.
	atOnce = 6
	// replays is how often a case that differs is played again, by itself: what does not differ each time is a race.
	replays = 2
	// mostRepeated is how many cases may be played again before the test fails.
	mostRepeated = 3
)

// outcome is what came of a case.
type outcome struct {
	result *plans.Result
	err    error
}

func (o outcome) differs() bool { return o.err != nil || len(o.result.Differences) > 0 }

// TestPlans compares the plan of `kubectl reconcile diff -f` with what a real control plane does, for each case. PLANS
// chooses cases by patterns, such as "deployment-*,budget"; PLANS_AT_ONCE is how many are played at a time,
// PLANS_REPLAYS how often one that differs is played again, PLANS_KEEP a folder for the plans, FIDELITY_REPORT one for
// plans.json.
func TestPlans(t *testing.T) {
	all := load(t)
	player := start(t)
	begin := time.Now()
	outcomes := make([]outcome, len(all))
	turns := make(chan struct{}, number(t, "PLANS_AT_ONCE", atOnce))
	var group sync.WaitGroup
	for i := range all {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			outcomes[i] = play(t.Context(), player, &all[i])
		})
	}
	group.Wait()
	t.Logf("played %d cases in %s", len(all), time.Since(begin).Round(time.Second))
	var repeated []string
	for i := range all {
		for n := 0; n < number(t, "PLANS_REPLAYS", replays) && outcomes[i].differs(); n++ {
			repeated = append(repeated, all[i].Name)
			t.Logf("playing %q again, because it differed: %s", all[i].Name, brief(outcomes[i]))
			again := all[i]
			again.Name += "-again-" + strconv.Itoa(n+1)
			outcomes[i] = play(t.Context(), player, &again)
		}
	}
	for i := range all {
		t.Run(all[i].Name, func(t *testing.T) { judge(t, outcomes[i]) })
	}
	if dir := os.Getenv("FIDELITY_REPORT"); dir != "" {
		if err := report.Write(dir, suite(all, outcomes, slices.Compact(repeated))); err != nil {
			t.Error(err)
		}
	}
	if repeated = slices.Compact(repeated); len(repeated) > mostRepeated {
		t.Errorf("%d cases were played again, more than %d: %s", len(repeated), mostRepeated, strings.Join(repeated, ", "))
	}
}

// load returns the cases that PLANS chooses.
func load(t *testing.T) []plans.Case {
	t.Helper()
	all, err := plans.Load(os.DirFS("testdata"), "cases")
	if err != nil {
		t.Fatal(err)
	}
	chosen := os.Getenv("PLANS")
	all = slices.DeleteFunc(all, func(c plans.Case) bool {
		return chosen != "" && !slices.ContainsFunc(strings.Split(chosen, ","), func(pattern string) bool {
			ok, err := path.Match(pattern, c.Name)
			return ok && err == nil
		})
	})
	if len(all) == 0 {
		t.Fatalf("no case is called %q", chosen)
	}
	return all
}

func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// start starts a control plane with all controllers, and makes the objects of cluster.yaml there.
func start(t *testing.T) *plans.Player {
	t.Helper()
	names, err := scenarios.LoadNames(os.DirFS("../scenarios/testdata"), "names.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names["kubernetes-admin"] = "" // who makes the changes
	programs, err := realcluster.Build(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := realcluster.BuildPlugin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := realcluster.Start(t.Context(), realcluster.Options{
		Controllers: []string{"*"}, Scheduler: true, Nodes: nodes, Volumes: true, Metrics: true,
		AuditBodies: true, Log: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	tools := plans.Tools{
		Kubectl: programs.Path("kubectl"), Plugin: plugin, Kubeconfig: cluster.Kubeconfig(), Dir: cluster.Dir(),
	}
	if err := tools.Prepare(t.Context(), "testdata/cluster.yaml"); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	writes := scenarios.AuditLog(cluster.AuditLog(), names)
	side, err := scenarios.NewSide(ctx, "real", cluster.Config(), names, writes, failed)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-failed; err != nil {
			t.Error(err)
		}
	})
	side.Kubectl = tools.Apply
	return &plans.Player{
		Side: side, Audit: plans.NewAudit(cluster.AuditLog(), names), Tools: tools, Keep: os.Getenv("PLANS_KEEP"),
	}
}

// suite is what came of all cases, for the report of all suites.
func suite(all []plans.Case, outcomes []outcome, repeated []string) report.Suite {
	s := report.Suite{Name: "Plans", Unit: "changes", Repeated: repeated}
	for i, c := range all {
		row := report.Row{Name: c.Name, About: c.About}
		if row.Same = 1; outcomes[i].differs() {
			row.Same, row.Different = 0, 1
		}
		s.Rows = append(s.Rows, row)
		for _, r := range c.Rules {
			s.Loose = append(s.Loose, report.Loose{Where: c.Name + ": " + r.At, As: r.As, Reason: r.Reason})
		}
	}
	return s
}

func play(ctx context.Context, player *plans.Player, c *plans.Case) outcome {
	result, err := player.Play(ctx, c)
	return outcome{result, err}
}

// brief is what differs, in a line.
func brief(o outcome) string {
	if o.err != nil {
		return o.err.Error()
	}
	var at []string
	for _, d := range o.result.Differences {
		at = append(at, d.At)
	}
	return strings.Join(at, "; ")
}

// judge reports what differs, with all that was planned and done.
func judge(t *testing.T, o outcome) {
	t.Helper()
	if o.err != nil {
		t.Error(o.err)
	}
	if o.result == nil {
		return
	}
	for _, d := range o.result.Differences {
		t.Error(d)
	}
	if t.Failed() {
		t.Logf("planned:\n  %s", strings.Join(o.result.Planned, "\n  "))
		t.Logf("real:\n  %s", strings.Join(o.result.Real, "\n  "))
	}
}
