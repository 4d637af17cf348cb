package nodes

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func scheduled(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }

// rejectionText says that the condition PodScheduled is False for that reason and returns its message.
func rejectionText(pod *corev1.Pod, reason string) (string, bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == reason {
			return c.Message, true
		}
	}
	return "", false
}

func unschedulable(pod *corev1.Pod) bool {
	_, ok := rejectionText(pod, corev1.PodReasonUnschedulable)
	return ok
}

func TestUnschedulableUntilNodeComes(t *testing.T) {
	s := newSandbox(t, Options{})
	s.create(podOf("web"))
	pod := s.until("web", "unschedulable", unschedulable)
	if message, _ := rejectionText(pod, corev1.PodReasonUnschedulable); message != "no nodes available to schedule pods" {
		t.Errorf("message %q", message)
	}
	e := s.untilEvent("web", "FailedScheduling", "")
	if e.Message != "no nodes available to schedule pods" || e.Type != "Warning" || e.ReportingController != "default-scheduler" {
		t.Errorf("event %s %q from %q", e.Type, e.Message, e.ReportingController)
	}
	node := newNode(7, DefaultCapacity(), "v1.37.1", epoch)
	if _, err := ensureNode(t.Context(), s.CoreV1().Nodes(), node); err != nil {
		t.Fatal(err)
	}
	pod = s.until("web", "ready on a node that somebody else made", ready)
	if pod.Spec.NodeName != node.Name || pod.Status.HostIP != "172.18.0.9" {
		t.Errorf("on node %q with address %q", pod.Spec.NodeName, pod.Status.HostIP)
	}
}

func TestUnschedulableUntilRoom(t *testing.T) {
	s := newSandbox(t, Options{Count: 2, Capacity: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}})
	for _, name := range []string{"a", "b"} {
		s.create(podOf(name, requesting(corev1.ResourceCPU, "1500m")))
		s.until(name, "ready", ready)
	}
	s.create(podOf("c", requesting(corev1.ResourceCPU, "1")))
	pod := s.until("c", "unschedulable", unschedulable)
	want := "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
	if message, _ := rejectionText(pod, corev1.PodReasonUnschedulable); message != want {
		t.Errorf("message %q, want %q", message, want)
	}
	if err := s.CoreV1().Pods("default").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	pod = s.until("c", "ready in the place of the deleted one", ready)
	if pod.Spec.NodeName != "node-1" {
		t.Errorf("on node %q, want node-1", pod.Spec.NodeName)
	}
}

func TestNotScheduled(t *testing.T) {
	s := newSandbox(t, Options{Count: 1})
	s.create(podOf("other", func(p *corev1.Pod) { p.Spec.SchedulerName = "other" }))
	s.create(podOf("gated", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}} }))
	s.create(podOf("preset", func(p *corev1.Pod) { p.Spec.NodeName = "node-1" }))
	s.create(podOf("elsewhere", func(p *corev1.Pod) { p.Spec.NodeName = "nowhere" }))
	s.create(podOf("last"))
	s.until("last", "ready", ready)
	s.until("preset", "ready without having been scheduled", ready)
	for _, name := range []string{"other", "gated"} {
		if pod := s.get(name); scheduled(pod) || unschedulable(pod) {
			t.Errorf("pod %q was scheduled, or tried to", name)
		}
	}
	if pod := s.get("elsewhere"); pod.Status.Phase != corev1.PodPending || pod.Status.StartTime != nil {
		t.Errorf("pod on a node that is not simulated moved: %v", text(pod))
	}
	gated := s.get("gated")
	if _, ok := rejectionText(gated, corev1.PodReasonSchedulingGated); !ok {
		t.Errorf("gated pod has conditions %v", gated.Status.Conditions)
	}
	gated.Spec.SchedulingGates = nil
	if _, err := s.CoreV1().Pods("default").Update(t.Context(), gated, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("gated", "ready when the gate is gone", ready)
}

func TestRetriedWhenNodeChanges(t *testing.T) {
	s := newSandbox(t, Options{Count: 1})
	node, err := s.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(node.Spec.Taints) != 0 {
		t.Errorf("a ready node has taints %v", node.Spec.Taints)
	}
	s.create(podOf("web", selecting("disk", "ssd")))
	s.until("web", "unschedulable", unschedulable)
	node.Labels["disk"] = "ssd"
	if _, err := s.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("web", "ready on the labelled node", ready)
}

func TestTrace(t *testing.T) {
	s := newSandbox(t, Options{Count: 1})
	s.create(podOf("web"))
	s.until("web", "ready", ready)
	s.untilEvent("web", "Scheduled", "")
	s.untilEvent("web", "Started", "")
	s.nodes.Stop()
	if err := s.nodes.Wait(); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"scheduler create pods/binding": 1,
		"scheduler create events":       1,
		"kubelet patch pods/status":     1,
		"kubelet create events":         3,
	}
	var writes map[string]int
	// The last Event may be seen before its writer knows that it is written.
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, waitTimeout, true, func(context.Context) (bool, error) {
		writes = s.writesAbout("default/web")
		return maps.Equal(want, writes), nil
	})
	if err != nil {
		t.Errorf("writes of reconciles of the pod (-want +got):\n%s", cmp.Diff(want, writes))
	}
}

// writesAbout counts the writes of reconciles of a pod.
func (s *sandbox) writesAbout(key string) map[string]int {
	writes := map[string]int{}
	for _, e := range s.trace.list() {
		if r, ok := e.Detail.(*trace.Request); ok && r.IsWrite() && e.Key == key && e.Reconcile != 0 {
			line := e.Controller + " " + r.Verb + " " + r.Resource
			if r.Subresource != "" {
				line += "/" + r.Subresource
			}
			writes[line]++
		}
	}
	return writes
}
