package nodes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestPodBecomesReady(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1})
	s.create(podOf("web"))
	pod := s.until("web", "ready", ready)
	if pod.Spec.NodeName != "node-1" || pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" ||
		pod.Status.HostIP != "172.18.0.2" {
		t.Errorf("pod is on %q in phase %s with address %q on %q", pod.Spec.NodeName, pod.Status.Phase, pod.Status.PodIP,
			pod.Status.HostIP)
	}
	var types []corev1.PodConditionType
	for _, c := range pod.Status.Conditions {
		types = append(types, c.Type)
		if c.ObservedGeneration != pod.Generation {
			t.Errorf("condition %s observed generation %d, want %d", c.Type, c.ObservedGeneration, pod.Generation)
		}
	}
	want := []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady",
		"PodScheduled"}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("conditions, in order (-want +got):\n%s", diff)
	}
	s.untilEvent("web", "Scheduled", "")
	s.untilEvent("web", "Started", "")
}

func TestDeletionWithGrace(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1, PodStopAfter: 300 * time.Millisecond})
	s.create(podOf("web", func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} }))
	s.until("web", "ready", ready)
	if err := s.CoreV1().Pods("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := s.until("web", "ended", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	if pod.DeletionTimestamp == nil {
		t.Error("the pod ended without being deleted")
	}
	pod = s.until("web", "released", func(p *corev1.Pod) bool { return *p.DeletionGracePeriodSeconds == 0 })
	pod.Finalizers = nil
	if _, err := s.CoreV1().Pods("default").Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.untilGone("web")
}

// TestConflictIsTracedAsRetry holds engine and tap together, neither of which may import the other.
func TestConflictIsTracedAsRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen, summary := &events{}, trace.NewSummary()
		observer := tap.New(tap.Options{Recorder: trace.NewRecorder(clock.RealClock{}, seen, summary)})
		tries := 0
		c, err := engine.New(engine.Options{
			Name: "test", Observer: tapObserver{observer.Controller("test")},
			Reconciler: engine.Func(func(context.Context, engine.Request) (engine.Result, error) {
				if tries++; tries > 1 {
					return engine.Result{}, nil
				}
				return engine.Result{}, apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("changed"))
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Enqueue(engine.Request{Namespace: "default", Name: "p"})
		advanceTime(time.Minute)
		c.Stop()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
		var next []*trace.Next
		var causes []trace.CauseType
		for _, e := range seen.list() {
			switch d := e.Detail.(type) {
			case *trace.Start:
				causes = append(causes, d.Causes[0].Type)
			case *trace.End:
				next = append(next, d.Next)
			}
		}
		if diff := cmp.Diff([]*trace.Next{{After: trace.Duration(10 * time.Millisecond), Retry: 1}, nil}, next); diff != "" {
			t.Errorf("next tries (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]trace.CauseType{trace.CauseOther, trace.CauseRetry}, causes); diff != "" {
			t.Errorf("causes (-want +got):\n%s", diff)
		}
		if all := summary.Controllers(); len(all) != 1 || all[0].Retries != 1 {
			t.Errorf("the summary is %+v, want one controller with one retry", all)
		}
	})
}
