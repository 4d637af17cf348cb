package nodes

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
)

// status is the status that the kubelet would report of the pod, whose present status is the base of it. It mirrors
// generateAPIPodStatus in pkg/kubelet/kubelet_pods.go. hostIP may be empty.
func (m *podState) status(pod *corev1.Pod, hostIP string, now time.Time) corev1.PodStatus {
	s := *pod.Status.DeepCopy()
	s.ObservedGeneration = podutil.CalculatePodStatusObservedGeneration(pod)
	s.QOSClass = qos.GetPodQOS(pod)
	if s.StartTime == nil {
		s.StartTime = seconds(m.startTime)
	}
	if hostIP != "" {
		s.HostIP, s.HostIPs = hostIP, []corev1.HostIP{{IP: hostIP}}
	}
	if m.ip != "" {
		s.PodIP, s.PodIPs = m.ip, []corev1.PodIP{{IP: m.ip}}
	}
	s.InitContainerStatuses = m.statuses(pod, m.init, now)
	s.ContainerStatuses = m.statuses(pod, m.containers, now)
	if !podutil.IsPodPhaseTerminal(s.Phase) {
		s.Phase = m.phase(pod)
	}
	s.Conditions = m.conditions(pod, &s, now)
	return s
}

func (m *podState) statuses(pod *corev1.Pod, containers []*container, now time.Time) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for _, c := range containers {
		all = append(all, c.status(pod, now))
	}
	return all
}

// phase mirrors getPhase in pkg/kubelet/kubelet_pods.go.
func (m *podState) phase(pod *corev1.Pod) corev1.PodPhase {
	waiting := slices.ContainsFunc(m.containers, func(c *container) bool { return c.state == created || c.state == pulling })
	switch {
	case m.stopped && waiting:
		return corev1.PodFailed // TerminatePod in pkg/kubelet/status/status_manager.go
	case waiting:
		return corev1.PodPending
	case slices.ContainsFunc(m.containers, func(c *container) bool { return !c.finished(pod) }):
		return corev1.PodRunning
	case slices.ContainsFunc(m.containers, func(c *container) bool { return c.exitCode != 0 }):
		return corev1.PodFailed
	}
	return corev1.PodSucceeded
}

// seconds is the time as the API keeps it.
func seconds(t time.Time) *metav1.Time {
	s := metav1.NewTime(t).Rfc3339Copy()
	return &s
}
