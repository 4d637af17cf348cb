package scenarios_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

// nodes is how many there are on each side: messages of the scheduler have the number in them.
const nodes = 3

// autoscaler is the controller that asks for metrics.
const autoscaler = "horizontal-pod-autoscaler-controller"

// volumeBinder is the controller whose claims need a provisioner.
const volumeBinder = "persistentvolume-binder-controller"

// played is a scenario with what came of it on both sides.
type played struct {
	scenario *scenarios.Scenario
	sides    *[2]*scenarios.Side
	outcomes [2]*scenarios.Outcome
	errs     [2]error
}

// TestScenarios plays all scenarios on a real control plane and on the embedded one; those that must be alone one after
// the other on a second pair of control planes, beside the others. Variables of the environment
// choose: SCENARIOS, patterns of names such as roll*,paused; SCENARIOS_SIDES, "embedded,embedded" to compare the
// embedded one with itself, "real,plugin" to have the plugin run its controllers in kube-controller-manager's place;
// SCENARIOS_AT_ONCE, how many are played at a time; FIDELITY_REPORT, a folder for controllers.json.
func TestScenarios(t *testing.T) {
	all, chosen := load(t)
	outcomes := make([]*played, len(chosen))
	var groups [2]group
	for i := range chosen {
		g := &groups[0]
		if chosen[i].Alone {
			g = &groups[1]
		}
		outcomes[i] = &played{scenario: &chosen[i], sides: &g.sides}
		g.played = append(g.played, outcomes[i])
	}
	groups[0].atOnce, groups[1].atOnce = atOnce(), 1
	forEach(&groups, func(g *group) { g.sides = start(t, scenarios.Controllers(all)) })
	if t.Failed() {
		t.FailNow()
	}
	rules, err := scenarios.LoadRules(os.DirFS("testdata"), "rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	meant, err := scenarios.LoadMeant(os.DirFS("testdata"), "meant.yaml")
	if err != nil {
		t.Fatal(err)
	}
	report := scenarios.NewReport(meant, rules)
	begin := time.Now()
	forEach(&groups, func(g *group) { g.playAll(t.Context()) })
	t.Logf("played %d scenarios in %s", len(chosen), time.Since(begin).Round(time.Second))
	for _, p := range outcomes {
		if p.again(t, rules) > 0 {
			report.Repeat(p.scenario)
		}
	}
	for _, p := range outcomes {
		t.Run(p.scenario.Name, func(t *testing.T) { judge(t, p, report, rules) })
	}
	if repeated := report.Repeated(); len(repeated) > mostRepeated {
		t.Errorf("%d scenarios were played again, more than %d: %s", len(repeated), mostRepeated, strings.Join(repeated, ", "))
	}
	if dir := os.Getenv("FIDELITY_REPORT"); dir != "" {
		if err := report.Write(dir); err != nil {
			t.Error(err)
		}
	}
	if len(chosen) < len(all) || os.Getenv("SCENARIOS_SIDES") != "" {
		return
	}
	for _, m := range report.Unneeded() {
		t.Errorf("meant.yaml: no longer needed: %s (scenario %q)", m.At, m.Scenario)
	}
}

// load returns all scenarios, and those that the environment asks for.
func load(t *testing.T) (all, chosen []scenarios.Scenario) {
	t.Helper()
	all, err := scenarios.Load(os.DirFS("testdata"), "scenarios")
	if err != nil {
		t.Fatal(err)
	}
	patterns := strings.Split(os.Getenv("SCENARIOS"), ",")
	chosen = slices.DeleteFunc(slices.Clone(all), func(s scenarios.Scenario) bool {
		return os.Getenv("SCENARIOS") != "" && !slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := path.Match(pattern, s.Name)
			return ok && err == nil
		})
	})
	if len(chosen) == 0 {
		t.Fatalf("no scenario is called %q", patterns)
	}
	return all, chosen
}

// starter starts a side, which ends with the test.
type starter func(*testing.T, scenarios.Names, []string) (*rest.Config, scenarios.Writes, error)

