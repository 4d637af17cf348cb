package nodes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodBecomesReady(t *testing.T) {
	s := newSandbox(t, Options{Count: 1})
	s.create(podOf("web"))
	pod := s.until("web", "ready", ready)
	if pod.Spec.NodeName != "node-1" || pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" || pod.Status.HostIP != "172.18.0.2" {
		t.Errorf("pod is on %q in phase %s with address %q on %q", pod.Spec.NodeName, pod.Status.Phase, pod.Status.PodIP, pod.Status.HostIP)
	}
	var types []corev1.PodConditionType
	for _, c := range pod.Status.Conditions {
		types = append(types, c.Type)
		if c.ObservedGeneration != pod.Generation {
			t.Errorf("condition %s observed generation %d, want %d", c.Type, c.ObservedGeneration, pod.Generation)
		}
	}
	want := []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("conditions, in order (-want +got):\n%s", diff)
	}
	s.untilEvent("web", "Scheduled", "")
	s.untilEvent("web", "Started", "")
}

func TestDeletionWithGrace(t *testing.T) {
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
