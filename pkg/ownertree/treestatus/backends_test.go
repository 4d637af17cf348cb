package treestatus

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

func TestBackendsOf(t *testing.T) {
	service := schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	ingress := schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}
	for _, row := range []struct {
		reason string
		kind   schema.GroupVersionKind
		object string
		want   Backends
	}{
		{"a selector", service, `{spec: {selector: {app: web}}}`, Backends{Selector: map[string]string{"app": "web"}}},
		{"no selector", service, `{spec: {}}`, Backends{}},
		{"a name elsewhere", service, `{spec: {type: ExternalName, selector: {app: web}}}`, Backends{}},
		{"each backend once", ingress, `{spec: {defaultBackend: {service: {name: web}}, rules: [{host: none}, {http: {paths: [
			{backend: {service: {name: web}}}, {backend: {service: {name: api}}}, {backend: {resource: {name: bucket}}}]}}]}}`,
			Backends{Services: []string{"api", "web"}}},
		{"fields of other types", ingress, `{spec: {rules: 7}}`, Backends{}},
		{"another kind", schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, `{spec: {selector: {app: web}}}`, Backends{}},
	} {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(row.object), &obj.Object); err != nil {
			t.Fatal(err)
		}
		got := backendsOf(&cluster.Kind{GroupVersionKind: row.kind}, obj)
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
		if got.IsZero() != (len(row.want.Selector)+len(row.want.Services) == 0) {
			t.Errorf("%s: IsZero", row.reason)
		}
	}
}

// TestNoneReady: a Service is said to have no ready endpoint only if all of its slices are known.
func TestNoneReady(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}
	slice := &cluster.Kind{GroupVersionKind: gvk}
	for _, row := range []struct {
		reason string
		ready  []string // of each slice; "?" was not read
		want   string
	}{
		{"no slices", nil, ""},
		{"an empty one", []string{"0/0"}, ""},
		{"one endpoint", []string{"0/1"}, "its endpoint is not ready"},
		{"several", []string{"0/2", "0/1"}, "none of its 3 endpoints is ready"},
		{"one is ready", []string{"0/2", "1/1"}, ""},
		{"one slice was not read", []string{"0/2", "?"}, ""},
		{"no count", []string{""}, ""},
	} {
		facts := FactsByUID{}
		service := &ownertree.Node{}
		for i, ready := range row.ready {
			n := &ownertree.Node{Kind: slice, UID: types.UID(fmt.Sprint(i))}
			service.Dependents = append(service.Dependents, n)
			if ready != "?" {
				facts[n.UID] = &Facts{Report: inspect.Report{Status: inspect.Status{Ready: ready}}}
			}
		}
		if got := facts.noneReady(service); got != row.want {
			t.Errorf("%s: %q", row.reason, got)
		}
	}
}
