package nodes

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// IgnoredFields returns which fields of the pod that choose among nodes the simulated scheduler leaves out of account;
// nil if there are none. Where they are, the node that it chooses may be one that kube-scheduler would not.
func IgnoredFields(pod *corev1.PodSpec) []string {
	var ignored []string
	if a := pod.Affinity; a != nil && a.PodAffinity != nil {
		ignored = append(ignored, "spec.affinity.podAffinity")
	}
	if a := pod.Affinity; a != nil && a.PodAntiAffinity != nil {
		ignored = append(ignored, "spec.affinity.podAntiAffinity")
	}
	if len(pod.TopologySpreadConstraints) > 0 {
		ignored = append(ignored, "spec.topologySpreadConstraints")
	}
	if len(pod.ResourceClaims) > 0 {
		ignored = append(ignored, "spec.resourceClaims")
	}
	return ignored
}

// RequiredIgnoredFields returns those of IgnoredFields because of which there may be no node for the pod at all. The
// others are preferences.
func RequiredIgnoredFields(pod *corev1.PodSpec) []string {
	required := corev1.PodSpec{ResourceClaims: pod.ResourceClaims}
	if a := pod.Affinity; a != nil {
		required.Affinity = &corev1.Affinity{}
		if a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			required.Affinity.PodAffinity = a.PodAffinity
		}
		if a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			required.Affinity.PodAntiAffinity = a.PodAntiAffinity
		}
	}
	for _, c := range pod.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == corev1.DoNotSchedule {
			required.TopologySpreadConstraints = append(required.TopologySpreadConstraints, c)
		}
	}
	return IgnoredFields(&required)
}

// logIgnoredFields logs the IgnoredFields of the pod.
func (s *scheduler) logIgnoredFields(ctx context.Context, pod *corev1.Pod) {
	if ignored := IgnoredFields(&pod.Spec); len(ignored) > 0 {
		klog.FromContext(ctx).Info("Not simulated and left out of account", "pod", klog.KObj(pod), "fields", ignored)
	}
}

// UndecidedMessage begins the condition PodScheduled of pods that Options.LeaveUndecided leaves without a node.
const UndecidedMessage = "not decided: "

// leave writes that the pod has no node because of fields that are not simulated. It is tried again when it is changed.
func (s *scheduler) leave(ctx context.Context, pod *corev1.Pod, fields []string) error {
	status := pod.Status.DeepCopy()
	observed := podutil.CalculatePodConditionObservedGeneration(&pod.Status, pod.Generation, corev1.PodScheduled)
	changed := podutil.UpdatePodCondition(status, &corev1.PodCondition{
		Type:               corev1.PodScheduled,
		ObservedGeneration: observed,
		Status:             corev1.ConditionFalse,
		Reason:             corev1.PodReasonSchedulerError,
		Message:            UndecidedMessage + "not simulated: " + strings.Join(fields, ", "),
	})
	if !changed {
		return nil
	}
	if _, err := patchStatus(ctx, s.client, pod, status); err != nil && !apierrors.IsNotFound(err) {
		return err // one that was deleted meanwhile needs no condition
	}
	return nil
}
