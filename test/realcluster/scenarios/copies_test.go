package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

// stillFor is how long the controllers run on a copy that is left alone.
const stillFor = 10 * time.Second

// copyTimeout bounds one copy: to read it, to run the controllers, and to end.
const copyTimeout = 3 * time.Minute

// TestCopiesStayStill plays the scenarios on a real control plane, copies the state that each ends with into the
// sandbox, and has its controllers run there: they have nothing to write but Events, and what copies.yaml expects.
// SCENARIOS is as for TestScenarios.
func TestCopiesStayStill(t *testing.T) {
	all, chosen := load(t)
	controllers := scenarios.Controllers(all)
	for i := range controllers {
		controllers[i] += "-controller"
	}
	names, err := scenarios.LoadNames(os.DirFS("testdata"), "names.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := realcluster.Start(t.Context(), realcluster.Options{
		Controllers: controllers, Scheduler: true, Nodes: nodes, Log: t.Logf,
		Volumes: slices.Contains(controllers, volumeBinder), Metrics: slices.Contains(controllers, autoscaler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, cluster.Stop) })
	side, err := newSide(t, "real", cluster.Config(), names, scenarios.AuditLog(cluster.AuditLog(), names))
	if err != nil {
		t.Fatal(err)
	}
	copies := &copies{cluster: cluster, names: names, controllers: controllers}
	if err := readYAML("testdata/copies.yaml", &copies.expected); err != nil {
		t.Fatal(err)
	}
	errs := make([]error, len(chosen))
	play := func(i int) {
		_, errs[i] = side.PlayThen(t.Context(), &chosen[i], func(ctx context.Context, _ scenarios.Played) error {
			return copies.stayStill(ctx, chosen[i].Name)
		})
	}
	turns := make(chan struct{}, copiesAtOnce)
	var group sync.WaitGroup
	for i := range chosen {
		if chosen[i].Alone {
			continue
		}
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			play(i)
		})
	}
	group.Wait()
	for i := range chosen {
		if chosen[i].Alone {
			play(i)
		}
		t.Run(chosen[i].Name, func(t *testing.T) {
			if errs[i] != nil {
				t.Error(errs[i])
			}
		})
	}
}

// copiesAtOnce is how many scenarios are played and copied at a time: each copy has an API server and all controllers.
const copiesAtOnce = 6

// copies copies namespaces of a real control plane.
type copies struct {
	cluster     *realcluster.Cluster
	names       scenarios.Names
	controllers []string
	expected    []expectedWrite
}

// expectedWrite is what a controller may write in a copy that is left alone, and why.
type expectedWrite struct {
	Scenario   string `json:"scenario"`
	Controller string `json:"controller"`
	Reason     string `json:"reason"`
}

func readYAML(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(data, into)
}

// stayStill copies the namespace of a scenario and has the same controllers run on the copy. The error lists what they
// write, Events and what is expected left out.
func (c *copies) stayStill(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	trace := filepath.Join(c.cluster.Dir(), "copy-"+namespace+".ndjson")
	run, err := c.cluster.StartRun(ctx, "--sandbox", "--from-cluster", "-n", namespace,
		"--controller", strings.Join(c.controllers, ","), "--until", stillFor.String(), "--trace-file", trace)
	if err != nil {
		return err
	}
	code, err := run.Ended(ctx)
	if err != nil || code != 0 {
		said, _ := run.Complaints()
		return errors.Join(fmt.Errorf("the copy of %q ended with %d: %s", namespace, code, said), err)
	}
	writes, err := scenarios.Trace(trace, c.names)(namespace)
	if err != nil {
		return err
	}
	var lines []string
	for _, w := range writes {
		expected := slices.ContainsFunc(c.expected,
			func(e expectedWrite) bool { return e.Scenario == namespace && e.Controller == w.Controller })
		if expected || w.Resource.Resource == "events" {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s %s/%s %s: %d %s", w.Controller, w.Verb, w.Resource, w.Subresource, w.Name,
			w.Code, w.Reason))
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("in a copy of %q that was left alone:\n%s", namespace, strings.Join(lines, "\n"))
}
