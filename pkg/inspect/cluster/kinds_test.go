package cluster

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var allVerbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

func resource(name, singular, kind string, namespaced bool, more ...string) metav1.APIResource {
	return metav1.APIResource{Name: name, SingularName: singular, Kind: kind, Namespaced: namespaced, Verbs: allVerbs, ShortNames: more}
}

// someKinds are served by a server that has much in common with real ones.
func someKinds() *Kinds {
	in := func(r metav1.APIResource, categories ...string) metav1.APIResource {
		r.Categories = categories
		return r
	}
	readOnly := resource("componentstatuses", "componentstatus", "ComponentStatus", false, "cs")
	readOnly.Verbs = metav1.Verbs{"get", "list"}
	resources := map[schema.GroupVersion]*metav1.APIResourceList{
		{Version: "v1"}: {APIResources: []metav1.APIResource{
			in(resource("pods", "pod", "Pod", true, "po"), "all"), {Name: "pods/status", Kind: "Pod"}, {Name: "pods/log", Kind: "Pod"},
			resource("events", "event", "Event", true, "ev"), resource("namespaces", "namespace", "Namespace", false, "ns"), readOnly,
			in(resource("services", "service", "Service", true, "svc"), "all"),
		}},
		{Group: "apps", Version: "v1"}: {APIResources: []metav1.APIResource{
			in(resource("deployments", "deployment", "Deployment", true, "deploy"), "all"), {Name: "deployments/status", Kind: "Deployment"},
		}},
		{Group: "autoscaling", Version: "v2"}: {APIResources: []metav1.APIResource{resource("horizontalpodautoscalers", "horizontalpodautoscaler", "HorizontalPodAutoscaler", true, "hpa")}},
		{Group: "autoscaling", Version: "v1"}: {APIResources: []metav1.APIResource{
			resource("horizontalpodautoscalers", "horizontalpodautoscaler", "HorizontalPodAutoscaler", true, "hpa"), resource("oldtimers", "oldtimer", "OldTimer", true),
		}},
		{Group: "events.k8s.io", Version: "v1"}:   {APIResources: []metav1.APIResource{resource("events", "event", "Event", true, "ev")}},
		{Group: "serving.dev", Version: "v1"}:     {APIResources: []metav1.APIResource{resource("services", "service", "Service", true, "ksvc")}},
		{Group: "storage.k8s.io", Version: "v1"}:  {APIResources: []metav1.APIResource{resource("storageclasses", "", "StorageClass", false, "sc")}},
		{Group: "twins.dev", Version: "v1"}:       {APIResources: []metav1.APIResource{resource("first", "first", "Twin", true), resource("second", "second", "Twin", true)}},
		{Group: "apps.kruise.io", Version: "v1a"}: {APIResources: []metav1.APIResource{resource("clonesets", "cloneset", "CloneSet", true, "deployments")}},
	}
	group := func(name string, versions ...string) metav1.APIGroup {
		g := metav1.APIGroup{Name: name, PreferredVersion: metav1.GroupVersionForDiscovery{Version: versions[0]}}
		for _, v := range slices.Sorted(slices.Values(versions)) {
			g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{Version: v})
		}
		return g
	}
	groups := []metav1.APIGroup{
		group("apps.kruise.io", "v1a"), group("apps", "v1"), group("autoscaling", "v2", "v1"), group("events.k8s.io", "v1"), group("serving.dev", "v1"),
		group("storage.k8s.io", "v1"), group("twins.dev", "v1"), group("", "v1"),
	}
	return newKinds(groups, resources, map[schema.GroupVersion]error{
		{Group: "metrics.k8s.io", Version: "v1beta1"}: errors.New("stale"), {Group: "apps", Version: "v2"}: errors.New("down"),
	})
}

func gvr(k Kind) string { return k.Group + "/" + k.Version + "/" + k.Resource }

