package realcluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// The types of metrics.k8s.io/v1beta1, as far as an autoscaler reads them.
type (
	podMetricsList struct {
		metav1.TypeMeta `json:",inline"`
		Items           []podMetrics `json:"items"`
	}
	podMetrics struct {
		Metadata   metav1.ObjectMeta  `json:"metadata"`
		Timestamp  metav1.Time        `json:"timestamp"`
		Window     metav1.Duration    `json:"window"`
		Containers []containerMetrics `json:"containers"`
	}
	containerMetrics struct {
		Name  string              `json:"name"`
		Usage corev1.ResourceList `json:"usage"`
	}
)

// list is what the pods of a namespace use that the selector selects, at this moment.
func (m *meter) list(ctx context.Context, namespace, selector string) (*podMetricsList, error) {
	selected, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	pods, err := m.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of %q: %w", namespace, err)
	}
	sharers := map[types.UID]int{}
	for i := range pods.Items {
		if isReady(&pods.Items[i]) {
			sharers[ownerOf(&pods.Items[i])]++
		}
	}
	list := &podMetricsList{
		TypeMeta: metav1.TypeMeta{APIVersion: "metrics.k8s.io/v1beta1", Kind: "PodMetricsList"},
		Items:    []podMetrics{},
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		runs := pod.Status.Phase == corev1.PodRunning && len(pod.Status.ContainerStatuses) > 0
		if !runs || !selected.Matches(labels.Set(pod.Labels)) {
			continue
		}
		list.Items = append(list.Items, podMetrics{
			Metadata:  metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels},
			Timestamp: metav1.Now(), Containers: measure(pod, sharers[ownerOf(pod)]),
		})
	}
	return list, nil
}

// measure is what each container uses: see "Load" of docs/nodes.md.
func measure(pod *corev1.Pod, sharers int) []containerMetrics {
	n := int64(len(pod.Spec.Containers))
	var out []containerMetrics
	for _, c := range pod.Spec.Containers {
		cpu := halfOf(c.Resources.Requests.Cpu(), resource.MustParse("10m"))
		memory := halfOf(c.Resources.Requests.Memory(), resource.MustParse("10Mi"))
		if q := annotatedUsage(pod, "cpu", sharers); q != nil {
			cpu = *resource.NewMilliQuantity(q.MilliValue()/n, resource.DecimalSI)
		}
		if q := annotatedUsage(pod, "memory", sharers); q != nil {
			memory = *resource.NewQuantity(q.Value()/n, resource.BinarySI)
		}
		usage := corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory}
		out = append(out, containerMetrics{c.Name, usage})
	}
	return out
}

func halfOf(requested *resource.Quantity, idle resource.Quantity) resource.Quantity {
	if requested.IsZero() {
		return idle
	}
	return *resource.NewMilliQuantity(requested.MilliValue()/2, requested.Format)
}

// annotatedUsage is what annotations say that the whole pod uses, nil if none does.
func annotatedUsage(pod *corev1.Pod, name string, sharers int) *resource.Quantity {
	const prefix = "kubectl-reconcile.github.io/"
	if q, err := resource.ParseQuantity(pod.Annotations[prefix+name+"-usage"]); err == nil {
		return &q
	}
	q, err := resource.ParseQuantity(pod.Annotations[prefix+name+"-load"])
	switch {
	case err != nil:
		return nil
	case !isReady(pod):
		return &resource.Quantity{}
	}
	return resource.NewMilliQuantity(q.MilliValue()/int64(sharers), q.Format)
}

func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// ownerOf is whom a pod shares a load with.
func ownerOf(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.UID
	}
	return pod.UID
}
