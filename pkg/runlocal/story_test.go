package runlocal

import (
	"testing"

	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TestStoryTellsAll: of a run with a quota and a failing image, every write is told or counted, and nothing is told
// before what it reacts to.
func TestStoryTellsAll(t *testing.T) {
	history, story := &trace.History{}, trace.NewStory(false)
	s := start(t, Options{Nodes: 3, Recorder: trace.NewRecorder(clock.RealClock{}, history, story)}, "*")
	all := manifests(t, `
apiVersion: v1
kind: ResourceQuota
metadata: {name: few}
spec: {hard: {pods: "9"}}
`, deployment("web", 3), deployment("shop", 4), `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 4
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}, annotations: {kubectl-reconcile.github.io/simulate: image-pull-error}}, spec: {containers: [{name: c, image: "db:1"}]}}
`)
	if _, err := s.Apply(within(t), "default", all); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitSettled(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	told, lines := 0, 0
	var count func(steps []*trace.Step, cause *trace.Step)
	count = func(steps []*trace.Step, cause *trace.Step) {
		for _, step := range steps {
			if cause != nil && cause.First().After(step.First()) {
				t.Errorf("%s begins before %s, which led to it", step.Controller, cause.Controller)
			}
			for _, act := range step.Acts {
				lines++
				if act.Type != trace.ActSeen && act.Type != trace.ActFailed {
					told += act.Count
				}
			}
			count(step.Steps, step)
		}
	}
	count(story.Take(), nil)
	writes := 0
	for e := range history.All() {
		if r, ok := e.Detail.(*trace.Request); ok && r.IsWrite() && r.Recorded == nil {
			writes++
		}
	}
	left := story.NotTold()
	if sum := told + left.StatusWrites + left.Conflicts + left.Repeated; sum != writes || told == 0 {
		t.Errorf("%d writes are told and %d counted (%+v), of %d", told, sum-told, left, writes)
	}
	if lines > 60 {
		t.Errorf("the story has %d lines", lines)
	}
}

// TestPodsReady: pods that have ended, or are about to, do not count.
func TestPodsReady(t *testing.T) {
	s := start(t, Options{Nodes: 1}, "deployment", "replicaset")
	pod := func(name, simulate string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", annotations: {" + simulate + "}}, " +
			"spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}"
	}
	all := manifests(t, deployment("web", 3),
		pod("never", "kubectl-reconcile.github.io/simulate: never-ready, kubectl-reconcile.github.io/run-for: 1h"),
		pod("ended", "kubectl-reconcile.github.io/run-for: 1ms"))
	if _, err := s.Apply(within(t), "default", all); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitSettled(within(t)); err != nil {
		t.Fatal(err)
	}
	if ready, pods := s.PodsReady(); ready != 3 || pods != 4 {
		t.Errorf("%d of %d pods are ready, want 3 of 4", ready, pods)
	}
	none := start(t, Options{}, "namespace")
	if ready, pods := none.PodsReady(); ready != 0 || pods != 0 {
		t.Errorf("%d of %d pods are ready where none is watched", ready, pods)
	}
}
