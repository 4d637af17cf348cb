package seed

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

const pollInterval = 5 * time.Millisecond

// shop is a namespace with what depends on it in no namespace, beside another namespace.
const shop = `apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: unused.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: unused, singular: unused, kind: Unused, listKind: UnusedList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {mode: fast}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: other}
---
apiVersion: v1
kind: Secret
metadata:
  name: key
  namespace: shop
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"kind":"Secret","data":{"password":"c2VjcmV0"},"stringData":{"more":"hidden"}}'
data: {password: c2VjcmV0}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: shop}
spec: {size: 3}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: ours}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /a}
  claimRef: {namespace: shop, name: data}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: theirs}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /b}
  claimRef: {namespace: other, name: data}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: free}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /c}}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: other}
spec: {ports: [{port: 80}]}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: n1, namespace: kube-node-lease}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: gone, namespace: kube-node-lease}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: leader, namespace: shop}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: checks}
webhooks:
- name: a.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: "https://127.0.0.1:1/check"}
  failurePolicy: Ignore
  rules: [{apiGroups: [example.org], apiVersions: [v1], operations: [CREATE], resources: [nothing]}]`

// keys are the objects of a copy as "resource namespace/name", without those that every cluster has.
func keys(c *Copy, resources ...string) []string {
	var out []string
	for i := range c.Objects {
		o := &c.Objects[i]
		if slices.Contains(resources, o.Kind.Resource) {
			out = append(out, o.Kind.Resource+" "+o.Namespace+"/"+o.Name)
		}
	}
	return out
}

