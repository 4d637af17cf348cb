package plan

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func pod(name, node string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": name, "generateName": "web-", "namespace": "shop", "uid": "uid-of-" + name, "resourceVersion": "7",
		},
		"spec": map[string]any{"nodeName": node},
	}}
}

// TestNamesDoNotDependOnTheOrder: pods that were created concurrently are numbered by what they are.
func TestNamesDoNotDependOnTheOrder(t *testing.T) {
	var texts [2]any
	for i, order := range [][]string{{"web-qwrtz", "web-sdfgh"}, {"web-sdfgh", "web-zxcvb"}} {
		n := newNames(time.Now())
		first, second := pod(order[0], "a"), pod(order[1], "b")
		writes := []api.Write{{After: first}, {After: second}}
		if i == 1 {
			writes[0], writes[1] = writes[1], writes[0]
		}
		n.learn(writes)
		texts[i] = []any{n.object(first).Object, n.object(second).Object, n.replace("deleted " + order[0])}
	}
	if diff := gocmp.Diff(texts[0], texts[1]); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	want := []any{
		map[string]any{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{
				"name": "web-<1>", "generateName": "web-", "namespace": "shop", "uid": "<uid of pod web-<1>>",
			},
			"spec": map[string]any{"nodeName": "a"},
		},
	}
	if diff := gocmp.Diff(want, texts[0].([]any)[:1]); diff != "" {
		t.Errorf("canonical (-want +got):\n%s", diff)
	}
}

// TestEqualPods: of pods that are otherwise equal, the youngest comes first in lists and by uid, and the eldest is
// reconciled first.
func TestEqualPods(t *testing.T) {
	n := newNames(time.Now())
	var before types.UID
	var order, keys []string
	for _, letter := range generatedLetters[:12] {
		name := "web-" + strings.Repeat(string(letter), generatedLength)
		n.learn([]api.Write{{After: pod(name, "a")}})
		uid := n.newUID(schema.GroupResource{Resource: "pods"})
		if before != "" && uid >= before {
			t.Errorf("uid %s after %s", uid, before)
		}
		before = uid
		order, keys = append(order, n.listOrder("shop", name)), append(keys, n.sortKey("shop/"+name))
	}
	if !slices.IsSortedFunc(order, func(a, b string) int { return cmp.Compare(b, a) }) {
		t.Errorf("lists do not begin with the youngest: %q", order)
	}
	if !slices.IsSorted(keys) {
		t.Errorf("keys are not in the order of creation: %q", keys)
	}
}

func TestTimes(t *testing.T) {
	began := time.Now().Add(-time.Hour)
	n := newNames(began)
	n.give(map[string]any{"until": began.Add(time.Minute).UTC().Format(time.RFC3339)})
	for _, tt := range []struct{ reason, text, want string }{
		{"after the beginning", began.Add(time.Second).UTC().Format(time.RFC3339), nowWord},
		{"in the second of the beginning", began.UTC().Format(time.RFC3339), nowWord},
		{"with parts of a second", began.Add(time.Second).UTC().Format(time.RFC3339Nano), nowWord},
		{"before it", "2020-01-02T03:04:05Z", "2020-01-02T03:04:05Z"},
		{"in the future", "2999-01-02T03:04:05Z", "2999-01-02T03:04:05Z"},
		{"given by the user", began.Add(time.Minute).UTC().Format(time.RFC3339), began.Add(time.Minute).UTC().Format(time.RFC3339)},
		{"no time", "2020-01-02Tnonsense-and-more", "2020-01-02Tnonsense-and-more"},
	} {
		if got := n.text(tt.text); got != tt.want {
			t.Errorf("%s: %q becomes %q, want %q", tt.reason, tt.text, got, tt.want)
		}
	}
}

// TestTriggerTime: when a controller saw a change of endpoints, and whether it says so, is chance.
func TestTriggerTime(t *testing.T) {
	for _, tt := range []struct {
		reason string
		kept   map[string]any
	}{{"it is the only annotation", map[string]any{}}, {"others stay", map[string]any{"a": "b"}}} {
		slice := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"}}
		slice.SetName("web-abcde")
		want := slice.DeepCopy().Object
		if len(tt.kept) > 0 {
			want["metadata"].(map[string]any)["annotations"] = tt.kept
		}
		written := map[string]string{"endpoints.kubernetes.io/last-change-trigger-time": "2020-01-02T03:04:05Z"}
		for key, value := range tt.kept {
			written[key] = value.(string)
		}
		slice.SetAnnotations(written)
		if diff := gocmp.Diff(want, newNames(time.Now()).object(slice).Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestListOrderOfGeneratedNames(t *testing.T) {
	n := newNames(time.Now())
	n.learn([]api.Write{{After: pod("web-zzzz9", "a")}})
	n.learn([]api.Write{{After: pod("web-bbbbb", "a")}})
	if n.listOrder("shop", "web-bbbbb") > n.listOrder("shop", "web-zzzz9") {
		t.Error("the younger of two pods does not come first")
	}
	if n.listOrder("shop", "web-older") != "shop/web-older" {
		t.Error("a name that was there is not itself")
	}
}

// TestInitialCauses: what else was there at the beginning is no cause beside the object itself, whose handler may not
// have known it yet.
func TestInitialCauses(t *testing.T) {
	p := New()
	watch := func(kind, name string, initial bool) trace.Cause {
		return trace.Cause{Type: trace.CauseWatch, Watch: &trace.Watch{
			Event: trace.Added, Initial: initial, Object: trace.Object{Kind: kind, Namespace: "shop", Name: name},
		}}
	}
	own, pod, later := watch("ReplicaSet", "web", true), watch("Pod", "web-x", true), watch("Pod", "web-y", false)
	for _, test := range []struct {
		reason string
		causes []trace.Cause
		want   []string
	}{
		{"the object alone", []trace.Cause{own}, []string{"web"}},
		{"with one that it owns", []trace.Cause{pod, own}, []string{"web"}},
		{"with one that came later", []trace.Cause{pod, own, later}, []string{"web-y", "web"}},
		{"without the object", []trace.Cause{pod}, []string{"web-x"}},
	} {
		var got []string
		for _, c := range p.causes(test.causes, "shop/web", false) {
			got = append(got, c.Object.Name)
		}
		if diff := gocmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// TestDelays: how long a key had to wait is told of controllers, but not of simulated nodes.
func TestDelays(t *testing.T) {
	p := New()
	timer := []trace.Cause{{Type: trace.CauseTimer, Delay: trace.Duration(time.Minute)}}
	if got := p.causes(timer, "shop/web", false); got[0].Delay != time.Minute {
		t.Errorf("a timer has waited for %s, want a minute", got[0].Delay)
	}
	if got := p.causes(timer, "shop/web-x", true); got[0].Delay != 0 {
		t.Errorf("the timer of a simulated kubelet has waited for %s, which is chance", got[0].Delay)
	}
}
