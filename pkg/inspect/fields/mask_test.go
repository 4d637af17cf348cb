package fields

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMask(t *testing.T) {
	const copied = "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]: <none> -> "
	annotated := metav1.ObjectMeta{Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "c2VjcmV0"}}
	of := func(apiVersion, kind string, data any) *unstructured.Unstructured {
		out := map[string]any{"data": data}
		if kind != "" {
			out["apiVersion"], out["kind"] = apiVersion, kind
		}
		return object(out)
	}
	value := func(v string) map[string]any { return map[string]any{"k": v} }
	annotation := func(name, value string) *unstructured.Unstructured {
		out := of("v1", "Secret", nil)
		out.SetAnnotations(map[string]string{name: value})
		return out
	}
	const hidden, shown = "data.k: *** -> ***", "data.k: a -> b"
	for _, tt := range []struct {
		reason       string
		mask         Mask
		old, updated runtime.Object
		want         []string
	}{
		{"a Secret by its kind", Mask{}, of("v1", "Secret", value("a")), of("v1", "Secret", value("b")), []string{hidden}},
		{"equal values do not differ", Mask{}, of("v1", "Secret", value("a")), of("v1", "Secret", value("a")), nil},
		{"that a value is new is shown", Mask{}, nil, of("v1", "Secret", value("b")), []string{"data.k: <none> -> ***"}},
		{"and that it is gone", Mask{}, of("v1", "Secret", value("a")), nil, []string{"data.k: *** -> <none>"}},
		{"one side says it", Mask{}, of("", "", value("a")), of("v1", "Secret", value("b")), []string{hidden}},
		{"data that is no map", Mask{}, of("v1", "Secret", "a"), of("v1", "Secret", []any{"b"}), []string{"data: *** -> ***"}},
		{"a ConfigMap has no secrets", Mask{}, of("v1", "ConfigMap", value("a")), of("v1", "ConfigMap", value("b")), []string{shown}},
		{"a Secret of another group is none", Mask{}, of("x.io/v1", "Secret", value("a")), of("x.io/v1", "Secret", value("b")), []string{shown}},
		{"what is not known may be one", Mask{}, of("", "", value("a")), of("", "", value("b")), []string{hidden}},
		{"the caller knows its kind", Mask{Kind: schema.GroupKind{Kind: "Secret"}}, of("", "", value("a")), of("", "", value("b")), []string{hidden}},
		{"or its resource", Mask{Resource: secretResource}, of("", "", value("a")), of("", "", value("b")), []string{hidden}},
		{"or that it is none", Mask{Resource: schema.GroupResource{Resource: "configmaps"}}, of("", "", value("a")), of("", "", value("b")), []string{shown}},
		{"the caller may be wrong", Mask{Kind: schema.GroupKind{Kind: "Pod"}}, of("v1", "Secret", value("a")), of("v1", "Secret", value("b")), []string{hidden}},
		{"what the caller names", Mask{Hides: func(path string) bool { return path == "data.k" }},
			of("v1", "ConfigMap", value("a")), of("v1", "ConfigMap", value("b")), []string{hidden}},
		{"a Secret by its type", Mask{}, &corev1.Secret{}, &corev1.Secret{ObjectMeta: annotated, Type: "t", StringData: map[string]string{"k": "v"}},
			[]string{copied + "***", "stringData.k: <none> -> ***", "type: <none> -> t"}},
		{"another type", Mask{}, &appsv1.Deployment{}, &appsv1.Deployment{ObjectMeta: annotated}, []string{copied + "c2VjcmV0"}},
		{"a token that was requested", Mask{}, &authenticationv1.TokenRequest{},
			&authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{Token: "t"}}, []string{"status.token: *** -> ***"}},
		{"metadata alone may be a Secret's", Mask{}, &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{ObjectMeta: annotated}, []string{copied + "***"}},
		{"copies that other tools keep", Mask{}, annotation("x.io/last-Applied", "a"), annotation("x.io/last-Applied", "b"),
			[]string{"metadata.annotations[x.io/last-Applied]: *** -> ***"}},
		{"in an annotation without a dot", Mask{}, annotation("applied", "a"), annotation("applied", "b"), []string{"metadata.annotations.applied: *** -> ***"}},
		{"other annotations", Mask{}, annotation("note", "a"), annotation("note", "b"), []string{"metadata.annotations.note: a -> b"}},
		{"annotations that are no map", Mask{}, object(map[string]any{"kind": "Secret", "metadata": map[string]any{"annotations": "a"}}),
			object(map[string]any{"kind": "Secret", "metadata": "b"}), []string{"metadata: *** -> ***"}},
	} {
		for _, compare := range []func(old, updated runtime.Object, mask Mask) ([]Change, error){Changes, ChangesWithOrder} {
			changes, err := compare(tt.old, tt.updated, tt.mask)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range changes {
				if c.New != nil || c.Old != nil {
					got = append(got, c.String())
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		}
	}
}

// TestMaskOfOneField: a change that is made of two values is masked like those of objects.
func TestMaskOfOneField(t *testing.T) {
	for _, tt := range []struct {
		reason string
		got    Change
		want   string
	}{
		{"of a Secret", Mask{Resource: secretResource}.Change("data.k", "a", nil), "data.k: *** -> <none>"},
		{"of something unknown", Mask{}.Change("data.k", "a", "b"), "data.k: *** -> ***"},
		{"of another kind", Mask{Kind: schema.GroupKind{Kind: "Pod"}}.Change("data.k", "a", "b"), "data.k: a -> b"},
		{"of a field that is no secret", Mask{}.Change("metadata.name", "a", "b"), "metadata.name: a -> b"},
	} {
		if tt.got.String() != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, tt.got, tt.want)
		}
	}
}