func TestResolve(t *testing.T) {
	kinds := someKinds()
	for _, tt := range []struct{ arg, want, reason string }{
		{"pods", "/v1/pods", "the plural"},
		{"pod", "/v1/pods", "the singular"},
		{"po", "/v1/pods", "the short name"},
		{"Pod", "/v1/pods", "the kind"},
		{"PO", "/v1/pods", "case does not matter"},
		{"svc", "/v1/services", "a short name"},
		{"services", "/v1/services", "the core group comes first, whatever the order of the server"},
		{"services.serving.dev", "serving.dev/v1/services", "the group tells two apart"},
		{"services.v1.serving.dev", "serving.dev/v1/services", "version and group"},
		{"Service.v1.serving.dev", "serving.dev/v1/services", "kind, version and group"},
		{"pods.v1.", "/v1/pods", "the core group has no name"},
		{"deployments", "apps/v1/deployments", "a full name goes before a short one of an earlier group"},
		{"deployment.apps", "apps/v1/deployments", "the group itself goes before one that begins so"},
		{"deploy.app", "apps/v1/deployments", "the beginning of a group, and a short name"},
		{"cloneset.apps", "apps.kruise.io/v1a/clonesets", "the beginning of a group"},
		{"storageclass.storage", "storage.k8s.io/v1/storageclasses", "a singular that the server does not tell"},
		{"hpa", "autoscaling/v2/horizontalpodautoscalers", "the preferred version"},
		{"hpa.v1.autoscaling", "autoscaling/v1/horizontalpodautoscalers", "another version"},
		{"oldtimers", "autoscaling/v1/oldtimers", "what only another version has"},
		{"events", "/v1/events", "two groups have it"},
		{"twin", "twins.dev/v1/first", "the kind where no resource has the name; of two the first"},
	} {
		got, err := kinds.Resolve(tt.arg)
		if err != nil || gvr(got) != tt.want {
			t.Errorf("Resolve(%q) = %s, %v; want %s: %s", tt.arg, gvr(got), err, tt.want, tt.reason)
		}
	}
}

func TestResolveUnknown(t *testing.T) {
	kinds := someKinds()
	for _, arg := range []string{"", ".", "..", "deploymnt", "pods.apps", "pods.v2.", "nodes.metrics.k8s.io", "all", "pods/status"} {
		_, err := kinds.Resolve(arg)
		var unknown *UnknownKindError
		if !errors.As(err, &unknown) || unknown.Name != arg {
			t.Errorf("Resolve(%q): %v, want an UnknownKindError of that name", arg, err)
			continue
		}
		for _, name := range []string{"pods", "pod", "po", "all", "deployments"} {
			if !slices.Contains(unknown.Known, name) {
				t.Errorf("Resolve(%q) does not know %q", arg, name)
			}
		}
		if len(unknown.Incomplete) != 2 {
			t.Errorf("Resolve(%q) does not say that two groups are not known: %v", arg, unknown.Incomplete)
		}
	}
}

