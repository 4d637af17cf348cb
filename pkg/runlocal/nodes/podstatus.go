package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
)

// status returns the status that the kubelet would report of the pod, based on its present status. It mirrors
// Kubelet.generateAPIPodStatus of k8s.io/kubernetes/pkg/kubelet/kubelet_pods.go. hostIP may be empty.
func (ps *podState) status(pod *corev1.Pod, hostIP string, now time.Time) corev1.PodStatus {
	s := *pod.Status.DeepCopy()
	s.ObservedGeneration = podutil.CalculatePodStatusObservedGeneration(pod)
	s.QOSClass = qos.GetPodQOS(pod)
	if s.StartTime == nil {
		s.StartTime = seconds(ps.startTime)
	}
	if hostIP != "" {
		s.HostIP, s.HostIPs = hostIP, []corev1.HostIP{{IP: hostIP}}
	}
	if ps.ip != "" {
		s.PodIP, s.PodIPs = ps.ip, []corev1.PodIP{{IP: ps.ip}}
	}
	s.InitContainerStatuses = ps.statuses(pod, ps.init, now)
	s.ContainerStatuses = ps.statuses(pod, ps.containers, now)
	if !podutil.IsPodPhaseTerminal(s.Phase) {
		s.Phase = ps.phase(pod)
	}
	s.Conditions = ps.conditions(pod, &s, now)
	return s
}

// statuses returns the statuses of the containers, in their order.
func (ps *podState) statuses(pod *corev1.Pod, containers []*container, now time.Time) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for _, c := range containers {
		all = append(all, c.status(pod, now))
	}
	return all
}

// phase mirrors getPhase of k8s.io/kubernetes/pkg/kubelet/kubelet_pods.go.
func (ps *podState) phase(pod *corev1.Pod) corev1.PodPhase {
	waiting := slices.ContainsFunc(ps.containers,
		func(c *container) bool { return c.state == created || c.state == pulling })
	switch {
	case ps.stopped && waiting:
		return corev1.PodFailed // TerminatePod in pkg/kubelet/status/status_manager.go
	case waiting:
		return corev1.PodPending
	case slices.ContainsFunc(ps.containers, func(c *container) bool { return !c.finished(pod) }):
		return corev1.PodRunning
	case slices.ContainsFunc(ps.containers, func(c *container) bool { return c.exitCode != 0 }):
		return corev1.PodFailed
	}
	return corev1.PodSucceeded
}

// seconds returns the time with the precision of the API.
func seconds(t time.Time) *metav1.Time {
	s := metav1.NewTime(t).Rfc3339Copy()
	return &s
}

// conditions returns the pod's conditions: those of others unchanged, then the kubelet's. It mirrors
// GeneratePodReadyToStartContainersCondition, GeneratePodInitializedCondition, GeneratePodReadyCondition and
// GenerateContainersReadyCondition of k8s.io/kubernetes/pkg/kubelet/status/generate.go.
func (ps *podState) conditions(pod *corev1.Pod, s *corev1.PodStatus, now time.Time) []corev1.PodCondition {
	all := slices.DeleteFunc(slices.Clone(pod.Status.Conditions),
		func(c corev1.PodCondition) bool { return byKubelet(c.Type) })
	containersReady := ps.containersReady(pod, s)
	own := []corev1.PodCondition{
		ps.readyToStart(s.Phase),
		ps.initializedCondition(s),
		podReady(pod, all, containersReady),
		containersReady,
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
	}
	for _, c := range own {
		c.ObservedGeneration = podutil.CalculatePodConditionObservedGeneration(&pod.Status, pod.Generation, c.Type)
		c.LastTransitionTime = *seconds(now)
		if _, before := podutil.GetPodCondition(&pod.Status, c.Type); before != nil && before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
		}
		all = append(all, c)
	}
	return all
}

// byKubelet reports whether the kubelet writes conditions of the type. Those of others it leaves as they are.
func byKubelet(t corev1.PodConditionType) bool {
	switch t {
	case corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady,
		corev1.PodScheduled:
		return true
	}
	return false
}

// Reasons and messages from pkg/kubelet/status/generate.go and pkg/kubelet/types/constants.go.
const (
	reasonSandboxNotReady          = "PodSandboxNotReady"
	messageNoSandbox               = "no pod sandbox exists"
	messageSandboxNotReady         = "pod sandbox is not ready"
	reasonPodCompleted             = "PodCompleted"
	reasonPodFailed                = "PodFailed"
	reasonContainersNotReady       = "ContainersNotReady"
	reasonContainersNotInitialized = "ContainersNotInitialized"
	reasonReadinessGatesNotReady   = "ReadinessGatesNotReady"
)

