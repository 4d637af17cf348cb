package plans

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

func pod(name string, labels map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "Pod",
		"metadata": map[string]any{
			"name": name, "generateName": "web-", "namespace": "shop", "labels": labels, "resourceVersion": "1",
			"ownerReferences": []any{map[string]any{"kind": "ReplicaSet", "name": "web", "controller": true}},
		},
		"status": map[string]any{"phase": "Pending"},
	}}
}

func by(controller string, before, after *unstructured.Unstructured) write {
	w, _ := describe("shop", before, after)
	w.controller = controller
	return w
}

// TestAccountsOfWhatIsTheSame: two runs of the same controllers have the same account, whatever names were generated,
// and in whichever order a controller's concurrent requests came.
func TestAccountsOfWhatIsTheSame(t *testing.T) {
	old := pod("web-old", nil)
	one := accountOf([]write{
		by("replicaset", nil, pod("web-bcdfg", nil)), by("replicaset", nil, old),
		by("kubelet", pod("web-bcdfg", nil), nil), by("replicaset", old, pod("web-old", map[string]any{"a": "1"})),
	})
	other := accountOf([]write{
		by("replicaset", nil, old), by("replicaset", nil, pod("web-<1>", nil)),
		by("replicaset", old, pod("web-old", map[string]any{"a": "2"})), by("kubelet", pod("web-<1>", nil), nil),
	})
	if found := compareAccounts(one, other, nil); found != nil {
		t.Errorf("they differ: %v", found)
	}
	if got, want := one["order replicaset ReplicaSet/web"], []string{
		"create Pod/web-*", "create Pod/web-old", "update Pod/web-old metadata.labels",
	}; !cmp.Equal(got, want) {
		t.Errorf("order: %q, want %q", got, want)
	}
}

// TestAccountsDiffer: each of these is found.
func TestAccountsDiffer(t *testing.T) {
	a, b := pod("web-bcdfg", nil), pod("web-bcdfg", map[string]any{"a": "1"})
	status := a.DeepCopy()
	status.Object["status"] = map[string]any{"phase": "Running"}
	for _, c := range []struct {
		reason        string
		planned, done []write
		want          []string
	}{
		{"a write that is missing", []write{by("x", a, b)}, nil, []string{"history Pod/web-*", "order x ReplicaSet/web"}},
		{
			"by another controller", []write{by("kubelet", a, b)}, []write{by("scheduler", a, b)}, []string{"history Pod/web-*"},
		},
		{
			"in another order", []write{by("x", a, b), by("x", a, nil)}, []write{by("x", a, nil), by("x", a, b)},
			[]string{"history Pod/web-*", "order x ReplicaSet/web"},
		},
		{"a status", nil, []write{by("x", a, status)}, []string{"status x Pod/web-*"}},
		{
			"twice as many", []write{by("kubelet", nil, a)},
			[]write{by("kubelet", nil, a), by("kubelet", nil, pod("web-zzzzz", nil))}, []string{"history Pod/web-*"},
		},
		{"a refusal", []write{{controller: "x", verb: creates, code: 403}}, nil, []string{"refused x create 403"}},
	} {
		var got []string
		for _, d := range compareAccounts(accountOf(c.planned), accountOf(c.done), nil) {
			got = append(got, d.At)
		}
		if !cmp.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

// TestChangesOfEndpoints: neither the order of endpoints nor since when they are what they are is a change.
func TestChangesOfEndpoints(t *testing.T) {
	slice := func(since string, pods ...string) map[string]any {
		var endpoints []any
		for _, name := range pods {
			endpoints = append(endpoints, map[string]any{"targetRef": map[string]any{"name": name}})
		}
		annotations := map[string]any{"endpoints.kubernetes.io/last-change-trigger-time": since}
		return map[string]any{"metadata": map[string]any{"annotations": annotations}, "endpoints": endpoints}
	}
	if got := changedFields(slice("1", "a", "b"), slice("2", "b", "a")); got != nil {
		t.Errorf("what is chance is a change: %q", got)
	}
	if got, want := changedFields(slice("1", "a", "b"), slice("1", "a", "c")), []string{"endpoints"}; !cmp.Equal(got, want) {
		t.Errorf("another endpoint: %q, want %q", got, want)
	}
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		as            string
		planned, done []string
		same          bool
	}{
		{scenarios.Exact, []string{"1", "2"}, []string{"2", "1"}, false},
		{scenarios.Presence, []string{"1", "2", "2"}, []string{"2", "1"}, true},
		{scenarios.Presence, []string{"1"}, []string{"2", "1"}, false},
		{scenarios.Ends, []string{"0", "2", "4"}, []string{"0", "1", "3", "4"}, true},
		{scenarios.Ends, []string{"0", "4"}, []string{"0", "3"}, false},
		{scenarios.Ends, []string{"0", "4"}, nil, false},
		{scenarios.Ignored, []string{"1"}, nil, true},
	} {
		rules := []scenarios.Rule{{At: "sizes *", As: c.as, Reason: "test"}}
		found := compareAccounts(account{"sizes x": c.planned}, account{"sizes x": c.done}, rules)
		if (len(found) == 0) != c.same {
			t.Errorf("%s of %q and %q: %v", c.as, c.planned, c.done, found)
		}
	}
}

// TestTrim: what a plan does not say of an object is left out of the one of a cluster.
func TestTrim(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"kind": "Pod",
		"metadata": map[string]any{
			"name": "a", "resourceVersion": "7", "generation": int64(2),
			"annotations": map[string]any{
				"kubectl.kubernetes.io/last-applied-configuration": "{}",
				"endpoints.kubernetes.io/last-change-trigger-time": "2026-01-02T03:04:05Z",
			},
		},
		"spec": map[string]any{
			"volumes": []any{map[string]any{"name": "z", "emptyDir": map[string]any{}}, map[string]any{"name": "a"}},
			"addresses": []any{
				map[string]any{"ip": "1", "targetRef": map[string]any{"name": "web-z"}},
				map[string]any{"ip": "2", "targetRef": map[string]any{"name": "web-a"}},
			},
		},
	}}
	o := &scenarios.Outcome{Objects: []scenarios.Object{{Resource: "pods", Unstructured: object}}}
	trim(o)
	want := map[string]any{
		"kind": "Pod", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{
			"volumes": []any{map[string]any{"name": "a"}, map[string]any{"name": "z"}},
			"addresses": []any{
				map[string]any{"ip": "2", "targetRef": map[string]any{"name": "web-a"}},
				map[string]any{"ip": "1", "targetRef": map[string]any{"name": "web-z"}},
			},
		},
	}
	if diff := cmp.Diff(want, o.Objects[0].Object); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