// start starts the two sides and ends them with the test. A side that cannot be started fails the test, and is nil.
func start(t *testing.T, controllers []string) [2]*scenarios.Side {
	t.Helper()
	kinds := strings.Split(os.Getenv("SCENARIOS_SIDES"), ",")
	if len(kinds) != 2 {
		kinds = []string{"real", "embedded"}
	}
	names, err := scenarios.LoadNames(os.DirFS("testdata"), "names.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := range controllers {
		controllers[i] += "-controller"
	}
	var sides [2]*scenarios.Side
	var wg sync.WaitGroup
	for i, name := range kinds {
		wg.Go(func() {
			begin := map[string]starter{"real": startReal, "plugin": startPlugin, "embedded": startEmbedded}[name]
			if begin == nil {
				t.Errorf("SCENARIOS_SIDES: there is no side %q", name)
				return
			}
			config, writes, err := begin(t, names, controllers)
			if err == nil {
				sides[i], err = newSide(t, name, config, names, writes)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return sides
}

func newSide(
	t *testing.T, name string, config *rest.Config, names scenarios.Names, writes scenarios.Writes,
) (*scenarios.Side, error) {
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	side, err := scenarios.NewSide(ctx, name, config, names, writes, failed)
	t.Cleanup(func() {
		cancel()
		if side == nil {
			return
		}
		if err := <-failed; err != nil {
			t.Error(err)
		}
	})
	return side, err
}

func startReal(t *testing.T, names scenarios.Names, controllers []string) (*rest.Config, scenarios.Writes, error) {
	cluster, err := realcluster.Start(t.Context(), realcluster.Options{
		Controllers: controllers, Scheduler: true, Nodes: nodes, Log: t.Logf,
		Volumes: slices.Contains(controllers, volumeBinder), Metrics: slices.Contains(controllers, autoscaler),
	})
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { stop(t, cluster.Stop) })
	return cluster.Config(), scenarios.AuditLog(cluster.AuditLog(), names), nil
}

func startEmbedded(t *testing.T, names scenarios.Names, controllers []string) (*rest.Config, scenarios.Writes, error) {
	// It must not end before what it has found is read, which the end of the test's context would make it do.
	sandbox, err := realcluster.StartSandbox(context.WithoutCancel(t.Context()), realcluster.SandboxOptions{Args: append(realcluster.NodeFlags(),
		"--controller", strings.Join(controllers, ","), "--nodes", strconv.Itoa(nodes), "--pod-ready-after", "0",
		"--horizontal-pod-autoscaler-sync-period", realcluster.AutoscalerPeriod,
	)})
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() {
		stop(t, sandbox.Interrupt)
		checkFindings(t, sandbox)
		checkStory(t, sandbox)
		stop(t, sandbox.Stop)
	})
	config, err := sandbox.Config()
	return config, scenarios.Trace(sandbox.Trace(), names), err
}

// finding matches what the sandbox says it has found.
var finding = regexp.MustCompile(`(?m)^(loop|fight|retries|put-off|no-op-write|requeue|starving): .*`)

// failing matches what is found in scenarios that are about a controller that fails again and again: podgc does at each
// of its rounds, for as long as all scenarios take, as its pod is of a node that is gone.
var failing = regexp.MustCompile(`^retries: (horizontalpodautoscaling (hpa-missing-request|hpa-no-external-metrics)/|podgc failed .*node "podgc-out-of-service-)`)

// checkFindings fails the test if the sandbox has found something else that repeats without progress.
func checkFindings(t *testing.T, sandbox *realcluster.Sandbox) {
	printed, err := sandbox.Remarks()
	if err != nil {
		t.Error(err)
	}
	for _, line := range finding.FindAllString(printed, -1) {
		if !failing.MatchString(line) {
			t.Errorf("found: %s", line)
		}
	}
}

// checkStory fails the test unless the story of what the sandbox did is true and complete.
func checkStory(t *testing.T, sandbox *realcluster.Sandbox) {
	ctx := context.WithoutCancel(t.Context())
	program, dir, err := realcluster.BuildTest(ctx, "cmd/kubectl-reconcile/internal/render")
	if err != nil {
		t.Error(err)
		return
	}
	check := exec.CommandContext(ctx, program, "-test.v", "-test.run", "^TestStoryOfTrace$", "-trace", sandbox.Trace())
	check.Dir = dir
	out, err := check.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestStoryOfTrace") {
		t.Errorf("the story of the scenarios: %v\n%s", err, out)
		return
	}
	t.Logf("the story of the scenarios: %s", out)
}

func stop(t *testing.T, stop func() error) {
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// group are scenarios that are played on the same two sides.
type group struct {
	sides  [2]*scenarios.Side
	played []*played
	atOnce int
}

// forEach calls f for the groups that have scenarios, at the same time, and waits.
func forEach(groups *[2]group, f func(*group)) {
	var wg sync.WaitGroup
	for i := range groups {
		if len(groups[i].played) > 0 {
			wg.Go(func() { f(&groups[i]) })
		}
	}
	wg.Wait()
}

// atOnce is how many scenarios are played at a time that need not be alone.
func atOnce() int {
	if n, err := strconv.Atoi(os.Getenv("SCENARIOS_AT_ONCE")); err == nil {
		return n
	}
	return 8
}

// playAll plays the scenarios, each on both sides at once.
func (g *group) playAll(ctx context.Context) {
	turns := make(chan struct{}, g.atOnce)
	var wg sync.WaitGroup
	for _, p := range g.played {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			p.play(ctx)
		})
	}
	wg.Wait()
}

