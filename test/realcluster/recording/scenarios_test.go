package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/plans"
	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

const (
	// nodes is how many there are, as where the scenarios are played otherwise.
	nodes = 3
	// atOnce is how many scenarios are played and recorded at a time.
	atOnce = 6
	// leastSame is how many scenarios must come out the same.
	leastSame = 15
)

// replayed is a line of testdata/scenarios.yaml.
type replayed struct {
	Scenario string `json:"scenario"`
	// Long reports whether it is left out unless RECORDING_LONG is set.
	Long bool `json:"long,omitempty"`
	// Reason says why it need not come out the same; empty if it must.
	Reason string `json:"reason,omitempty"`

	scenario *scenarios.Scenario
}

// outcome is what became of a scenario.
type outcome struct {
	err   error     // of playing and recording it
	same  [2]bool   // whether all was the same, each time
	texts [2]string // what replay printed, each time
}

// TestScenarios records scenarios on a real control plane, each in a namespace by itself, and runs the controllers of
// each on its recording, twice: they must write what kube-controller-manager's wrote. The environment variable
// RECORDING_SCENARIOS chooses some by patterns, such as "job-*,rolling"; with RECORDING_LONG all of the file are
// played; RECORDING_KEEP is a folder where the recordings stay.
func TestScenarios(t *testing.T) {
	chosen := chooseScenarios(t, "scenarios.yaml", false)
	p := newPlayer(t, chosen, false, "")
	if same := judgeAll(t, chosen, p.play); same < leastSame && os.Getenv("RECORDING_SCENARIOS") == "" {
		t.Errorf("only %d scenarios came out the same, less than %d", same, leastSame)
	}
}

// TestAuditedScenarios is TestScenarios with the audit log of the control plane, which says who wrote, and what was
// refused: so all controllers that wrote in a namespace are compared.
func TestAuditedScenarios(t *testing.T) {
	chosen := chooseScenarios(t, "audited.yaml", true)
	judgeAll(t, chosen, newPlayer(t, chosen, true, "").play)
}

// TestAuditedPlans is TestAuditedScenarios for the changes of package plans.
func TestAuditedPlans(t *testing.T) {
	chosen := choosePlans(t)
	judgeAll(t, chosen, newPlayer(t, chosen, true, clusterFile).play)
}

// clusterFile has what there is for all changes of package plans.
var clusterFile = filepath.Join("..", "plans", "testdata", "cluster.yaml")

// choosePlans is chooseScenarios for the changes of package plans: what there is before a change, and the change, are
// the steps of one scenario, with all controllers that scenarios have.
func choosePlans(t *testing.T) []replayed {
	t.Helper()
	cases, err := plans.Load(os.DirFS(filepath.Join("..", "plans", "testdata")), "cases")
	if err != nil {
		t.Fatal(err)
	}
	played := loadScenarios(t)
	all := make([]scenarios.Scenario, len(cases))
	for i := range cases {
		all[i] = cases[i].Scenario
		all[i].Controllers = scenarios.Controllers(played)
		all[i].Steps = append(slices.Clone(all[i].Steps), cases[i].Change)
	}
	chosen := chooseOf(t, all, "plans.yaml", true)
	if len(chosen) == 0 {
		t.Skip("they are played with RECORDING_LONG, or if RECORDING_SCENARIOS names some")
	}
	return chosen
}

