package nodes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/metrics/pkg/apis/metrics"
	"k8s.io/utils/clock"
)

// errNotWatching is the error of a Meter before Watch, or before its informers have synced.
var errNotWatching = errors.New("pods and nodes are not known yet")

// Meter returns what the containers of simulated pods use, in place of metrics-server: half of their requests, or what
// annotations of the pod say. It is their usage at that moment, so the window of time is 0. Its methods may be called
// concurrently. The zero value is not usable: see NewMeter.
type Meter struct {
	clock     clock.PassiveClock
	informers atomic.Pointer[meterInformers]
}

// meterInformers are the informers that a Meter reads.
type meterInformers struct {
	pods  coreinformers.PodInformer
	nodes coreinformers.NodeInformer
}

// NewMeter returns a Meter, which is usable after Watch. If c is nil, it uses the real clock.
func NewMeter(c clock.PassiveClock) *Meter {
	if c == nil {
		c = clock.RealClock{}
	}
	return &Meter{clock: c}
}

// Watch sets the informers of pods and nodes. It requests them, and the caller must start them.
func (m *Meter) Watch(pods coreinformers.PodInformer, nodes coreinformers.NodeInformer) {
	pods.Informer()
	nodes.Informer()
	m.informers.Store(&meterInformers{pods: pods, nodes: nodes})
}

