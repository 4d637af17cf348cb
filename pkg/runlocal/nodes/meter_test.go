package nodes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/metrics/pkg/apis/metrics"
	clocktesting "k8s.io/utils/clock/testing"
)

// measuredPod is a pod that runs on a node, ready, with containers that request "cpu memory" each; empty requests
// nothing.
func measuredPod(name, node string, requests []string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := podOf(name)
	pod.Namespace, pod.Labels = "default", map[string]string{"name": name}
	pod.Spec.NodeName, pod.Spec.Containers = node, nil
	pod.Status.Conditions = append(pod.Status.Conditions,
		corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	for i, cpu := range requests {
		c := corev1.Container{Name: string(rune('a' + i))}
		if cpu != "" {
			c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func ownedBy(uid types.UID) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{UID: uid, Controller: new(true)}}
	}
}

func notReady(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
}

// meterOf is a Meter that knows these pods, and the nodes one (simulated) and other (not).
func meterOf(t *testing.T, pods ...*corev1.Pod) *Meter {
	t.Helper()
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	core := factory.Core().V1()
	m := NewMeter(clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)))
	if _, err := m.Pods("", labels.Everything()); err == nil {
		t.Error("it knows pods before it watches")
	}
	m.Watch(core.Pods(), core.Nodes())
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSyncWithContext(t.Context())
	for _, node := range []*corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: map[string]string{SimulatedLabel: "true"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "other"}},
	} {
		if err := core.Nodes().Informer().GetIndexer().Add(node); err != nil {
			t.Fatal(err)
		}
	}
	for _, pod := range pods {
		if err := core.Pods().Informer().GetIndexer().Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// usageTexts is what each pod's containers use, as "CONTAINER CPU MEMORY".
func usageTexts(pods []metrics.PodMetrics) map[string][]string {
	out := map[string][]string{}
	for _, p := range pods {
		out[p.Name] = []string{}
		for _, c := range p.Containers {
			out[p.Name] = append(out[p.Name], c.Name+" "+c.Usage.Cpu().String()+" "+c.Usage.Memory().String())
		}
	}
	return out
}

func TestMeterMeasuresPods(t *testing.T) {
	for _, test := range []struct {
		name   string
		reason string
		pods   []*corev1.Pod
		want   map[string][]string
	}{
		{"idle", "without annotations a container uses half of its requests, or a little",
			[]*corev1.Pod{measuredPod("p", "one", []string{"300m", ""})},
			map[string][]string{"p": {"a 150m 10Mi", "b 10m 10Mi"}}},
		{"usage", "the parts of a pod make the whole",
			[]*corev1.Pod{measuredPod("p", "one", []string{"1", "1", "1"}, annotated(CPUUsageAnnotation, "100m"),
				annotated(MemoryUsageAnnotation, "6Mi"))},
			map[string][]string{"p": {"a 34m 2Mi", "b 33m 2Mi", "c 33m 2Mi"}}},
		{"load", "ready pods of a controller share it, those of another do not",
			[]*corev1.Pod{
				measuredPod("p", "one", []string{""}, ownedBy("x"), annotated(CPULoadAnnotation, "1")),
				measuredPod("q", "one", []string{""}, ownedBy("x"), annotated(CPULoadAnnotation, "1")),
				measuredPod("r", "one", []string{""}, ownedBy("y"), annotated(CPULoadAnnotation, "1")),
				measuredPod("s", "one", []string{""}, annotated(CPULoadAnnotation, "1")),
			}, map[string][]string{"p": {"a 500m 10Mi"}, "q": {"a 500m 10Mi"}, "r": {"a 1 10Mi"}, "s": {"a 1 10Mi"}}},
		{"not ready", "a pod that is not ready takes no part of a load",
			[]*corev1.Pod{
				measuredPod("p", "one", []string{""}, ownedBy("x"), annotated(MemoryLoadAnnotation, "64Mi")),
				measuredPod("q", "one", []string{""}, ownedBy("x"), annotated(MemoryLoadAnnotation, "64Mi"), notReady),
			}, map[string][]string{"p": {"a 10m 64Mi"}, "q": {"a 10m 0"}}},
		{"both", "the pod's own usage overrides a load",
			[]*corev1.Pod{measuredPod("p", "one", []string{""}, annotated(CPULoadAnnotation, "1"),
				annotated(CPUUsageAnnotation, "0"))},
			map[string][]string{"p": {"a 0 10Mi"}}},
		{"wrong", "what is not understood counts as absent",
			[]*corev1.Pod{measuredPod("p", "one", []string{"1"}, annotated(CPUUsageAnnotation, "much"),
				annotated(CPULoadAnnotation, "-1"))},
			map[string][]string{"p": {"a 500m 10Mi"}}},
		{"elsewhere", "what is not simulated, or does not run, is not measured",
			[]*corev1.Pod{measuredPod("p", "other", []string{"1"}), measuredPod("q", "", []string{"1"}),
				measuredPod("r", "one", nil), measuredPod("s", "gone", []string{"1"})},
			map[string][]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := meterOf(t, test.pods...).Pods("default", labels.Everything())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, usageTexts(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestMeterSelects(t *testing.T) {
	elsewhere := measuredPod("p", "one", []string{""})
	elsewhere.Namespace = "elsewhere"
	m := meterOf(t, measuredPod("q", "one", []string{""}), measuredPod("p", "one", []string{""}), elsewhere)
	for _, test := range []struct {
		namespace, selector string
		want                []string
		reason              string
	}{
		{"", "", []string{"default/p", "default/q", "elsewhere/p"}, "all are sorted"},
		{"default", "", []string{"default/p", "default/q"}, "those of a namespace"},
		{"", "name=p", []string{"default/p", "elsewhere/p"}, "those with a label"},
		{"elsewhere", "name=q", nil, "none"},
	} {
		selector, err := labels.Parse(test.selector)
		if err != nil {
			t.Fatal(err)
		}
		pods, err := m.Pods(test.namespace, selector)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range pods {
			got = append(got, p.Namespace+"/"+p.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestMeterMeasuresNodes(t *testing.T) {
	m := meterOf(t, measuredPod("p", "one", []string{"1", "1"}), measuredPod("q", "one", []string{""}),
		measuredPod("r", "other", []string{"1"}))
	got, err := m.Nodes(labels.Everything())
	if err != nil {
		t.Fatal(err)
	}
	now := metav1.NewTime(time.Unix(1e9, 0))
	want := []metrics.NodeMetrics{{
		ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: map[string]string{SimulatedLabel: "true"}, CreationTimestamp: now},
		Timestamp:  now,
		Usage: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1010m"),
			corev1.ResourceMemory: resource.MustParse("30Mi")},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the sum of its pods, of simulated nodes alone (-want +got):\n%s", diff)
	}
}
