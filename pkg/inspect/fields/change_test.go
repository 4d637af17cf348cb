package fields

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func object(content map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: content}
}

// fromYAML reads an object as it would come from an API server: whole numbers are int64.
func fromYAML(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	json, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(json); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return u
}

func TestChanges(t *testing.T) {
	replicas := func(n int32) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{Status: appsv1.ReplicaSetStatus{Replicas: n}}
	}
	pod := func(conditions ...corev1.PodCondition) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Conditions: conditions}}
	}
	ready := func(s corev1.ConditionStatus) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.PodReady, Status: s}
	}
	tests := []struct {
		reason       string
		old, updated runtime.Object
		want         []string
	}{
		{"equal objects differ in nothing", replicas(3), replicas(3), nil},
		{"a number is shown with both values", replicas(1), replicas(3), []string{"status.replicas: 1 -> 3"}},
		{
			"conditions are matched by type, so that a change of order is none",
			pod(ready("False"), corev1.PodCondition{Type: "A", Status: "True"}),
			pod(corev1.PodCondition{Type: "A", Status: "True"}, ready("True")),
			[]string{"status.conditions[type=Ready].status: False -> True"},
		},
		{
			"bookkeeping changes with every write and tells nothing",
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "a"}}}},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2"}},
			nil,
		},
		{
			"the first entries of a list are shown one by one too",
			pod(), pod(ready("True")),
			[]string{"status.conditions[type=Ready].status: <none> -> True", "status.conditions[type=Ready].type: <none> -> Ready"},
		},
		{
			"a list without merge keys is shown whole",
			object(map[string]any{"spec": map[string]any{"args": []any{"a"}}}),
			object(map[string]any{"spec": map[string]any{"args": []any{"a", "b"}}}),
			[]string{`spec.args: ["a"] -> ["a","b"]`},
		},
		{
			"a key that is there twice is no merge key",
			object(map[string]any{"l": []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}}}),
			object(map[string]any{"l": []any{map[string]any{"name": "a"}}}),
			[]string{`l: [{"name":"a"},{"name":"a"}] -> [{"name":"a"}]`},
		},
		{
			"endpoints are matched by their first address",
			object(map[string]any{"endpoints": []any{
				map[string]any{"addresses": []any{"10.0.0.1"}, "ready": true}, map[string]any{"addresses": []any{"10.0.0.2"}, "ready": true},
			}}),
			object(map[string]any{"endpoints": []any{
				map[string]any{"addresses": []any{"10.0.0.2"}, "ready": false}, map[string]any{"addresses": []any{"10.0.0.1"}, "ready": true},
			}}),
			[]string{"endpoints[addresses=10.0.0.2].ready: true -> false"},
		},
		{
			"entries whose key is no plain value are not matched by it",
			object(map[string]any{"l": []any{map[string]any{"addresses": []any{}}, map[string]any{"addresses": []any{}}}}),
			object(map[string]any{"l": []any{map[string]any{"key": map[string]any{}}, map[string]any{"key": map[string]any{}}}}),
			[]string{`l: [{"addresses":[]},{"addresses":[]}] -> [{"key":{}},{"key":{}}]`},
		},
		{
			"the only entry of a list is the same as the only one before",
			object(map[string]any{"subsets": []any{map[string]any{"addresses": []any{map[string]any{"ip": "10.0.0.1"}}}}}),
			object(map[string]any{"subsets": []any{map[string]any{"addresses": []any{map[string]any{"ip": "10.0.0.2"}}}}}),
			[]string{"subsets[0].addresses[ip=10.0.0.1].ip: 10.0.0.1 -> <none>", "subsets[0].addresses[ip=10.0.0.2].ip: <none> -> 10.0.0.2"},
		},
		{
			"a key with dots is bracketed, so that its path is not read as several fields",
			object(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"example.com/x": "1"}}}),
			object(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"example.com/x": "2"}}}),
			[]string{"metadata.annotations[example.com/x]: 1 -> 2"},
		},
		{
			"a field that was added has no old value",
			object(map[string]any{}), object(map[string]any{"data": map[string]any{"k": "v"}}),
			[]string{"data.k: <none> -> v"},
		},
		{
			"a field that went has no new value",
			object(map[string]any{"data": map[string]any{"k": "v"}}), object(map[string]any{}),
			[]string{"data.k: v -> <none>"},
		},
		{
			"a value that becomes another type is shown whole",
			object(map[string]any{"x": map[string]any{"y": int64(1)}}), object(map[string]any{"x": "y"}),
			[]string{`x: {"y":1} -> y`},
		},
		{
			"apiVersion and kind are lost in informers and do not count",
			object(map[string]any{"kind": "Pod", "apiVersion": "v1"}), object(map[string]any{}),
			nil,
		},
		{"without an old version all is new", nil, object(map[string]any{"a": "b"}), []string{"a: <none> -> b"}},
		{"a typed nil is as good as none", (*corev1.Pod)(nil), object(map[string]any{"a": "b"}), []string{"a: <none> -> b"}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			changes, err := Changes(tt.old, tt.updated, Mask{Kind: schema.GroupKind{Kind: "Thing"}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range changes {
				got = append(got, c.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestChangesKeepsObjects: informers share the objects that are compared.
func TestChangesKeepsObjects(t *testing.T) {
	old := object(map[string]any{"kind": "X", "metadata": map[string]any{"resourceVersion": "1", "name": "n"}})
	before := old.DeepCopy()
	if _, err := Changes(old, object(map[string]any{"metadata": map[string]any{"name": "m"}}), Mask{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Object, old.Object); diff != "" {
		t.Errorf("the object was changed (-before +after):\n%s", diff)
	}
}
