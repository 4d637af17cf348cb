package nodes

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/metrics/pkg/apis/metrics"
	"k8s.io/utils/clock"
)

// errNotWatching is what a Meter says before it knows pods and nodes.
var errNotWatching = errors.New("pods and nodes are not known yet")

// Meter tells what the containers of simulated pods use, as metrics-server does from what kubelets measure: half of their
// requests, or what annotations of the pod say. It is what they use at that moment, so the window of time is 0. Its
// methods may be called concurrently. A zero Meter is not usable.
type Meter struct {
	clock     clock.PassiveClock
	informers atomic.Pointer[meterInformers]
}

// meterInformers are the pods and nodes that a Meter looks at.
type meterInformers struct {
	pods  coreinformers.PodInformer
	nodes coreinformers.NodeInformer
}

// NewMeter returns a Meter that knows no pods until Watch; nil is the real clock.
func NewMeter(c clock.PassiveClock) *Meter {
	if c == nil {
		c = clock.RealClock{}
	}
	return &Meter{clock: c}
}

// Watch gives the Meter pods and nodes to look at. Whoever has made the informers starts them.
func (m *Meter) Watch(pods coreinformers.PodInformer, nodes coreinformers.NodeInformer) {
	pods.Informer()
	nodes.Informer()
	m.informers.Store(&meterInformers{pods: pods, nodes: nodes})
}

// Pods returns what the pods use that run on simulated nodes, sorted by namespace and name: those of a namespace, of all
// if it is empty, which the selector selects. The error says that pods are not known yet.
func (m *Meter) Pods(namespace string, selector labels.Selector) ([]metrics.PodMetrics, error) {
	w, err := m.ready()
	if err != nil {
		return nil, err
	}
	pods, err := w.pods.Lister().Pods(namespace).List(labels.Everything()) // those not selected may share a load with others
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

// Nodes returns what the pods of each simulated node use together, sorted by name, of the nodes that the selector
// selects. The error says that pods are not known yet.
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
			continue // it has gone meanwhile
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

// list is what a kubelet measures of the amounts: CPU and memory.
func (a amounts) list() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(a[corev1.ResourceCPU], resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(a[corev1.ResourceMemory], resource.BinarySI),
	}
}
