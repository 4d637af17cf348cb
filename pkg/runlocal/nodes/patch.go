package nodes

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
)

// patchStatus writes the status as kubelet and scheduler do: a strategic merge patch of what differs, which holds only for the
// pod of that uid. Without a difference it writes nothing and returns the pod. It mirrors PatchPodStatus in pkg/util/pod/pod.go, which
// hides the API's error from its caller.
func patchStatus(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, status *corev1.PodStatus) (*corev1.Pod, error) {
	patch, err := statusPatch(pod, status)
	if err != nil {
		return nil, fmt.Errorf("comparing the status of pod %q: %w", pod.Name, err)
	}
	if patch == nil {
		return pod, nil
	}
	updated, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return nil, fmt.Errorf("patching the status of pod %q: %w", pod.Name, err)
	}
	return updated, nil
}

// statusPatch is nil if nothing differs.
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
