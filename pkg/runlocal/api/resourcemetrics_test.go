package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/metrics/pkg/apis/metrics"
	"k8s.io/metrics/pkg/client/clientset/versioned"
)

// fixedMetrics are those of two pods and a node, or an error.
type fixedMetrics struct{ failing atomic.Bool }

var errNothingMeasured = errors.New("nothing was measured yet")

func (m *fixedMetrics) Pods(namespace string, selector labels.Selector) ([]metrics.PodMetrics, error) {
	if m.failing.Load() {
		return nil, errNothingMeasured
	}
	var out []metrics.PodMetrics
	for i, in := range []string{"default", "other"} {
		pod := metrics.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: "p", Labels: map[string]string{"n": in}},
			Window:     metav1.Duration{Duration: time.Second},
			Containers: []metrics.ContainerMetrics{{Name: "c", Usage: usageOf(i)}, {Name: "d", Usage: usageOf(i)}},
		}
		if (namespace == "" || namespace == in) && selector.Matches(labels.Set(pod.Labels)) {
			out = append(out, pod)
		}
	}
	return out, nil
}

func (m *fixedMetrics) Nodes(labels.Selector) ([]metrics.NodeMetrics, error) {
	if m.failing.Load() {
		return nil, errNothingMeasured
	}
	return []metrics.NodeMetrics{{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Usage: usageOf(3)}}, nil
}

func usageOf(n int) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(100*(n+1)), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(n+1)<<20, resource.BinarySI),
	}
}

func TestMetricsAreServed(t *testing.T) {
	source := &fixedMetrics{}
	f := start(t, Options{Metrics: source})
	client := versioned.NewForConfigOrDie(f.Config()).MetricsV1beta1()
	for _, test := range []struct {
		namespace string
		options   metav1.ListOptions
		want      []string
		reason    string
	}{
		{"", metav1.ListOptions{}, []string{"default/p c=100m d=100m", "other/p c=200m d=200m"}, "all"},
		{"other", metav1.ListOptions{}, []string{"other/p c=200m d=200m"}, "those of a namespace"},
		{"", metav1.ListOptions{LabelSelector: "n=default"}, []string{"default/p c=100m d=100m"}, "those with a label"},
		{"", metav1.ListOptions{FieldSelector: "metadata.namespace=other"}, []string{"other/p c=200m d=200m"}, "those with a field"},
		{"default", metav1.ListOptions{FieldSelector: "metadata.name=q"}, nil, "none"},
	} {
		list, err := client.PodMetricses(test.namespace).List(t.Context(), test.options)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range list.Items {
			line := p.Namespace + "/" + p.Name
			for _, c := range p.Containers {
				line += fmt.Sprintf(" %s=%s", c.Name, c.Usage.Cpu())
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
	node, err := client.NodeMetricses().Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil || node.Usage.Cpu().String() != "400m" {
		t.Errorf("the node uses %v, error %v", node.Usage, err)
	}
	if _, err := client.PodMetricses(f.namespace).Get(t.Context(), "q",
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a pod that is not there: %v", err)
	}
	source.failing.Store(true)
	if _, err := client.PodMetricses(f.namespace).Get(t.Context(), "p",
		metav1.GetOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("nothing was measured: %v", err)
	}
	if _, err := client.NodeMetricses().List(t.Context(), metav1.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("nothing was measured: %v", err)
	}
}

func TestMetricsPrintAsTables(t *testing.T) {
	f := measured.fixture(t)
	for path, want := range map[string][]any{
		"/apis/metrics.k8s.io/v1beta1/pods":                      {"p", "200m", "2Mi", "1s"},
		"/apis/metrics.k8s.io/v1beta1/namespaces/other/pods/p":   {"p", "400m", "4Mi", "1s"},
		"/apis/metrics.k8s.io/v1beta1/nodes":                     {"one", "400m", "4Mi", "0s"},
		"/apis/metrics.k8s.io/v1beta1/nodes/one":                 {"one", "400m", "4Mi", "0s"},
		"/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/p": {"p", "200m", "2Mi", "1s"},
	} {
		body, err := f.Discovery().RESTClient().Get().AbsPath(path).
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var table metav1.Table
		if err := json.Unmarshal(body, &table); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, table.Rows[0].Cells); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// The group is served if there is a source of metrics, like that of another API server, and only then.
func TestMetricsAreDiscovered(t *testing.T) {
	for _, server := range []*sharedServer{&plain, &measured} {
		f, source := server.fixture(t), server.options.Metrics
		groups, err := f.Discovery().ServerGroups()
		if err != nil {
			t.Fatal(err)
		}
		last := groups.Groups[len(groups.Groups)-1].Name
		if (last == metrics.GroupName) != (source != nil) {
			t.Errorf("metrics %v: the last group is %s", source, last)
		}
		if source == nil {
			continue
		}
		awaitServices(t, f, append(servicesOf(), "v1beta1.metrics.k8s.io"))
		document, err := f.Discovery().OpenAPIV3().Paths()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := document["apis/metrics.k8s.io/v1beta1"].Schema("application/json"); err != nil {
			t.Errorf("its OpenAPI document: %v", err)
		}
	}
}

// TestMetricsPreferTheVersionServed: clients that ask for the group alone, as kubectl top does, take the version that
// it prefers.
func TestMetricsPreferTheVersionServed(t *testing.T) {
	f := measured.fixture(t)
	data, err := f.Discovery().RESTClient().Get().AbsPath("/apis/metrics.k8s.io").SetHeader("Accept",
		"application/json").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got metav1.APIGroup
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	served := metav1.GroupVersionForDiscovery{GroupVersion: "metrics.k8s.io/v1beta1", Version: "v1beta1"}
	want := metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroup"}, Name: "metrics.k8s.io",
		Versions: []metav1.GroupVersionForDiscovery{served}, PreferredVersion: served,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the group (-want +got):\n%s", diff)
	}
}