// Pods returns the usage of the selected pods of a namespace that run on simulated nodes, sorted by namespace and name.
// An empty namespace means all. It fails before the informers have synced.
func (m *Meter) Pods(namespace string, selector labels.Selector) ([]metrics.PodMetrics, error) {
	w, err := m.ready()
	if err != nil {
		return nil, err
	}
	// All of them: a pod that is not selected may share a load with one that is.
	pods, err := w.pods.Lister().Pods(namespace).List(labels.Everything())
	if err != nil {
		return nil, err
	}
	now, sharers := m.clock.Now(), loadSharers(pods)
	out := []metrics.PodMetrics{}
	for _, pod := range pods {
		if !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if running := runningContainers(pod); len(running) > 0 && w.has(pod.Spec.NodeName) {
			out = append(out, podMetrics(pod, running, sharers, now))
		}
	}
	slices.SortFunc(out, func(a, b metrics.PodMetrics) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// Nodes returns the usage of the selected simulated nodes, each the sum of its pods, sorted by name. It fails before
// the informers have synced.
func (m *Meter) Nodes(selector labels.Selector) ([]metrics.NodeMetrics, error) {
	pods, err := m.Pods(metav1.NamespaceAll, labels.Everything())
	if err != nil {
		return nil, err
	}
	w := m.informers.Load()
	sums := map[string]amounts{}
	for i := range pods {
		pod, err := w.pods.Lister().Pods(pods[i].Namespace).Get(pods[i].Name)
		if err != nil {
			continue // it was deleted meanwhile
		}
		sum := sums[pod.Spec.NodeName]
		if sum == nil {
			sum = amounts{}
			sums[pod.Spec.NodeName] = sum
		}
		for _, c := range pods[i].Containers {
			sum.add(amountsOf(c.Usage), 1)
		}
	}
	nodes, err := w.nodes.Lister().List(selector)
	if err != nil {
		return nil, err
	}
	out := []metrics.NodeMetrics{}
	for _, node := range nodes {
		if w.has(node.Name) {
			out = append(out, nodeMetrics(node, sums[node.Name], m.clock.Now()))
		}
	}
	slices.SortFunc(out, func(a, b metrics.NodeMetrics) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// ready returns the informers if they have synced, and errNotWatching before.
func (m *Meter) ready() (*meterInformers, error) {
	w := m.informers.Load()
	if w == nil || !w.pods.Informer().HasSynced() || !w.nodes.Informer().HasSynced() {
		return nil, errNotWatching
	}
	return w, nil
}

// has reports whether there is a simulated node of that name.
func (w *meterInformers) has(name string) bool {
	node, err := w.nodes.Lister().Get(name)
	return err == nil && simulated(node)
}

// podMetrics returns the usage of a pod's running containers. sharers is what loadSharers returned for all pods.
func podMetrics(pod *corev1.Pod, running []string, sharers map[types.UID]int, now time.Time) metrics.PodMetrics {
	n := 0
	if sharesLoad(pod) {
		n = sharers[loadSharerKey(pod)]
	}
	usage := containerUsage(pod, running, n)
	out := metrics.PodMetrics{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels, CreationTimestamp: metav1.NewTime(now),
		},
		Timestamp: metav1.NewTime(now),
	}
	for _, name := range running {
		out.Containers = append(out.Containers, metrics.ContainerMetrics{Name: name, Usage: usage[name].list()})
	}
	return out
}

func nodeMetrics(node *corev1.Node, usage amounts, now time.Time) metrics.NodeMetrics {
	return metrics.NodeMetrics{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, CreationTimestamp: metav1.NewTime(now)},
		Timestamp:  metav1.NewTime(now), Usage: usage.list(),
	}
}

// list returns CPU and memory, which are what a kubelet measures.
func (a amounts) list() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(a[corev1.ResourceCPU], resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(a[corev1.ResourceMemory], resource.BinarySI),
	}
}

// Annotations of a pod that say what its simulated containers use, for a Meter. Each is a quantity, 0 or more. They are
// read at each measurement, so a change has effect at once. The pod's running containers have equal shares of it.
const (
	// CPUUsageAnnotation and MemoryUsageAnnotation are what the pod uses ("300m", "64Mi").
	CPUUsageAnnotation    = "kubectl-reconcile.github.io/cpu-usage"
	MemoryUsageAnnotation = "kubectl-reconcile.github.io/memory-usage"
	// CPULoadAnnotation and MemoryLoadAnnotation are a load that the pod shares, in equal parts, with the other ready
	// pods of its controller; a pod that is not ready has no part of it. The annotations of usage override them.
	CPULoadAnnotation    = "kubectl-reconcile.github.io/cpu-load"
	MemoryLoadAnnotation = "kubectl-reconcile.github.io/memory-load"
)

// Without annotations a container uses half of what it requests, or this much if it requests nothing.
const (
	idleMilliCPU = 10
	idleMemory   = 10 << 20
)

// usageAnnotation has the names of the annotations of a resource.
type usageAnnotation struct{ usage, shared string }

// usageAnnotations returns the resources that are measured, with their annotations.
func usageAnnotations() map[corev1.ResourceName]usageAnnotation {
	return map[corev1.ResourceName]usageAnnotation{
		corev1.ResourceCPU:    {CPUUsageAnnotation, CPULoadAnnotation},
		corev1.ResourceMemory: {MemoryUsageAnnotation, MemoryLoadAnnotation},
	}
}

// checkUsageAnnotations returns an error for each invalid annotation, sorted by annotation.
func checkUsageAnnotations(pod *corev1.Pod) []error {
	var errs []error
	for _, annotation := range []string{CPULoadAnnotation, CPUUsageAnnotation, MemoryLoadAnnotation,
		MemoryUsageAnnotation} {
		if _, err := quantityOf(pod, annotation); err != nil {
			errs = append(errs, fmt.Errorf("annotation %s: %w", annotation, err))
		}
	}
	return errs
}

// quantityOf returns the quantity of an annotation; nil if the pod does not have it.
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

// amount returns a quantity in the unit of amounts.
func amount(name corev1.ResourceName, q *resource.Quantity) int64 {
	return amountsOf(corev1.ResourceList{name: *q})[name]
}

// containerUsage returns what the running containers of a pod use, by name. sharers is how many pods share a load, this
// one included; 0 if the pod has no part of it.
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
				part += total % int64(len(running)) // so that the parts add up to the total
			}
			if !known {
				part = idleUsage(pod, container, name)
			}
			out[container][name] = part
		}
	}
	return out
}

// podUsage returns what the whole pod uses by its annotations; known is false if it has none of the resource.
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

// idleUsage returns what a container uses without annotations: half of its request, or a default.
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

// runningContainers returns the names of the running containers, sidecars first, in the order of the pod's status.
func runningContainers(pod *corev1.Pod) []string {
	var out []string
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if c.State.Running != nil {
			out = append(out, c.Name)
		}
	}
	return out
}

// loadSharers counts the ready pods of each controller. A pod without a controller is counted by its own UID.
func loadSharers(pods []*corev1.Pod) map[types.UID]int {
	out := map[types.UID]int{}
	for _, pod := range pods {
		if sharesLoad(pod) {
			out[loadSharerKey(pod)]++
		}
	}
	return out
}

// sharesLoad reports whether the pod has a part of a shared load.
func sharesLoad(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && podutil.IsPodReady(pod) }

// loadSharerKey returns the UID by which pods that share a load are counted: that of their controller, or their own.
func loadSharerKey(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return pod.UID
}
