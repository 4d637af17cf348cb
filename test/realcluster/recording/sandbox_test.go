package recording

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/plans"
	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

// TestSandboxScenarios is TestScenarios with recordings of the sandbox: each scenario is played in one by itself. They
// have its trace, and so all of its controllers are compared.
func TestSandboxScenarios(t *testing.T) {
	chosen := chooseScenarios(t, "sandbox.yaml", true)
	program, err := realcluster.BuildPlugin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := &sandboxPlayer{program: program, names: loadNames(t), dir: recordingsFolder(t)}
	judgeAll(t, chosen, p.play)
}

// TestSandboxPlans is TestSandboxScenarios for the changes of package plans.
func TestSandboxPlans(t *testing.T) {
	chosen := choosePlans(t)
	programs, err := realcluster.Build(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	program, err := realcluster.BuildPlugin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := &sandboxPlayer{
		program: program, names: loadNames(t), dir: recordingsFolder(t), kubectl: programs.Path("kubectl"),
		cluster: clusterFile,
	}
	judgeAll(t, chosen, p.play)
}

// sandboxPlayer plays scenarios in sandboxes, records and replays them.
type sandboxPlayer struct {
	program string
	names   scenarios.Names
	dir     string
	// kubectl is the program that steps need, and cluster the file of what they find; empty if they need none.
	kubectl, cluster string
}

func (p *sandboxPlayer) play(ctx context.Context, s *scenarios.Scenario) outcome {
	file := filepath.Join(p.dir, s.Name+"-sandbox.krec")
	wrote, err := p.record(ctx, s, file)
	if err != nil || len(wrote) == 0 { // nothing is to be compared
		return outcome{err: err, same: [2]bool{true, true}}
	}
	return replayTwice(ctx, p.program, wrote, file)
}

// record plays a scenario in a sandbox that records, and returns the controllers that wrote.
func (p *sandboxPlayer) record(ctx context.Context, s *scenarios.Scenario, file string) ([]string, error) {
	controllers := []string{"serviceaccount"}
	for _, name := range s.Controllers {
		controllers = append(controllers, name+"-controller")
	}
	sandbox, err := realcluster.StartSandbox(ctx, realcluster.SandboxOptions{Args: append(realcluster.NodeFlags(),
		"--controller", strings.Join(controllers, ","), "--nodes", strconv.Itoa(nodes),
		"--pod-ready-after", "0", "--horizontal-pod-autoscaler-sync-period", realcluster.AutoscalerPeriod,
		"--record", file, "--record-force", "--no-redact",
	)})
	if err != nil {
		return nil, err
	}
	wrote, err := p.playIn(ctx, sandbox, s)
	return wrote, errors.Join(err, sandbox.Stop())
}

// playIn plays a scenario in a sandbox, ends that and returns the controllers that wrote.
func (p *sandboxPlayer) playIn(
	ctx context.Context, sandbox *realcluster.Sandbox, s *scenarios.Scenario,
) (wrote []string, err error) {
	config, err := sandbox.Config()
	if err != nil {
		return nil, err
	}
	tools := plans.Tools{Kubectl: p.kubectl, Kubeconfig: sandbox.Kubeconfig(), Dir: filepath.Dir(sandbox.Kubeconfig())}
	if p.cluster != "" {
		if err := tools.Prepare(ctx, p.cluster); err != nil {
			return nil, err
		}
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	side, err := scenarios.NewSide(watching, "embedded", config, p.names, scenarios.Trace(sandbox.Trace(), p.names), failed)
	if err != nil {
		return nil, err
	}
	side.Kubectl = tools.Apply
	began := time.Now()
	_, err = side.PlayThen(ctx, s, func(context.Context, scenarios.Played) error {
		cancel()
		if err := errors.Join(<-failed, sandbox.Interrupt()); err != nil {
			return err
		}
		wrote, err = writers(sandbox.Trace(), began)
		return cmp.Or(err, errPlayed)
	})
	if errors.Is(err, errPlayed) {
		err = nil
	}
	return wrote, err
}

// errPlayed is the error of a scenario that has been played, and whose sandbox is gone: nothing of it can be removed.
var errPlayed = errors.New("played")

// writers returns the controllers of a trace that have changed objects since a time, those of the simulated nodes left
// out.
func writers(trace string, since time.Time) ([]string, error) {
	data, err := os.ReadFile(trace)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for line := range bytes.Lines(data) {
		var e struct {
			Type, Controller, Verb, Resource string
			Code                             int
			Time                             time.Time
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		isWrite := slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb)
		isCompared := !slices.Contains([]string{"", "events", "leases", "tokenreviews", "subjectaccessreviews"}, e.Resource)
		isNodes := slices.Contains([]string{"", "scheduler", "kubelet", "provisioner"}, e.Controller)
		if e.Type == "request" && e.Code > 0 && e.Code < 400 && e.Time.After(since) && isWrite && isCompared && !isNodes {
			found[e.Controller] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