func TestResolveAll(t *testing.T) {
	kinds := someKinds()
	for _, tt := range []struct {
		arg  string
		want []string
	}{
		{"all", []string{"/v1/pods", "/v1/services", "apps/v1/deployments"}},
		{"ALL", []string{"/v1/pods", "/v1/services", "apps/v1/deployments"}},
		{"po", []string{"/v1/pods"}},
		{"nothing", nil},
	} {
		all, err := kinds.ResolveAll(tt.arg)
		var got []string
		for _, k := range all {
			got = append(got, gvr(k))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != (tt.want == nil) {
			t.Errorf("ResolveAll(%q): %v (-want +got):\n%s", tt.arg, err, diff)
		}
	}
}

func TestAllAndCollected(t *testing.T) {
	kinds := someKinds()
	var all, collected []string
	for _, k := range kinds.All() {
		all = append(all, gvr(k))
	}
	for _, k := range kinds.Collected() {
		collected = append(collected, k.String())
	}
	wantAll := []string{
		"apps.kruise.io/v1a/clonesets", "/v1/componentstatuses", "apps/v1/deployments", "/v1/events", "events.k8s.io/v1/events",
		"autoscaling/v2/horizontalpodautoscalers", "/v1/namespaces", "autoscaling/v1/oldtimers", "/v1/pods", "/v1/services",
		"serving.dev/v1/services", "storage.k8s.io/v1/storageclasses", "twins.dev/v1/first", "twins.dev/v1/second",
	}
	wantCollected := []string{
		"cloneset.apps.kruise.io", "deployment.apps", "horizontalpodautoscaler.autoscaling", "namespace", "oldtimer.autoscaling", "pod", "service",
		"service.serving.dev", "storageclass.storage.k8s.io", "twin.twins.dev", "twin.twins.dev",
	}
	if diff := cmp.Diff(wantAll, all); diff != "" {
		t.Errorf("all kinds, each in one version (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantCollected, collected); diff != "" {
		t.Errorf("what the garbage collector watches: no Events, nothing that cannot be deleted (-want +got):\n%s", diff)
	}
	for _, k := range kinds.All() {
		if want := k.Resource == "pods" || k.Resource == "deployments"; k.HasStatus != want {
			t.Errorf("%s has status: %v", k, k.HasStatus)
		}
	}
}

func TestLookup(t *testing.T) {
	kinds := someKinds()
	for _, tt := range []struct {
		apiVersion, kind string
		want             string
		unknown          bool
		reason           string
	}{
		{"v1", "Pod", "/v1/pods", false, "a kind of the core group"},
		{"v1", "pod", "/v1/pods", false, "the mapper knows lower case too"},
		{"v1", "POD", "", false, "but no other case"},
		{"apps/v1", "Deployment", "apps/v1/deployments", false, "a kind of a group"},
		{"autoscaling/v1", "HorizontalPodAutoscaler", "autoscaling/v1/horizontalpodautoscalers", false, "a version that is not preferred"},
		{"autoscaling/v3", "HorizontalPodAutoscaler", "", false, "a version that is not served"},
		{"apps/v2", "Deployment", "", true, "a version whose discovery failed"},
		{"metrics.k8s.io/v1beta1", "NodeMetrics", "", true, "a group whose discovery failed"},
		{"metrics.k8s.io/v1", "NodeMetrics", "", false, "of that group another version is not known to fail"},
		{"twins.dev/v1", "Twin", "twins.dev/v1/second", false, "of two resources the last"},
		{"v1", "PodList", "/v1/podlists", false, "a list is taken for a kind"},
		{"v1", "NoSuchList", "", false, "a list of nothing"},
		{"", "Pod", "/v1/pods", false, "no version"},
		{"a/b/c", "Pod", "/v1/pods", false, "an unreadable version is taken for none"},
		{"v1", "", "", false, "no kind"},
	} {
		got, ok, err := kinds.Lookup(schema.FromAPIVersionAndKind(tt.apiVersion, tt.kind))
		if ok != (tt.want != "") || ok && gvr(got) != tt.want || (err != nil) != tt.unknown {
			t.Errorf("Lookup(%s %s) = %s, %v, %v; want %q: %s", tt.apiVersion, tt.kind, gvr(got), ok, err, tt.want, tt.reason)
		}
	}
}

// TestKindsWith: kinds of others are found by their names, and take no other's place.
func TestKindsWith(t *testing.T) {
	pod := Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: "pods", ShortNames: []string{"po"}}
	old := Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1beta1", Kind: "Pod"}, Resource: "pods"}
	node := Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Node"}, Resource: "nodes"}
	kinds := (&Kinds{}).With([]Kind{pod})
	both := kinds.With([]Kind{old, node})
	for _, tt := range []struct {
		reason string
		kinds  *Kinds
		want   []string
	}{
		{"those that it had are not changed", kinds, []string{"v1 Pod"}},
		{"another kind, and no other version", both, []string{"v1 Node", "v1 Pod"}},
	} {
		var got []string
		for _, kind := range tt.kinds.All() {
			got = append(got, kind.Version+" "+kind.Kind)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.reason, got, tt.want)
		}
	}
	if kind, err := both.Resolve("po"); err != nil || kind.Version != "v1" {
		t.Errorf("po is %v: %v", kind, err)
	}
}