func loadScenarios(t *testing.T) []scenarios.Scenario {
	t.Helper()
	all, err := scenarios.Load(os.DirFS(filepath.Join("..", "scenarios", "testdata")), "scenarios")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func loadNames(t *testing.T) scenarios.Names {
	t.Helper()
	names, err := scenarios.LoadNames(os.DirFS(filepath.Join("..", "scenarios", "testdata")), "names.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// recordingsFolder is where recordings go.
func recordingsFolder(t *testing.T) string {
	if dir := os.Getenv("RECORDING_KEEP"); dir != "" {
		return dir
	}
	return t.TempDir()
}

// judgeAll plays scenarios, some at a time, judges what came of them and returns how many came out the same.
func judgeAll(t *testing.T, chosen []replayed, play func(context.Context, *scenarios.Scenario) outcome) (same int) {
	t.Helper()
	began := time.Now()
	outcomes := make([]outcome, len(chosen))
	turns := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for i := range chosen {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			outcomes[i] = play(t.Context(), chosen[i].scenario)
		})
	}
	group.Wait()
	for i := range chosen {
		t.Run(chosen[i].Scenario, func(t *testing.T) {
			if judge(t, &chosen[i], &outcomes[i]) {
				same++
			}
		})
	}
	t.Logf("%d of %d scenarios came out the same, in %s", same, len(chosen), time.Since(began).Round(time.Second))
	return same
}

// judge reports whether a scenario came out the same, which those without a reason must.
func judge(t *testing.T, r *replayed, o *outcome) bool {
	switch {
	case o.err != nil && r.Reason == "":
		t.Error(o.err)
	case o.err != nil:
		t.Logf("%v, as %s", o.err, r.Reason)
	case r.Reason == "" && o.texts[0] != o.texts[1]:
		t.Errorf("two runs came out differently:\n%s\n%s", o.texts[0], o.texts[1])
	case o.same[0]:
		return true
	case r.Reason == "":
		t.Error("it came out differently:\n" + o.texts[0])
	default:
		t.Logf("it came out differently, as %s:\n%s", r.Reason, o.texts[0])
	}
	return false
}

// chooseScenarios reads a file of testdata, and the scenarios. It returns those of the file, or if others are wanted
// too all: these are long, and must come out the same.
func chooseScenarios(t *testing.T, file string, others bool) []replayed {
	t.Helper()
	return chooseOf(t, loadScenarios(t), file, others)
}

func chooseOf(t *testing.T, all []scenarios.Scenario, file string, others bool) []replayed {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var chosen []replayed
	if err := yaml.UnmarshalStrict(data, &chosen); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		at := slices.IndexFunc(chosen, func(r replayed) bool { return r.Scenario == all[i].Name })
		switch {
		case at >= 0:
			chosen[at].scenario = &all[i]
		case others:
			chosen = append(chosen, replayed{Scenario: all[i].Name, Long: true, scenario: &all[i]})
		}
	}
	for i := range chosen {
		if chosen[i].scenario == nil {
			t.Fatalf("there is no scenario %q", chosen[i].Scenario)
		}
	}
	return choose(chosen)
}

// choose returns those that the environment chooses.
func choose(all []replayed) []replayed {
	patterns := os.Getenv("RECORDING_SCENARIOS")
	return slices.DeleteFunc(all, func(r replayed) bool {
		if patterns == "" {
			return r.Long && !isLong()
		}
		return !slices.ContainsFunc(strings.Split(patterns, ","), func(pattern string) bool {
			ok, err := path.Match(pattern, r.Scenario)
			return ok && err == nil
		})
	})
}

// player plays, records and replays scenarios.
type player struct {
	t       *testing.T
	program string
	cluster *realcluster.Cluster
	side    *scenarios.Side
	dir     string
	// audited is set if the audit log is replayed, too; writes are those of the controllers in it.
	audited bool
	writes  scenarios.Writes
}