// readyToStart returns the condition PodReadyToStartContainers: whether the sandbox exists and runs.
func (ps *podState) readyToStart(phase corev1.PodPhase) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue}
	switch {
	case !ps.hasSandbox():
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, reasonSandboxNotReady, messageNoSandbox
	case phase == corev1.PodSucceeded || phase == corev1.PodFailed:
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, reasonSandboxNotReady, messageSandboxNotReady
	}
	return c
}

// initializedCondition returns the condition Initialized: whether all init containers have completed, or regular ones
// started.
func (ps *podState) initializedCondition(s *corev1.PodStatus) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	if s.Phase == corev1.PodSucceeded {
		c.Reason = reasonPodCompleted
		return c
	}
	if slices.ContainsFunc(ps.containers, func(c *container) bool { return c.state != created && c.state != pulling }) {
		return c
	}
	var incomplete []string
	for _, i := range ps.init {
		if !i.initialized() {
			incomplete = append(incomplete, i.spec.Name)
		}
	}
	if len(incomplete) > 0 {
		c.Status, c.Reason = corev1.ConditionFalse, reasonContainersNotInitialized
		c.Message = fmt.Sprintf("containers with incomplete status: %s", incomplete)
	}
	return c
}

// containersReady returns the condition ContainersReady.
func (ps *podState) containersReady(pod *corev1.Pod, s *corev1.PodStatus) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionFalse}
	switch s.Phase {
	case corev1.PodSucceeded:
		c.Reason = reasonPodCompleted
		return c
	case corev1.PodFailed:
		c.Reason = reasonPodFailed
		return c
	}
	if unready := unready(pod, s); len(unready) > 0 {
		c.Reason = reasonContainersNotReady
		c.Message = fmt.Sprintf("containers with unready status: %s", unready)
		return c
	}
	c.Status = corev1.ConditionTrue
	return c
}

// unready returns the containers that should be ready and are not, sidecars first.
func unready(pod *corev1.Pod, s *corev1.PodStatus) []string {
	var names []string
	for i := range s.InitContainerStatuses {
		if podutil.IsRestartableInitContainer(&pod.Spec.InitContainers[i]) && !s.InitContainerStatuses[i].Ready {
			names = append(names, s.InitContainerStatuses[i].Name)
		}
	}
	for _, c := range s.ContainerStatuses {
		if !c.Ready {
			names = append(names, c.Name)
		}
	}
	return names
}

// podReady returns the condition Ready: that of ContainersReady and of all readiness gates.
func podReady(pod *corev1.Pod, others []corev1.PodCondition, containersReady corev1.PodCondition) corev1.PodCondition {
	c := containersReady
	c.Type = corev1.PodReady
	if c.Status != corev1.ConditionTrue {
		return c
	}
	var problems []string
	for _, gate := range pod.Spec.ReadinessGates {
		switch _, met := podutil.GetPodConditionFromList(others, gate.ConditionType); {
		case met == nil:
			problems = append(problems, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.",
				string(gate.ConditionType)))
		case met.Status != corev1.ConditionTrue:
			problems = append(problems, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v",
				string(gate.ConditionType), met.Status))
		}
	}
	if len(problems) > 0 {
		c.Status, c.Reason = corev1.ConditionFalse, reasonReadinessGatesNotReady
		c.Message = strings.Join(problems, ", ")
	}
	return c
}

// patchStatus writes the status as kubelet and scheduler do: a strategic merge patch of what differs, which holds only
// for the pod of that UID. Without a difference it writes nothing and returns the pod. It mirrors PatchPodStatus of
// k8s.io/kubernetes/pkg/util/pod/pod.go, which does not wrap the API's error.
func patchStatus(
	ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, status *corev1.PodStatus,
) (*corev1.Pod, error) {
	patch, err := statusPatch(pod, status)
	if err != nil {
		return nil, fmt.Errorf("comparing the status of pod %q: %w", pod.Name, err)
	}
	if patch == nil {
		return pod, nil
	}
	updated, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	if err != nil {
		return nil, fmt.Errorf("patching the status of pod %q: %w", pod.Name, err)
	}
	return updated, nil
}

// statusPatch returns the patch; nil if nothing differs.
func statusPatch(pod *corev1.Pod, status *corev1.PodStatus) ([]byte, error) {
	if apiequality.Semantic.DeepEqual(&pod.Status, status) {
		return nil, nil
	}
	before, err := json.Marshal(corev1.Pod{Status: pod.Status})
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Status: *status})
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
}
