package nodes

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// Annotations of a pod that say what its simulated containers use, for a Meter. Each is a quantity, 0 or more. They are
// read whenever somebody measures, so a change has effect at once. The pod's running containers have equal parts of it.
const (
	// CPUUsageAnnotation and MemoryUsageAnnotation are what the pod uses ("300m", "64Mi").
	CPUUsageAnnotation    = "kubectl-reconcile.github.io/cpu-usage"
	MemoryUsageAnnotation = "kubectl-reconcile.github.io/memory-usage"
	// CPULoadAnnotation and MemoryLoadAnnotation are a load that the pod shares, in equal parts, with the other ready pods of
	// its controller; a pod that is not ready takes no part. Where the pod's usage is annotated too, that counts.
	CPULoadAnnotation    = "kubectl-reconcile.github.io/cpu-load"
	MemoryLoadAnnotation = "kubectl-reconcile.github.io/memory-load"
)

// A container that no annotation speaks of uses half of what it requests, or this much if it requests nothing.
const (
	idleMilliCPU = 10
	idleMemory   = 10 << 20
)

// usageAnnotation names the annotations of a resource.
type usageAnnotation struct{ usage, shared string }

// usageAnnotations are the resources that are measured.
func usageAnnotations() map[corev1.ResourceName]usageAnnotation {
	return map[corev1.ResourceName]usageAnnotation{
		corev1.ResourceCPU:    {CPUUsageAnnotation, CPULoadAnnotation},
		corev1.ResourceMemory: {MemoryUsageAnnotation, MemoryLoadAnnotation},
	}
}

// checkUsageAnnotations returns an error for each annotation that is not understood, sorted by annotation.
func checkUsageAnnotations(pod *corev1.Pod) []error {
	var errs []error
	for _, annotation := range []string{CPULoadAnnotation, CPUUsageAnnotation, MemoryLoadAnnotation, MemoryUsageAnnotation} {
		if _, err := quantityOf(pod, annotation); err != nil {
			errs = append(errs, fmt.Errorf("annotation %s: %w", annotation, err))
		}
	}
	return errs
}

// quantityOf is the quantity of an annotation, nil if the pod has none.
func quantityOf(pod *corev1.Pod, annotation string) (*resource.Quantity, error) {
	value, ok := pod.Annotations[annotation]
	if !ok {
		return nil, nil
	}
	q, err := resource.ParseQuantity(value)
	if err != nil || q.Sign() < 0 {
		return nil, fmt.Errorf("%q is not a quantity of 0 or more, such as 300m", value)
	}
	return &q, nil
}

// amount is a quantity as amounts counts it.
func amount(name corev1.ResourceName, q *resource.Quantity) int64 {
	return amountsOf(corev1.ResourceList{name: *q})[name]
}

// containerUsage is what the running containers of a pod use, by name. sharers is how many pods share a load with it, itself
// included; 0 if it takes no part.
func containerUsage(pod *corev1.Pod, running []string, sharers int) map[string]amounts {
	out := make(map[string]amounts, len(running))
	for _, name := range running {
		out[name] = amounts{}
	}
	for name, l := range usageAnnotations() {
		total, known := podUsage(pod, name, l, sharers)
		for i, container := range running {
			part := total / int64(len(running))
			if i == 0 {
				part += total % int64(len(running)) // so that the parts make the whole
			}
			if !known {
				part = idleUsage(pod, container, name)
			}
			out[container][name] = part
		}
	}
	return out
}

// podUsage is what annotations say that the whole pod uses, if they do.
func podUsage(pod *corev1.Pod, name corev1.ResourceName, l usageAnnotation, sharers int) (total int64, known bool) {
	if q, err := quantityOf(pod, l.usage); q != nil && err == nil {
		return amount(name, q), true
	}
	q, err := quantityOf(pod, l.shared)
	switch {
	case q == nil || err != nil:
		return 0, false
	case sharers == 0:
		return 0, true
	}
	return amount(name, q) / int64(sharers), true
}

func idleUsage(pod *corev1.Pod, container string, name corev1.ResourceName) int64 {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if q, requested := c.Resources.Requests[name]; c.Name == container && requested {
			return amount(name, &q) / 2
		}
	}
	if name == corev1.ResourceCPU {
		return idleMilliCPU
	}
	return idleMemory
}

// runningContainers are the names of those that run, sidecars first, in the order of the pod's status.
func runningContainers(pod *corev1.Pod) []string {
	var out []string
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if c.State.Running != nil {
			out = append(out, c.Name)
		}
	}
	return out
}

// loadSharers counts the ready pods of each controller. A pod without a controller is its own.
func loadSharers(pods []*corev1.Pod) map[types.UID]int {
	out := map[types.UID]int{}
	for _, pod := range pods {
		if sharesLoad(pod) {
			out[loadSharerKey(pod)]++
		}
	}
	return out
}

func sharesLoad(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && podutil.IsPodReady(pod) }

func loadSharerKey(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return pod.UID
}
