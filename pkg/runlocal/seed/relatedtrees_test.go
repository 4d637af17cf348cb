package seed

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// roundTripper is a function that sends requests.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// configMap is the kind of ConfigMaps.
var configMap = cluster.Kind{
	GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Resource: "configmaps", Namespaced: true,
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}

// uidOf returns the uid of a Deployment of the namespace shop.
func uidOf(t *testing.T, config *rest.Config, name string) types.UID {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(config)
	d, err := client.AppsV1().Deployments("shop").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.UID
}

// owned is the metadata of an object of the namespace shop with one owner.
func owned(name, apiVersion, kind, owner string, uid types.UID) string {
	return fmt.Sprintf("metadata: {name: %s, namespace: shop, ownerReferences: [{apiVersion: %s, kind: %s, name: %s, "+
		"uid: %s}]}", name, apiVersion, kind, owner, uid)
}

// TestReadRelatedTrees: trees of owners are copied whole or not at all, with what is no workload in them.
func TestReadRelatedTrees(t *testing.T) {
	config := servers.Server(t, nil).Config()
	create(t, config, shop)
	makeFamily(t, config, "web", nil)
	makeFamily(t, config, "api", nil)
	create(t, config, "apiVersion: v1\nkind: Service\n"+
		owned("front", "apps/v1", "Deployment", "web", uidOf(t, config, "web"))+"\nspec: {ports: [{port: 80}]}")
	client := kubernetes.NewForConfigOrDie(config)
	front, err := client.CoreV1().Services("shop").Get(t.Context(), "front", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	create(t, config, "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\nendpoints: []\n"+
		owned("front-1", "v1", "Service", "front", front.UID)+`
---
apiVersion: apps/v1
kind: Deployment
`+owned("lower", "v1", "Service", "front", front.UID)+`
spec: {selector: {matchLabels: {app: lower}}, template: {metadata: {labels: {app: lower}}, spec: {containers: [{name: c, image: i}]}}}`)
	whole := []string{
		"deployments shop/lower", "deployments shop/web", "endpointslices shop/front-1", "replicasets shop/web-1",
		"services shop/front", "services shop/web",
	}
	for _, tt := range []struct {
		reason, root string
		want         []string
		unrelated    int
	}{
		{"none of a tree that is left out: not what objects own that are no workloads", "api", []string{
			"deployments shop/api", "replicasets shop/api-1", "services shop/web",
		}, 8},
		{"down through what is no workload", "web", whole, 5},
		{"up through what is no workload", "lower", whole, 5},
	} {
		c := mustRead(t, config, Options{
			Namespaces: []string{"shop"}, Related: []Related{{Root: Root{deployment, "shop", tt.root}}},
		})
		got := keys(c, "deployments", "endpointslices", "replicasets", "services")
		if diff := cmp.Diff(tt.want, sorted(got)); diff != "" || c.Unrelated != tt.unrelated {
			t.Errorf("%s: %d unrelated, want %d (-want +got):\n%s", tt.reason, c.Unrelated, tt.unrelated, diff)
		}
		if got, want := len(keys(c, "ipaddresses")), len(keys(c, "services")); got != want {
			t.Errorf("%s: %d addresses of %d Services", tt.reason, got, want)
		}
	}
}

// TestReadOwnersOfChange: the owners that an object is to have must be there, too.
func TestReadOwnersOfChange(t *testing.T) {
	config := servers.Server(t, nil).Config()
	create(t, config, shop)
	makeFamily(t, config, "web", nil)
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	object.SetName("more")
	object.SetNamespace("shop")
	object.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: uidOf(t, config, "web")},
	})
	c := mustRead(t, config, Options{Namespaces: []string{"shop"}, Related: []Related{
		{Root: Root{configMap, "shop", "more"}, Object: object},
	}})
	if len(keys(c, "deployments", "replicasets", "pods")) != 3 || c.Unrelated != 0 {
		t.Errorf("%d unrelated: %v", c.Unrelated, c.Counts())
	}
}