func (p *played) play(ctx context.Context) {
	var wg sync.WaitGroup
	for i, side := range p.sides {
		wg.Go(func() { p.outcomes[i], p.errs[i] = side.Play(ctx, p.scenario) })
	}
	wg.Wait()
}

const (
	// replays is how often a scenario that differs is played again at most.
	replays = 3
	// mostRepeated is how many scenarios may be played again before the run fails: a few may race, but not many.
	mostRepeated = 3
)

// again plays a scenario that differs, or has failed, by itself, until it does not, and lets the last time count: what
// differs each time is no race of controllers' caches. It returns how often it has done so.
func (p *played) again(t *testing.T, rules []scenarios.Rule) int {
	n := 0
	for ; n < replays && p.differs(rules); n++ {
		t.Logf("%s differs: %.1000s", p.scenario.Name, p.difference(rules))
		next := &played{
			scenario: renamed(t, p.scenario, fmt.Sprintf("%s-again-%d", p.scenario.Name, n+1)), sides: p.sides,
		}
		next.play(t.Context())
		t.Logf("played %q again, because it differed: differs again: %t", p.scenario.Name, next.differs(rules))
		p.outcomes, p.errs = next.outcomes, next.errs
	}
	return n
}

// renamed is the scenario under another name. Its steps refer by that name to objects in no namespace, and in others
// than its own.
func renamed(t *testing.T, s *scenarios.Scenario, name string) *scenarios.Scenario {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out scenarios.Scenario
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(data), "/"+s.Name+"-", "/"+name+"-")), &out); err != nil {
		t.Fatal(err)
	}
	out.Name = name
	return &out
}

// TestRenamed: a scenario loses nothing by it.
func TestRenamed(t *testing.T) {
	all, _ := load(t)
	for _, s := range all {
		there := renamed(t, &s, "another")
		if diff := cmp.Diff(&s, renamed(t, there, s.Name), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, there and back (-before +after):\n%s", s.Name, diff)
		}
	}
}

// differs reports whether the sides do not agree, or one has failed.
func (p *played) differs(rules []scenarios.Rule) bool { return p.difference(rules) != "" }

// difference returns the first thing that differs, or why it has failed; empty if nothing does.
func (p *played) difference(rules []scenarios.Rule) string {
	if err := errors.Join(p.errs[:]...); err != nil {
		return err.Error()
	}
	all := scenarios.Compare(p.outcomes[0], p.outcomes[1], append(slices.Clone(p.scenario.Rules), rules...))
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%+v", all[0])
}

// judge compares what came of a scenario, and reports what differs together with what happened on both sides.
func judge(t *testing.T, p *played, report *scenarios.Report, rules []scenarios.Rule) {
	failed := false
	for _, err := range p.errs {
		if err != nil {
			t.Error(err)
			failed = true
		}
	}
	if failed {
		report.Fail(p.scenario)
	} else {
		rules := append(slices.Clone(p.scenario.Rules), rules...)
		differences := scenarios.Compare(p.outcomes[0], p.outcomes[1], rules)
		for _, d := range report.Add(p.scenario, p.outcomes[0], p.outcomes[1], differences) {
			t.Error(d)
			failed = true
		}
	}
	if !failed {
		return
	}
	for i, side := range []string{"real", "embedded"} {
		if p.outcomes[i] != nil {
			t.Logf("%s:\n  %s", side, strings.Join(p.outcomes[i].History, "\n  "))
		}
	}
}
