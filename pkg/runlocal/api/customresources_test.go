package api

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

func widgets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
}

// widgetDefinition has a default, a CEL rule, status and scale subresources and a printer column.
func widgetDefinition() *apiextensionsv1.CustomResourceDefinition {
	replicas := apiextensionsv1.JSONSchemaProps{Type: "object",
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"replicas": {Type: "integer"}}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com",
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget",
				ListKind: "WidgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas",
						StatusReplicasPath: ".status.replicas"},
				},
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Size", Type: "integer", JSONPath: ".spec.size"}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"spec": {
							Type: "object",
							Properties: map[string]apiextensionsv1.JSONSchemaProps{
								"size":     {Type: "integer", Default: &apiextensionsv1.JSON{Raw: []byte("3")}},
								"replicas": {Type: "integer"},
							},
							XValidations: apiextensionsv1.ValidationRules{{Rule: "self.size < 10", Message: "too big"}},
						},
						"status": replicas,
					},
				}},
			}},
		},
	}
}

func widget(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// define creates the definition of widgets, unless another test has on a shared server, and returns their client when they
// are served.
func define(t *testing.T, f *fixture) dynamic.ResourceInterface {
	t.Helper()
	definitions, err := apiextensionsclient.NewForConfig(f.Config())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := definitions.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), widgetDefinition(),
		metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	client := f.dynamic.Resource(widgets()).Namespace(f.namespace)
	eventually(t, "widgets are served", func(ctx context.Context) (bool, error) {
		_, err := client.List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	return client
}

func TestCustomResources(t *testing.T) {
	f := plain.fixture(t)
	client := define(t, f)
	created, err := client.Create(t.Context(), widget("w", map[string]any{"replicas": int64(2)}),
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if size, _, _ := unstructured.NestedInt64(created.Object, "spec", "size"); size != 3 {
		t.Errorf("the default is not applied: %v", created.Object["spec"])
	}
	for _, tt := range []struct {
		spec   map[string]any
		want   string
		reason string
	}{
		{map[string]any{"size": int64(20)}, "too big", "the CEL rule"},
		{map[string]any{"size": "small"}, "must be of type integer", "the schema"},
		{map[string]any{"unknown": "x"}, `unknown field "spec.unknown"`, "strict field validation, as kubectl requests"},
	} {
		_, err := client.Create(t.Context(), widget("bad", tt.spec),
			metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("creating %v: %v; want %q: %s", tt.spec, err, tt.want, tt.reason)
		}
	}
	scale, err := client.Get(t.Context(), "w", metav1.GetOptions{}, "scale")
	if err != nil {
		t.Fatal(err)
	}
	if replicas, _, _ := unstructured.NestedInt64(scale.Object, "spec", "replicas"); replicas != 2 ||
		scale.GetKind() != "Scale" {
		t.Errorf("the scale of the widget is %v", scale.Object)
	}
	if err := unstructured.SetNestedField(created.Object, int64(7), "status", "replicas"); err != nil {
		t.Fatal(err)
	}
	updated, err := client.UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if updated.GetGeneration() != 1 {
		t.Errorf("a status write has moved the generation to %d", updated.GetGeneration())
	}
	if got := f.LastEvent(schema.GroupResource{Group: "example.com", Resource: "widgets"}); got == 0 {
		t.Error("LastEvent knows nothing of the widget")
	}
	checkTable(t, f)
}

// checkTable gets widgets as kubectl get does.
func checkTable(t *testing.T, f *fixture) {
	t.Helper()
	raw, err := f.Discovery().RESTClient().Get().AbsPath("/apis/example.com/v1/namespaces/"+f.namespace+"/widgets").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	if len(table.ColumnDefinitions) != 2 || table.ColumnDefinitions[1].Name != "Size" || len(table.Rows) != 1 {
		t.Errorf("table: %s", raw)
	}
}

func TestCustomResourceServerSideApply(t *testing.T) {
	f := plain.fixture(t)
	client := define(t, f)
	apply := func(manager, spec string, force bool) (*unstructured.Unstructured, error) {
		body := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":` + spec + `}`
		return client.Patch(t.Context(), "w", types.ApplyPatchType, []byte(body),
			metav1.PatchOptions{FieldManager: manager, Force: &force})
	}
	if _, err := apply("one", `{"size":4}`, false); err != nil {
		t.Fatal(err)
	}
	if _, err := apply("two", `{"size":5}`, false); !apierrors.IsConflict(err) ||
		!strings.Contains(err.Error(), `"one"`) {
		t.Errorf("taking a field from another manager: %v, want a conflict with \"one\"", err)
	}
	if _, err := apply("two", `{"replicas":1}`, false); err != nil {
		t.Errorf("a field of one's own: %v", err)
	}
	forced, err := apply("two", `{"size":5}`, true)
	if err != nil {
		t.Fatal(err)
	}
	if size, _, _ := unstructured.NestedInt64(forced.Object, "spec", "size"); size != 5 {
		t.Errorf("forced: %v", forced.Object["spec"])
	}
}

func TestCustomResourcesInDiscoveryUntilDeleted(t *testing.T) {
	f := start(t, Options{})
	client := define(t, f)
	if _, err := client.Create(t.Context(), widget("w", map[string]any{}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	plain := func() bool {
		groups, err := f.Discovery().WithLegacy().ServerGroups()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups.Groups {
			if g.Name == "example.com" {
				return true
			}
		}
		return false
	}
	if !plain() {
		t.Error("the group is missing from /apis without aggregation")
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	if err := f.dynamic.Resource(definitions).Delete(t.Context(), "widgets.example.com",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the definition is gone with its objects", func(ctx context.Context) (bool, error) {
		_, err := f.dynamic.Resource(definitions).Get(ctx, "widgets.example.com", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	eventually(t, "the group is gone from discovery", func(context.Context) (bool, error) { return !plain(), nil })
	if _, err := client.List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("listing widgets without a definition: %v", err)
	}
}

// Custom resources are stored encoded and converted on the way out, so each served version must see every object.
func TestCustomResourceVersions(t *testing.T) {
	f := start(t, Options{})
	definition := widgetDefinition()
	older := *definition.Spec.Versions[0].DeepCopy()
	older.Name, older.Storage, older.Deprecated = "v1alpha1", false, true
	definition.Spec.Versions = append(definition.Spec.Versions, older)
	definitions, err := apiextensionsclient.NewForConfig(f.Config())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := definitions.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), definition,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	newer := f.dynamic.Resource(widgets()).Namespace(f.namespace)
	eventually(t, "widgets are served", func(ctx context.Context) (bool, error) {
		_, err := newer.Create(ctx, widget("w", map[string]any{"size": int64(5)}), metav1.CreateOptions{})
		return err == nil, nil
	})
	old, err := f.dynamic.Resource(widgets().GroupResource().WithVersion("v1alpha1")).Namespace(f.namespace).Get(t.Context(), "w", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if size, _, _ := unstructured.NestedInt64(old.Object, "spec", "size"); size != 5 ||
		old.GetAPIVersion() != "example.com/v1alpha1" {
		t.Errorf("the widget in its old version: %v", old.Object)
	}
}

func TestCustomResourceWatchConflictAndFinalizer(t *testing.T) {
	f := plain.fixture(t)
	client := define(t, f)
	w, err := client.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	held := widget("w", map[string]any{"size": int64(1)})
	held.SetFinalizers([]string{"example.com/hold"})
	created, err := client.Create(t.Context(), held, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change(t, client, created, 2, false)
	change(t, client, created, 3, true) // created is of an older version
	if err := client.Delete(t.Context(), "w", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	leaving, err := client.Get(t.Context(), "w", metav1.GetOptions{})
	if err != nil || leaving.GetDeletionTimestamp() == nil {
		t.Fatalf("a widget with a finalizer is gone: %v", err)
	}
	leaving.SetFinalizers(nil)
	if _, err := client.Update(t.Context(), leaving, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	var got []watch.EventType
	for e := range w.ResultChan() {
		if got = append(got, e.Type); e.Type == watch.Deleted {
			break
		}
	}
	if want := []watch.EventType{watch.Added, watch.Modified, watch.Modified, watch.Deleted}; !slices.Equal(got, want) {
		t.Errorf("the watch has %v, want %v", got, want)
	}
}

// change sets the size of from, which may be stale.
func change(
	t *testing.T, client dynamic.ResourceInterface, from *unstructured.Unstructured, size int64, wantConflict bool,
) {
	t.Helper()
	next := from.DeepCopy()
	if err := unstructured.SetNestedField(next.Object, size, "spec", "size"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Update(t.Context(), next, metav1.UpdateOptions{}); apierrors.IsConflict(err) != wantConflict {
		t.Errorf("setting size %d: %v, want conflict %t", size, err, wantConflict)
	}
}
