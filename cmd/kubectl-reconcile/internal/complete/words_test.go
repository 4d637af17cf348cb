package complete

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// source has two Deployments and a Pod in namespace shop, a Node, and Events of two groups.
type source struct{}

func (source) Namespace(context.Context) string    { return "shop" }
func (source) Namespaces(context.Context) []string { return []string{"shop"} }

func (source) Kinds(context.Context) []cluster.Kind {
	kind := func(group, name, resource, short string, namespaced bool) cluster.Kind {
		k := cluster.Kind{
			GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: name}, Resource: resource,
			Namespaced: namespaced, ShortNames: strings.Fields(short),
		}
		if group == "apps" {
			k.Categories = []string{"all"}
		}
		return k
	}
	return []cluster.Kind{
		kind("apps", "Deployment", "deployments", "deploy", true), kind("apps", "StatefulSet", "statefulsets", "sts", true),
		kind("", "Event", "events", "ev", true), kind("events.k8s.io", "Event", "events", "ev", true),
		kind("", "Node", "nodes", "no", false), kind("", "Pod", "pods", "po", true),
	}
}

func (s source) Resolve(ctx context.Context, word string) []cluster.Kind {
	var out []cluster.Kind
	for _, k := range s.Kinds(ctx) {
		if word == k.Resource || word == strings.Join(k.ShortNames, "") || word == strings.Join(k.Categories, "") {
			out = append(out, k)
		}
	}
	return out
}

func (source) Names(_ context.Context, t cluster.Target) []string {
	return map[string][]string{
		"shop/deployments": {"web", "db"}, "shop/pods": {"web-1"}, "/nodes": {"node-0"}, "/pods": {"web-1", "dns"},
	}[t.Namespace+"/"+t.Kind.Resource]
}

func (source) Object(_ context.Context, t cluster.Target, name string) *unstructured.Unstructured {
	if t.Kind.Kind != "Deployment" || name != "web" || t.Namespace != "shop" {
		return nil
	}
	return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(1)}}}
}

func TestTargets(t *testing.T) {
	for _, tt := range []struct {
		reason, namespace, args, typed string
		want                           []string
	}{
		{"a type: categories are some; two that share a name have their group", "shop", "", "", []string{
			"all", "deployments", "events", "events.events.k8s.io", "nodes", "pods", "statefulsets"}},
		{"a short name that begins no type", "shop", "", "st", []string{
			"all", "deployments", "events", "events.events.k8s.io", "nodes", "pods", "statefulsets"}},
		{"a short name", "shop", "", "sts", []string{"deploy", "deployment", "ev", "event", "no", "node", "po", "pod", "statefulset", "sts"}},
		{"a group", "shop", "", "deployments.", []string{"all", "deployments.apps", "events", "events.events.k8s.io", "nodes", "pods", "statefulsets.apps"}},
		{"another type", "shop", "", "pods,", []string{
			"pods,all", "pods,deployments", "pods,events", "pods,events.events.k8s.io", "pods,nodes", "pods,statefulsets"}},
		{"names", "shop", "deploy", "", []string{"db", "web"}},
		{"a further name", "shop", "deploy web", "", []string{"db"}},
		{"names of two types", "shop", "deploy,po", "", []string{"db", "web", "web-1"}},
		{"names in all namespaces", "", "po", "", []string{"dns", "web-1"}},
		{"names in another namespace", "other", "po", "", nil},
		{"names of what is in no namespace", "shop", "no", "", []string{"node-0"}},
		{"a type that there is not", "shop", "nothing", "", nil},
		{"a category has too many kinds", "shop", "all", "", nil},
		{"a type and a name", "shop", "", "deploy/", []string{"deploy/db", "deploy/web"}},
		{"a further one", "shop", "deploy/web", "deploy/", []string{"deploy/db"}},
		{"its type: nothing else is allowed", "shop", "deploy/web", "po", []string{
			"deployments/", "events/", "events.events.k8s.io/", "nodes/", "pods/", "statefulsets/"}},
	} {
		got := Targets(t.Context(), source{}, tt.namespace, strings.Fields(tt.args), tt.typed)
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestSelections(t *testing.T) {
	for _, tt := range []struct {
		reason, args, typed string
		want                []string
	}{
		{"the only argument", "", "no", []string{"deployments", "events", "events.events.k8s.io", "everything", "nodes", "pods", "statefulsets"}},
		{"a further one", "pods", "no", []string{"all", "deployments", "events", "events.events.k8s.io", "nodes", "statefulsets"}},
		{"a list", "", "pods,deploy/", []string{"pods,deploy/db", "pods,deploy/web"}},
		{"what is there", "deploy/db", "pods,deploy/web,deploy/", nil},
	} {
		more := []string{"everything"}
		if tt.args == "" && tt.typed == "no" {
			more = append(more, "all")
			tt.want = append([]string{"all"}, tt.want...)
		}
		got := Selections(t.Context(), source{}, "shop", strings.Fields(tt.args), tt.typed, more...)
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestFields(t *testing.T) {
	for _, tt := range []struct {
		reason, args string
		want         []string
	}{
		{"TYPE/NAME", "deploy/web", []string{"spec.replicas"}},
		{"TYPE NAME", "deploy web", []string{"spec.replicas"}},
		{"no object", "deploy", nil},
		{"nothing", "", nil},
		{"another object", "deploy/db", nil},
		{"several", "deploy web db", nil},
		{"a type that there is not", "nothing/web", nil},
	} {
		got := Fields(t.Context(), source{}, "shop", strings.Fields(tt.args), "spec.")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestGroupVersionKinds(t *testing.T) {
	want := []string{"apps/v1/Deployment", "apps/v1/StatefulSet", "core/v1/Event", "core/v1/Node", "core/v1/Pod", "events.k8s.io/v1/Event"}
	if diff := cmp.Diff(want, GroupVersionKinds(t.Context(), source{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