func TestRead(t *testing.T) {
	config := servers.Server(t, nil).Config()
	create(t, config, shop)
	c := mustRead(t, config, Options{Namespaces: []string{"shop"}})
	if len(c.Incomplete) > 0 {
		t.Errorf("incomplete: %v", c.Incomplete)
	}
	want := []string{
		"configmaps shop/settings", // and none of another namespace
		"customresourcedefinitions /widgets.example.com",
		"leases kube-node-lease/n1", // not that of a node that is not there, nor a lock
		"namespaces /shop",
		"nodes /n1",
		"persistentvolumes /free", "persistentvolumes /ours",
		"secrets shop/key",
		"services shop/web",
		"widgets shop/w",
	}
	got := keys(c, "configmaps", "customresourcedefinitions", "leases", "namespaces", "nodes", "persistentvolumes",
		"secrets", "services", "widgets", "validatingwebhookconfigurations")
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if addresses := keys(c, "ipaddresses"); len(addresses) != 1 {
		t.Errorf("addresses %v, want that of the Service of the namespace alone", addresses)
	}
	if len(keys(c, "servicecidrs")) != 1 || len(keys(c, "clusterroles")) == 0 || len(keys(c, "priorityclasses")) != 2 {
		t.Errorf("what controllers and admission read is missing: %v", c.Counts())
	}
	var left []string
	for _, l := range c.LeftOut {
		left = append(left, string(l.Reason)+" "+l.Resource+" "+l.Name)
	}
	if diff := cmp.Diff([]string{
		"Conversion widgets ", "Secret secrets ", "Webhook validatingwebhookconfigurations checks",
	}, left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	secret, _ := c.Find(secrets, "shop", "key")
	for _, hidden := range []string{"c2VjcmV0", "hidden"} {
		if strings.Contains(string(secret.JSON), hidden) {
			t.Errorf("the copy has %q of a Secret: %s", hidden, secret.JSON)
		}
	}
	if !strings.Contains(string(secret.JSON), `"password":""`) {
		t.Errorf("the keys of a Secret are not there: %s", secret.JSON)
	}
	definition, _ := c.Find(definitions, "", "widgets.example.com")
	u, err := definition.Unstructured()
	if err != nil {
		t.Fatal(err)
	}
	strategy, _, _ := unstructured.NestedString(u.Object, "spec", "conversion", "strategy")
	versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
	if strategy != "None" || len(versions) != 1 {
		t.Errorf("the definition has %d versions and converts by %q", len(versions), strategy)
	}
}

// TestReadKeepsWhatServersSet reads an object back as it was.
func TestReadKeepsWhatServersSet(t *testing.T) {
	config := servers.Server(t, nil).Config()
	create(t, config, shop)
	client := kubernetes.NewForConfigOrDie(config)
	want, err := client.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := mustRead(t, config, Options{Namespaces: []string{"shop"}, WithSecrets: true})
	o, ok := c.Find(schema.GroupResource{Resource: "services"}, "shop", "web")
	if !ok {
		t.Fatal("the Service was not read")
	}
	u, err := o.Unstructured()
	if err != nil {
		t.Fatal(err)
	}
	if o.UID != want.UID || u.GetResourceVersion() != want.ResourceVersion || u.GetGeneration() != want.Generation ||
		len(u.GetManagedFields()) != len(want.ManagedFields) {
		t.Errorf("read as %s", o.JSON)
	}
	secret, _ := c.Find(secrets, "shop", "key")
	if !strings.Contains(string(secret.JSON), `"password":"c2VjcmV0"`) {
		t.Errorf("with the data of Secrets: %s", secret.JSON)
	}
}

func TestReadAllNamespaces(t *testing.T) {
	config := servers.Server(t, nil).Config()
	create(t, config, shop)
	c := mustRead(t, config, Options{AllNamespaces: true})
	if !slices.Contains(c.Namespaces, "other") || !slices.Contains(c.Namespaces, "shop") {
		t.Errorf("namespaces %v", c.Namespaces)
	}
	if got := keys(c, "persistentvolumes"); len(got) != 3 {
		t.Errorf("volumes %v, want all", got)
	}
}

func TestOwnersInNoNamespace(t *testing.T) {
	server := servers.Server(t, nil)
	config := server.Config()
	create(t, config, shop)
	client := kubernetes.NewForConfigOrDie(config)
	lease, err := client.CoordinationV1().Leases("shop").Get(t.Context(), "leader", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := client.CoreV1().ConfigMaps("shop").Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	settings.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Name: lease.Name, UID: lease.UID},
		{APIVersion: "v1", Kind: "Secret", Name: "gone", UID: "gone"},
	}
	if _, err := client.CoreV1().ConfigMaps("shop").Update(t.Context(), settings, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c := mustRead(t, config, Options{Namespaces: []string{"shop"}})
	if _, ok := c.Find(leases, "shop", "leader"); !ok {
		t.Error("an owner that is not copied otherwise is not in the copy: its dependents would be deleted")
	}
	if len(c.Incomplete) > 0 {
		t.Errorf("an owner that does not exist is no matter: %v", c.Incomplete)
	}
}

func TestReadErrors(t *testing.T) {
	config := servers.Server(t, nil).Config()
	create(t, config, shop)
	stranger := rest.CopyConfig(config)
	stranger.Impersonate = rest.ImpersonationConfig{UserName: "stranger"}
	pods := cluster.Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: "pods",
		Namespaced: true}
	for _, tt := range []struct {
		reason string
		config *rest.Config
		o      Options
		want   string
	}{
		{"nothing is named", config, Options{}, errNoScope.Error()},
		{"the namespace does not exist", config, Options{Namespaces: []string{"shopp"}}, `no namespace "shopp"`},
		{"the object does not exist", config, Options{Roots: []Root{{pods, "shop", "p"}}}, `no pod "p" in namespace "shop"`},
		{"there is more than may be", config, Options{Namespaces: []string{"shop"}, MaxObjects: 3},
			"it has more than 3 objects, among those read "},
		{"nothing may be read", stranger, Options{Namespaces: []string{"shop"}}, "nothing could be read of it, "},
	} {
		if _, err := read(t, tt.config, tt.o); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.reason, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("ended")
	cancel(ended)
	kinds, err := cluster.Discover(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := cluster.NewReader(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(ctx, Options{Kinds: kinds, Reader: reader, Namespaces: []string{"shop"}}); !errors.Is(err, ended) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// TestReadInPart reads as a user who may only see a namespace.
func TestReadInPart(t *testing.T) {
	server := servers.Server(t, nil)
	config := server.Config()
	create(t, config, shop+`
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: view, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]`)
	jane := rest.CopyConfig(config)
	jane.Impersonate = rest.ImpersonationConfig{UserName: "jane"}
	var c *Copy
	for c == nil { // until the binding is in force
		c, _ = read(t, jane, Options{Namespaces: []string{"shop"}, Neighbours: true})
	}
	for _, resource := range []schema.GroupResource{nodes, secrets, volumes} {
		if !c.Unread(resource) {
			t.Errorf("%s count as read", resource)
		}
	}
	if c.Unread(schema.GroupResource{Resource: "configmaps"}) {
		t.Error("config maps count as not read")
	}
	if got := keys(c, "configmaps"); len(got) != 1 {
		t.Errorf("config maps %v", got)
	}
	if !slices.ContainsFunc(c.LeftOut, func(l LeftOut) bool { return l.Reason == ReasonNeighbours }) {
		t.Errorf("that the pods of others were not read is not said: %v", c.LeftOut)
	}
}