// TestReadOrphans: ReplicaSets and ControllerRevisions without an owner are adopted by those that select them.
func TestReadOrphans(t *testing.T) {
	config := servers.Server(t, nil).Config()
	create(t, config, shop)
	set := func(name, app string) string {
		return fmt.Sprintf(`apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: %s, namespace: shop, labels: {app: %s}}
spec: {replicas: 0, selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: %s}}, spec: {containers: [{name: c, image: i}]}}}`,
			name, app, app, app)
	}
	revision := func(name, app string) string {
		return fmt.Sprintf("apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: %s, namespace: shop, "+
			"labels: {app: %s}}\ndata: {a: b}\nrevision: 1", name, app)
	}
	create(t, config, strings.Join([]string{
		set("web-1", "web"), set("web-2", "web"), set("db-1", "db"), set("other-1", "other"),
		revision("web-3", "web"), revision("db-2", "db"),
	}, "\n---\n"))
	applied := func(kind, app string) *unstructured.Unstructured {
		labels := map[string]any{"app": app}
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": app, "namespace": "shop"},
			"spec": map[string]any{
				"selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{"metadata": map[string]any{"labels": labels}},
			},
		}}
	}
	for _, tt := range []struct {
		reason  string
		related Related
		want    []string
	}{
		{"a Deployment adopts ReplicaSets",
			Related{Root{deployment, "shop", "web"}, applied("Deployment", "web")},
			[]string{"replicasets shop/web-1", "replicasets shop/web-2"}},
		{"a StatefulSet adopts ControllerRevisions",
			Related{Root{appsKind("StatefulSet", "statefulsets"), "shop", "db"}, applied("StatefulSet", "db")},
			[]string{"controllerrevisions shop/db-2"}},
		{"and so does a DaemonSet",
			Related{Root{appsKind("DaemonSet", "daemonsets"), "shop", "web"}, applied("DaemonSet", "web")},
			[]string{"controllerrevisions shop/web-3"}},
	} {
		c := mustRead(t, config, Options{Namespaces: []string{"shop"}, Related: []Related{tt.related}})
		if diff := cmp.Diff(tt.want, sorted(keys(c, "replicasets", "controllerrevisions"))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// isMetadataList reports whether a request is that of a list of metadata.
func isMetadataList(req *http.Request) bool {
	return strings.Contains(req.Header.Get("Accept"), "PartialObjectMetadataList")
}

// TestReadAllAfterUnreadableMetadata: what could be read at last is not incomplete.
func TestReadAllAfterUnreadableMetadata(t *testing.T) {
	config := servers.Server(t, nil).Config()
	create(t, config, shop)
	makeFamily(t, config, "web", nil)
	failing := rest.CopyConfig(config)
	failing.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if isMetadataList(req) && strings.HasSuffix(req.URL.Path, "/pods") {
				return &http.Response{
					StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody, Request: req,
				}, nil
			}
			return next.RoundTrip(req)
		})
	})
	o := Options{Namespaces: []string{"shop"}, Related: []Related{{Root: Root{deployment, "shop", "web"}}}}
	if c := mustRead(t, failing, o); len(c.Incomplete) != 1 || c.Incomplete[0].Resource != "pods" {
		t.Errorf("pods that could not be listed: %v", c.Incomplete)
	}
	create(t, config, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: shop}\nspec: {hard: {pods: 9}}")
	if c := mustRead(t, failing, o); len(c.Incomplete) > 0 || len(keys(c, "pods")) != 1 {
		t.Errorf("all pods were read, and yet it is incomplete: %v", c.Incomplete)
	}
}

// TestReadRelatedByLists: many workloads of a kind are read by lists, few one by one.
func TestReadRelatedByLists(t *testing.T) {
	const many = 30
	config := servers.Server(t, nil).Config()
	create(t, config, shop)
	create(t, config, "apiVersion: v1\nkind: Service\nmetadata: {name: all, namespace: shop}\n"+
		"spec: {selector: {tier: back}, ports: [{port: 80}]}")
	for i := range many {
		makeFamily(t, config, fmt.Sprintf("back-%02d", i), map[string]string{"tier": "back"})
	}
	makeFamily(t, config, "front", nil)
	var mu sync.Mutex
	var single, lists int
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if _, name, found := strings.Cut(req.URL.Path, "/pods"); found && !isMetadataList(req) {
				if name != "" {
					single++
				} else if req.URL.Query().Get("fieldSelector") == "" {
					lists++
				}
			}
			return next.RoundTrip(req)
		})
	})
	for _, tt := range []struct {
		root                string
		pods, single, lists int
	}{
		{"front", 1, 1, 0},
		{"back-00", many, 1, 1},
	} {
		single, lists = 0, 0
		c := mustRead(t, counted, Options{
			Namespaces: []string{"shop"}, Related: []Related{{Root: Root{deployment, "shop", tt.root}}},
		})
		if got := len(keys(c, "pods")); got != tt.pods || single != tt.single || lists != tt.lists {
			t.Errorf("%s: %d pods by %d requests and %d lists, want %d by %d and %d", tt.root, got, single, lists,
				tt.pods, tt.single, tt.lists)
		}
	}
}