// newPlayer starts a control plane with the controllers of the scenarios, and makes what a file has, if there is one.
func newPlayer(t *testing.T, chosen []replayed, audited bool, file string) *player {
	t.Helper()
	all := make([]scenarios.Scenario, len(chosen))
	for i := range chosen {
		all[i] = *chosen[i].scenario
	}
	controllers := scenarios.Controllers(all)
	for i := range controllers {
		controllers[i] += "-controller"
	}
	ctx, cluster, program := start(t, realcluster.Options{
		Controllers: controllers, Scheduler: true, Nodes: nodes, AuditBodies: audited, Volumes: audited, Metrics: audited,
	})
	programs, err := realcluster.Build(ctx, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	tools := plans.Tools{Kubectl: programs.Path("kubectl"), Kubeconfig: cluster.Kubeconfig(), Dir: cluster.Dir()}
	if file != "" {
		if err := tools.Prepare(ctx, file); err != nil {
			t.Fatal(err)
		}
	}
	names := loadNames(t)
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
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
	return &player{
		t: t, program: program, cluster: cluster, side: side, dir: recordingsFolder(t), audited: audited, writes: writes,
	}
}

// play records the scenario while it is played, and runs its controllers on the recording.
func (p *player) play(ctx context.Context, s *scenarios.Scenario) outcome {
	file := filepath.Join(p.dir, s.Name+".krec")
	r, err := startRecorder(ctx, p.program, p.cluster.Kubeconfig(), file, "-n", s.Name)
	if err != nil {
		return outcome{err: err}
	}
	began := time.Now()
	_, err = p.side.PlayThen(ctx, s, func(context.Context, scenarios.Played) error { return r.interrupt() })
	if err != nil {
		return outcome{err: errors.Join(err, r.interrupt())}
	}
	if !p.audited {
		return replayTwice(ctx, p.program, compared(s), file)
	}
	log := filepath.Join(p.dir, s.Name+"-audit.log")
	wrote, err := p.cutLog(log, s.Name, began)
	if err != nil || len(wrote) == 0 { // nothing is to be compared
		return outcome{err: err, same: [2]bool{true, true}}
	}
	return replayTwice(ctx, p.program, wrote, file, log)
}

// cutLog writes the entries of the audit log that are about a namespace, or about nodes, to a file, from a time on. It
// returns the controllers that wrote. Of volumes those are taken that a claim of the namespace has.
func (p *player) cutLog(file, namespace string, since time.Time) ([]string, error) {
	data, err := os.ReadFile(p.cluster.AuditLog())
	if err != nil {
		return nil, err
	}
	claimOf := []byte(`"namespace":"` + namespace + `"`)
	var cut []byte
	for line := range bytes.Lines(data) {
		var e struct {
			ObjectRef                struct{ Resource, Namespace, Name string }
			RequestReceivedTimestamp time.Time
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		ref := e.ObjectRef
		isAbout := ref.Namespace == namespace || ref.Resource == "nodes" ||
			ref.Resource == "persistentvolumes" && bytes.Contains(line, claimOf)
		if isAbout && !e.RequestReceivedTimestamp.Before(since) {
			cut = append(cut, line...)
		}
	}
	if err := os.WriteFile(file, cut, 0o600); err != nil {
		return nil, err
	}
	all, err := p.writes(namespace)
	if err != nil {
		return nil, err
	}
	wrote := map[string]bool{}
	for _, w := range all {
		isCompared := !slices.Contains([]string{"events", "leases"}, w.Resource.Resource)
		isNodes := slices.Contains([]string{"", "scheduler", "kubelet", "provisioner"}, w.Controller)
		if w.Code < 400 && isCompared && !isNodes && w.At.After(since) {
			wrote[w.Controller] = true
		}
	}
	for account, all := range sharedAccounts {
		if wrote[account] {
			delete(wrote, account)
			for _, name := range all {
				wrote[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(wrote)), nil
}

// sharedAccounts are the controllers that scenarios know by their account. The Leases that node-lifecycle reads are in
// another namespace.
var sharedAccounts = map[string][]string{
	"node": {"taint-eviction"}, "certificate": {"csrapproving", "csrsigning", "csrcleaner"},
}

// replayTwice runs controllers on a recording, which may be several files, twice.
func replayTwice(ctx context.Context, program string, controllers []string, files ...string) (out outcome) {
	for i := range out.texts {
		out.same[i], out.texts[i], out.err = replay(ctx, program, controllers, files)
		if out.err != nil {
			break
		}
	}
	return out
}

// replay runs controllers on a recording, and returns what was printed.
func replay(
	ctx context.Context, program string, controllers, files []string,
) (same bool, text string, err error) {
	args := append([]string{"replay", "--controller", strings.Join(controllers, ",")}, files...)
	cmd := exec.CommandContext(ctx, program, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	exit := (*exec.ExitError)(nil)
	switch {
	case err == nil:
		return true, out.String(), nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return false, out.String(), nil
	}
	return false, "", fmt.Errorf("replaying %s: %w\n%s", filepath.Base(files[0]), err, &errOut)
}

// uncomparable are controllers of scenarios whose writes cannot be told from those of others in a recording without a
// trace.
var uncomparable = []string{
	"endpoints", "endpointslice-mirroring", "garbage-collector", "horizontal-pod-autoscaler", "namespace",
	"persistentvolume-binder", "persistentvolume-protection", "persistentvolumeclaim-protection", "serviceaccount-token",
}

// compared are the controllers of a scenario that replay runs.
func compared(s *scenarios.Scenario) []string {
	return slices.DeleteFunc(slices.Clone(s.Controllers), func(name string) bool {
		return slices.Contains(uncomparable, name)
	})
}
