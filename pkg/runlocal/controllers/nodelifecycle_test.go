package controllers

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// applyTo returns the controller with these settings.
func (h NodeControllerOptions) applyTo(c Controller) Controller {
	build := c.build
	c.build = func(ctx context.Context, e environment) (runFunc, error) {
		e.nodeControllers = h
		return build(ctx, e)
	}
	return c
}

// runWith starts a controller with these settings, until the test ends.
func (s *session) runWith(t *testing.T, h NodeControllerOptions, c Controller) {
	t.Helper()
	t.Cleanup(s.startThese(t, 0, h.applyTo(c)))
}

// causesOf are the sorts of causes of the reconciles that made a request of that verb and resource, each once.
func (s *session) causesOf(controller, verb, resource string) []string {
	causes := map[trace.ReconcileID][]trace.Cause{}
	var out []string
	for _, e := range s.log.list() {
		switch d := e.Detail.(type) {
		case *trace.Start:
			causes[e.Reconcile] = d.Causes
		case *trace.Request:
			if e.Controller == controller && d.Verb == verb && d.Resource == resource {
				for _, c := range causes[e.Reconcile] {
					out = append(out, fmt.Sprintf("%s of %q: %s %s", c.Type, e.Key, c.Handler, time.Duration(c.Delay)))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// expectCauses waits until such requests have these causes; a write can be seen before its answer is.
func (s *session) expectCauses(t *testing.T, controller, verb, resource string, want ...string) {
	t.Helper()
	var got []string
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, waitTimeout, true,
		func(context.Context) (bool, error) {
			got = s.causesOf(controller, verb, resource)
			return slices.Equal(want, got), nil
		})
	if err != nil {
		t.Errorf("what has led to %s %s (-want +got):\n%s", verb, resource, cmp.Diff(want, got))
	}
}

// timerLoopCause is the cause of what a loop does by itself.
const timerLoopCause = `timer of "":  0s`

// taint gives a node that taint alone.
func (s *session) taint(t *testing.T, node string, taints ...corev1.Taint) {
	t.Helper()
	nodes := s.client.CoreV1().Nodes()
	n, err := nodes.Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n.Spec.Taints = taints
	n.ResourceVersion = "" // controllers may have written it since
	if _, err := nodes.Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// deleted reports whether the API has marked the pod for deletion, or has no more of it.
func (s *session) deleted(t *testing.T, name string) func() bool {
	return func() bool {
		pod, err := s.client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		return err != nil || pod.DeletionTimestamp != nil
	}
}

func TestTaintEvictionAtOnce(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "taint-eviction-controller")
	s.node(t, "node-1")
	s.pod(t, "web", "10.0.0.1")
	eventually(t, "the pod to be known", s.reconciled("taint-eviction", "default/web"))
	s.taint(t, "node-1", corev1.Taint{Key: "broken", Effect: corev1.TaintEffectNoExecute})
	eventually(t, "the pod to be deleted", s.deleted(t, "web"))
	s.expectActivity(t, "taint-eviction", activity{
		Causes: []string{"ADDED Pod web seen by PodUpdated", "MODIFIED Node node-1 seen by NodeUpdated"},
		Writes: []string{"delete pods by default/web", "patch pods/status by default/web"},
	})
	s.expectCauses(t, "taint-eviction", "delete", "pods",
		`reconcile of "default/web": handleNodeUpdate > processPodOnNode > AddWork 0s`)
	eventually(t, "the Event to belong to it", func() bool {
		return slices.ContainsFunc(s.requests("create", "events"), func(e *trace.Event) bool {
			return e.Controller == "taint-eviction" && e.Reconcile != 0 && e.Key == "default/web"
		})
	})
}

// reconciled reports whether a reconcile of the key has ended.
func (s *session) reconciled(controller, key string) func() bool {
	return func() bool {
		return slices.ContainsFunc(s.log.list(), func(e *trace.Event) bool {
			return e.Controller == controller && e.Key == key && e.Type() == trace.TypeEnd
		})
	}
}

// tolerantPod makes a pod on node-1 that tolerates any taint for a time.
func (s *session) tolerantPod(t *testing.T, name string, seconds int64) {
	t.Helper()
	spec := template(name).Spec
	spec.NodeName = "node-1"
	spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: &seconds}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	if _, err := s.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// delayedKeys are the keys that a controller's queue of that name holds for later, each with the handler that added it.
func (s *session) delayedKeys(controller, queue string) []string {
	var out []string
	for _, c := range s.tap.State().Controllers {
		for _, q := range c.Queues {
			for _, d := range q.Delayed {
				if c.Name == controller && q.Queue == queue {
					out = append(out, d.Key+" by "+d.Handler)
				}
			}
		}
	}
	return out
}

// TestTaintEvictionLater has a fake clock for deletions that are due later: none is made before the test has seen all
// of them planned.
func TestTaintEvictionLater(t *testing.T) {
	t.Parallel()
	ticking := clocktesting.NewFakeClock(time.Now())
	s := recordedSessionOn(t, tap.Options{Clock: ticking}, servers.Server)
	s.runWith(t, NodeControllerOptions{evictionClock: ticking}, taintEviction())
	s.node(t, "node-1")
	s.tolerantPod(t, "soon", 1)
	s.tolerantPod(t, "later", 300)
	eventually(t, "the one to be known", s.reconciled("taint-eviction", "default/soon"))
	eventually(t, "the other to be known", s.reconciled("taint-eviction", "default/later"))
	s.taint(t, "node-1", corev1.Taint{Key: "broken", Effect: corev1.TaintEffectNoExecute})
	const by = " by handleNodeUpdate > processPodOnNode > AddWork"
	eventually(t, "both deletions to be planned, the first one first", func() bool {
		return slices.Equal(s.delayedKeys("taint-eviction", "taintEvictionQueue"),
			[]string{"default/soon" + by, "default/later" + by})
	})
	ticking.Step(time.Second)
	eventually(t, "the one to be done", s.deleted(t, "soon"))
	s.expectCauses(t, "taint-eviction", "delete", "pods",
		`timer of "default/soon": handleNodeUpdate > processPodOnNode > AddWork 1s`)
	s.taint(t, "node-1")
	eventually(t, "the other to be cancelled",
		func() bool { return len(s.delayedKeys("taint-eviction", "taintEvictionQueue")) == 0 })
	ticking.Step(time.Hour)
	if s.deleted(t, "later")() {
		t.Error("it is deleted all the same")
	}
}

// report has a node's kubelet report whether it is ready.
func (s *session) report(t *testing.T, node string, ready corev1.ConditionStatus) {
	t.Helper()
	n, err := s.client.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastHeartbeatTime: metav1.Now(),
		LastTransitionTime: metav1.Now()}}
	n.ResourceVersion = "" // controllers may have written it since
	if _, err := s.client.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// taints are the keys and effects of a node's taints, sorted.
func (s *session) taints(t *testing.T, node string) []string {
	t.Helper()
	n, err := s.client.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, taint := range n.Spec.Taints {
		out = append(out, taint.Key+" "+string(taint.Effect))
	}
	slices.Sort(out)
	return out
}

func TestNodeLifecycleTaintsNodesThatAreNotReady(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	for _, name := range []string{"node-1", "node-2"} { // of one alone it would think that the network is at fault
		s.node(t, name)
		s.report(t, name, corev1.ConditionTrue)
	}
	s.pod(t, "web", "10.0.0.1")
	s.runWith(t, NodeControllerOptions{MonitorPeriod: 20 * time.Millisecond}, nodeLifecycle())
	s.report(t, "node-1", corev1.ConditionFalse)
	notReady := []string{"node.kubernetes.io/not-ready NoExecute", "node.kubernetes.io/not-ready NoSchedule"}
	eventually(t, "the taints", func() bool { return slices.Equal(s.taints(t, "node-1"), notReady) })
	s.expectCauses(t, "node-lifecycle", "patch", "nodes",
		timerLoopCause, // the taint that evicts
		`watch of "node-1":  0s`,
	)
	s.report(t, "node-1", corev1.ConditionTrue)
	eventually(t, "the taints to go", func() bool { return len(s.taints(t, "node-1")) == 0 })
}

func TestNodeLifecycleMarksSilentNodesUnknown(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.node(t, "node-1")
	s.report(t, "node-1", corev1.ConditionTrue)
	s.pod(t, "web", "10.0.0.1")
	s.runWith(t, NodeControllerOptions{MonitorPeriod: 20 * time.Millisecond, GracePeriod: 100 * time.Millisecond},
		nodeLifecycle())
	eventually(t, "the node to be unknown", func() bool {
		n, err := s.client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
		return err == nil && n.Status.Conditions[0].Status == corev1.ConditionUnknown
	})
	eventually(t, "its pod not to be ready", func() bool {
		pod, err := s.client.CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && pod.Status.Conditions[0].Status == corev1.ConditionFalse
	})
	s.expectCauses(t, "node-lifecycle", "update", "nodes", timerLoopCause)
	s.expectCauses(t, "node-lifecycle", "update", "pods", timerLoopCause)
}

func TestTurnsWithoutWorkAreNotRecorded(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.runWith(t, NodeControllerOptions{MonitorPeriod: time.Millisecond}, nodeLifecycle())
	eventually(t, "the monitor to have run", func() bool { return s.tap.State().Idle() })
	for _, e := range s.log.list() {
		if start, ok := e.Detail.(*trace.Start); ok && e.Controller == "node-lifecycle" {
			t.Errorf("there are no nodes, but: %+v", start)
		}
	}
}