// TestTooManyMembers: metadata of workloads that are not copied count, too, but for less.
func TestTooManyMembers(t *testing.T) {
	ended := false
	r := &reading{limit: 2, related: newRelated(), cancel: func(error) { ended = true }}
	for i := range 2*membersPerObject + 1 {
		if ended {
			t.Fatalf("it ended after %d", i)
		}
		r.related.members[types.UID(fmt.Sprint(i))] = &member{}
		r.countMember()
	}
	if !ended {
		t.Error("there is no bound")
	}
}

// TestManyWorkloadsOfOneOwner: the time to find what belongs together is not that of the square of its size.
func TestManyWorkloadsOfOneOwner(t *testing.T) {
	const many = 100_000
	c := newRelated()
	for i := range many {
		uid := types.UID(fmt.Sprint("pod-", i))
		c.members[uid] = &member{}
		c.link(uid, []metav1.OwnerReference{{UID: "set"}})
	}
	c.want("pod-0")
	if len(c.wanted) != many+1 {
		t.Errorf("%d are wanted", len(c.wanted))
	}
}

// TestDropOwnersOfEachOther: workloads that own each other, which the API permits, are dropped once, with what they own.
func TestDropOwnersOfEachOther(t *testing.T) {
	r := &reading{related: newRelated(), objects: map[key]Object{}, uids: map[types.UID]bool{}}
	pods := &group{target: cluster.Target{Kind: cluster.Kind{Resource: "pods"}, Namespace: "shop"}}
	for _, name := range []types.UID{"a", "b"} {
		r.related.members[name] = &member{group: pods, name: string(name)}
	}
	r.related.link("a", []metav1.OwnerReference{{UID: "b"}})
	r.related.link("b", []metav1.OwnerReference{{UID: "a"}})
	r.related.link("settings", []metav1.OwnerReference{{UID: "a"}, {UID: "b"}})
	settings := key{configMap.GroupResource(), "shop", "settings"}
	r.objects[settings] = Object{Kind: configMap, Namespace: "shop", Name: "settings", UID: "settings"}
	if err := r.dropUnrelated(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.objects) > 0 || !r.unrelated[settings] || r.skipped != 3 {
		t.Errorf("left are %v; %d were dropped, want 3: %v", r.objects, r.skipped, r.unrelated)
	}
}

// TestDropDependents: what depends on something that is not copied would be changed by controllers in the copy.
func TestDropDependents(t *testing.T) {
	config := servers.Server(t, nil).Config()
	create(t, config, shop)
	makeFamily(t, config, "web", nil)
	makeFamily(t, config, "api", nil)
	create(t, config, `apiVersion: v1
kind: Service
metadata: {name: back, namespace: shop}
spec: {selector: {app: api}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: back, namespace: shop}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: back-1, namespace: shop, labels: {kubernetes.io/service-name: back}}
addressType: IPv4
endpoints: []
---
apiVersion: v1
kind: Service
metadata: {name: nothing, namespace: shop}
spec: {selector: {app: nothing}, ports: [{port: 80}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: back, namespace: shop}
spec: {minAvailable: 1, selector: {matchLabels: {app: api}}}`)
	for _, tt := range []struct {
		reason, root string
		want         []string
	}{
		{"with what selects its pods", "api", []string{
			"endpoints shop/back", "endpointslices shop/back-1", "horizontalpodautoscalers shop/api",
			"poddisruptionbudgets shop/back", "services shop/back", "services shop/nothing",
		}},
		{"without what selects others", "web", []string{"horizontalpodautoscalers shop/web", "services shop/nothing"}},
	} {
		c := mustRead(t, config, Options{
			Namespaces: []string{"shop"}, Related: []Related{{Root: Root{deployment, "shop", tt.root}}},
		})
		got := slices.DeleteFunc(keys(c, "endpoints", "endpointslices", "horizontalpodautoscalers", "poddisruptionbudgets",
			"services"), func(k string) bool { return k == "services shop/web" })
		if diff := cmp.Diff(tt.want, sorted(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
