package playback

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

const widgetsDefinition = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {"name": "widgets.example.com"},
	"spec": {
		"group": "example.com", "scope": "Namespaced",
		"names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
		"versions": [{
			"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
			"additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
			"schema": {"openAPIV3Schema": {"type": "object", "properties": {
				"spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
				"status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
			}}}
		}]
	}
}`

// recordWidgets records a custom resource: its definition, an object, and a change of that. The last one is returned.
func recordWidgets(t testing.TB, withDefinitions bool) (*tape, *replay.Record) {
	t.Helper()
	config, _ := cluster(t)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	definition := &unstructured.Unstructured{}
	if err := definition.UnmarshalJSON([]byte(widgetsDefinition)); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err := client.Resource(crds).Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	widgets := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}).
		Namespace("default")
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"size": int64(1)},
	}}
	for { // until the definition is in force
		if _, err = widgets.Create(ctx, object, metav1.CreateOptions{}); err == nil {
			break
		}
		if ctx.Err() != nil || !strings.Contains(err.Error(), "could not find") {
			t.Fatal(err)
		}
	}
	p := newTape(t, config)
	if withDefinitions {
		s := stream("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
		s.Namespaced = false
		p.list(s)
	}
	s := stream("example.com", "v1", "Widget", "widgets")
	s.HasStatus = true
	number := p.list(s)
	if _, err := widgets.Patch(ctx, "a", "application/merge-patch+json", []byte(`{"spec":{"size":2}}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	return p, p.next(number)
}

func TestCustomResources(t *testing.T) {
	for _, test := range []struct {
		name        string
		definitions bool
		columns     string
		definition  int
		reason      string
	}{
		{"with their definitions", true, `"name":"Size"`, http.StatusOK, "they are as on the cluster"},
		{"alone", false, `"name":"Age"`, http.StatusNotFound, "a definition is made up, which nobody sees"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, changed := recordWidgets(t, test.definitions)
			s := serve(t, &p.Memory, Options{At: replay.Moment{Start: true}})
			if unserved := s.NotServed(); len(unserved) > 0 {
				t.Fatalf("not served: %v", unserved)
			}
			const path = "/apis/example.com/v1/namespaces/default/widgets"
			if got := ask(t, s.Config(), "GET", path+"/a", asJSON); !strings.Contains(got.Body, `"size":1`) {
				t.Fatalf("got %v: %s", got, test.reason)
			}
			if got := ask(t, s.Config(), "GET", path, asTable); !strings.Contains(got.Body, test.columns) {
				t.Errorf("table %v: %s", got, test.reason)
			}
			definition := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
			if got := ask(t, s.Config(), "GET", definition, asJSON); got.Code != test.definition {
				t.Errorf("the definition: %v: %s", got, test.reason)
			}
			groups := must[*metav1.APIGroupList](t)(clientOf(t, s.Config()).Discovery().ServerGroups())
			found := false
			for _, g := range groups.Groups {
				found = found || g.Name == "example.com"
			}
			if !found {
				t.Errorf("discovery has only %v", groups.Groups)
			}
			list := must[reply](t)(ask(t, s.Config(), "GET", path, asJSON), nil)
			version := decoded(t, []byte(list.Body))["metadata"].(map[string]any)["resourceVersion"].(string)
			events := watchRaw(t, s.Config(), path+"?watch=1&resourceVersion="+version)
			if err := s.Step(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if got, object := events.next(); got != (event{"MODIFIED", "a", changed.ResourceVersion}) ||
				!strings.Contains(string(object), `"size":2`) {
				t.Errorf("got %v %s", got, object)
			}
		})
	}
}

// TestNotServed: what cannot be served is said, and the rest is served.
func TestNotServed(t *testing.T) {
	p := &tape{TB: t}
	add := func(s replay.Stream, objects ...string) {
		s.Number = len(p.streams) + 1
		if p.streams == nil {
			p.streams = map[int]replay.Stream{}
		}
		p.streams[s.Number] = s
		p.add(&replay.Record{Type: replay.TypeStream, Stream: s.Number, NewStream: &s})
		p.add(&replay.Record{Type: replay.TypeListBegin, Stream: s.Number})
		for _, object := range objects {
			r := p.object(s.Number, []byte(object))
			r.Type = replay.TypeListItem
			p.add(r)
		}
		p.add(&replay.Record{Type: replay.TypeListEnd, Stream: s.Number, ResourceVersion: "9"})
	}
	add(stream("", "v1", "ConfigMap", "configmaps"),
		`{"metadata":{"name":"good","namespace":"default","resourceVersion":"5"}}`,
		`{"metadata":{"name":"bad","namespace":"default","resourceVersion":"6"},"data":[]}`)
	add(stream("", "v1", "Event", "events"))
	add(stream("events.k8s.io", "v1", "Event", "events"))
	add(stream("apps", "v9", "Future", "futures"))
	s := serve(t, &p.Memory, Options{})
	reasons := map[string]error{}
	for _, n := range s.NotServed() {
		reasons[n.Kind.Group+"/"+n.Resource+"/"+n.Name] = n.Err
	}
	if err := reasons["events.k8s.io/events/"]; !errors.Is(err, ErrSameObjects) {
		t.Errorf("events of two groups: %v", err)
	}
	if err := reasons["apps/futures/"]; !errors.Is(err, api.ErrNotServed) {
		t.Errorf("a kind of another version: %v", err)
	}
	if err := reasons["/configmaps/bad"]; err == nil || errors.Is(err, api.ErrNotServed) {
		t.Errorf("an object that cannot be decoded: %v", err)
	}
	if len(reasons) != 3 {
		t.Errorf("not served: %v", reasons)
	}
	for path, code := range map[string]int{
		"/api/v1/namespaces/default/configmaps/good": 200, "/api/v1/events": 200, "/apis/events.k8s.io/v1/events": 200,
		"/apis/apps/v9/futures": 404,
	} {
		if got := ask(t, s.Config(), "GET", path, asJSON); got.Code != code {
			t.Errorf("%s: %v", path, got)
		}
	}
}