// TestCompareValues: who compares real values gets them.
func TestCompareValues(t *testing.T) {
	secret := func(v string) *unstructured.Unstructured {
		return object(map[string]any{"kind": "Secret", "data": map[string]any{"k": v}})
	}
	var got []Change
	err := CompareValues(secret("a"), secret("b"), func(path string, old, updated any) {
		got = append(got, Change{path, old, updated})
	})
	if diff := cmp.Diff([]Change{{"data.k", "a", "b"}}, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestMaskObjects(t *testing.T) {
	secret := func(data any, annotations map[string]any) map[string]any {
		return map[string]any{"kind": "Secret", "data": data, "metadata": map[string]any{"annotations": annotations}}
	}
	copied := func(text string) map[string]any { return map[string]any{"x.io/last-applied": text, "note": text} }
	for _, tt := range []struct {
		reason                             string
		old, updated, wantOld, wantUpdated map[string]any
	}{
		{
			"of values that differ it is seen that they do",
			secret(map[string]any{"same": "a", "other": "a", "gone": "a"}, copied("a")), secret(map[string]any{"same": "a", "other": "b", "new": "b"}, copied("b")),
			secret(map[string]any{"same": "***", "other": "*** (before)", "gone": "***"}, map[string]any{"x.io/last-applied": "*** (before)", "note": "a"}),
			secret(map[string]any{"same": "***", "other": "*** (after)", "new": "***"}, map[string]any{"x.io/last-applied": "*** (after)", "note": "b"}),
		},
		{
			"data that is no map", secret("a", nil), secret(map[string]any{"k": "b"}, nil),
			secret("*** (before)", nil), secret("*** (after)", nil),
		},
		{"an object that is new", nil, secret(map[string]any{"k": "b"}, nil), nil, secret(map[string]any{"k": "***"}, nil)},
		{"one that is gone", secret(map[string]any{"k": "b"}, nil), nil, secret(map[string]any{"k": "***"}, nil), nil},
		{"another kind", map[string]any{"kind": "ConfigMap", "data": map[string]any{"k": "v"}}, nil, map[string]any{"kind": "ConfigMap", "data": map[string]any{"k": "v"}}, nil},
	} {
		var objects [2]*unstructured.Unstructured
		for i, content := range []map[string]any{tt.old, tt.updated} {
			if content != nil {
				objects[i] = object(content)
			}
		}
		MaskObjects(objects[0], objects[1])
		if diff := cmp.Diff([]map[string]any{tt.wantOld, tt.wantUpdated}, []map[string]any{tt.old, tt.updated}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestIsSecret(t *testing.T) {
	for _, tt := range []struct {
		reason string
		object map[string]any
		want   bool
	}{
		{"a Secret", map[string]any{"apiVersion": "v1", "kind": "Secret"}, true},
		{"one of a later version has values too", map[string]any{"apiVersion": "v2", "kind": "Secret"}, true},
		{"a custom resource of that name", map[string]any{"apiVersion": "example.com/v1", "kind": "Secret"}, false},
		{"another kind", map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}, false},
		{"no apiVersion", map[string]any{"kind": "Secret"}, true},
		{"fields of other types", map[string]any{"apiVersion": 1, "kind": []any{"Secret"}}, false},
		{"no object", nil, false},
	} {
		if got := IsSecret(&unstructured.Unstructured{Object: tt.object}); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.reason, got, tt.want)
		}
	}
	if IsSecret(nil) {
		t.Error("nil is a Secret")
	}
}
