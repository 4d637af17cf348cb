package realcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// manyKinds is how many custom resources are defined, beside those of Kubernetes: with latency their lists take
	// seconds.
	manyKinds = 120
	latency   = 60 * time.Millisecond
	// slowList is how long the list of the first of them takes.
	slowList = 3 * time.Second
)

// proxyTo answers as the control plane does.
func proxyTo(t *testing.T, cluster *Cluster) *httputil.ReverseProxy {
	t.Helper()
	config := cluster.Config()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization") // the transport has its own
		},
	}
}

// serve is the address of a server, which ends with the test.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// slow is the address of a server that answers as the control plane does, and takes its time.
func slow(t *testing.T, cluster *Cluster, late func(*http.Request) time.Duration) string {
	t.Helper()
	proxy := proxyTo(t, cluster)
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(late(r)):
			proxy.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
}

// TestCollectorOnASlowControlPlane: owners wait for their dependents when the plugin's garbage collector starts, and it
// takes seconds until it can know of all of them. Nothing that has an owner is lost.
func TestCollectorOnASlowControlPlane(t *testing.T) {
	t.Parallel() // with others that wait most of the time
	for name, noWatchList := range map[string]bool{"with WatchList": false, "without WatchList": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.WithoutCancel(t.Context()) // it ends before the cleanup
			cluster, err := Start(ctx, Options{NoWatchList: noWatchList, Log: t.Logf})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cluster.Stop() })
			kinds := define(t, cluster)
			orphaning := owners(t, cluster, kinds, "orphaning", metav1.DeletePropagationOrphan)
			waiting := owners(t, cluster, kinds, "waiting", metav1.DeletePropagationForeground)
			address := slow(t, cluster, func(r *http.Request) time.Duration {
				if strings.HasSuffix(r.URL.Path, "/"+kinds[0].Resource) {
					return slowList
				}
				return latency
			})
			run, err := cluster.StartRun(ctx, "--server", address, "--controller", "garbagecollector", "--write", "--yes", "--force")
			if err != nil {
				t.Fatal(err)
			}
			client := kubernetes.NewForConfigOrDie(cluster.Config()).CoreV1().ConfigMaps(metav1.NamespaceDefault)
			for _, owner := range []string{orphaning, waiting} {
				gone := func() bool {
					_, err := client.Get(ctx, owner, metav1.GetOptions{})
					return apierrors.IsNotFound(err)
				}
				eventually(t, "the owner "+owner+" to go", gone)
			}
			if code, err := run.Interrupt(); err != nil || code != 0 {
				said, _ := run.Complaints()
				t.Errorf("the plugin ended with %d (%v):\n%s", code, err, said)
			}
			judgeCollector(t, cluster, kinds, orphaning, waiting)
		})
	}
}

// define makes many kinds, and returns them when they are served.
func define(t *testing.T, cluster *Cluster) []schema.GroupVersionResource {
	t.Helper()
	client := dynamic.NewForConfigOrDie(cluster.Config())
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	kinds := make([]schema.GroupVersionResource, manyKinds)
	var defining sync.WaitGroup
	for n := range kinds {
		name := fmt.Sprintf("things%03d", n)
		kinds[n] = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: name}
		defining.Go(func() {
			crd := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
				"metadata": map[string]any{"name": name + ".example.com"},
				"spec": map[string]any{
					"group": "example.com", "scope": "Namespaced",
					"names": map[string]any{"plural": name, "singular": name, "kind": strings.ToUpper(name)},
					"versions": []any{map[string]any{
						"name": "v1", "served": true, "storage": true,
						"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
					}},
				},
			}}
			if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
				t.Errorf("defining %s: %v", name, err)
			}
		})
	}
	defining.Wait()
	for _, kind := range kinds {
		eventually(t, kind.Resource+" to be served", func() bool {
			_, err := client.Resource(kind).Namespace(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
			return err == nil
		})
	}
	return kinds
}

// owners makes an object that owns one of each kind, which block its deletion, and deletes it.
func owners(t *testing.T, cluster *Cluster, kinds []schema.GroupVersionResource, name string, policy metav1.DeletionPropagation) string {
	t.Helper()
	client := dynamic.NewForConfigOrDie(cluster.Config())
	maps := kubernetes.NewForConfigOrDie(cluster.Config()).CoreV1().ConfigMaps(metav1.NamespaceDefault)
	owner, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		dependent := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": strings.ToUpper(kind.Resource)}}
		dependent.SetName(name)
		dependent.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: new(true),
		}})
		if _, err := client.Resource(kind).Namespace(metav1.NamespaceDefault).Create(t.Context(), dependent, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
	return name
}

// judgeCollector wants every orphan to be there, and no dependent of an owner that waited to be deleted behind it.
func judgeCollector(t *testing.T, cluster *Cluster, kinds []schema.GroupVersionResource, orphaning, waiting string) {
	t.Helper()
	client := dynamic.NewForConfigOrDie(cluster.Config())
	for _, kind := range kinds {
		orphan, err := client.Resource(kind).Namespace(metav1.NamespaceDefault).Get(t.Context(), orphaning, metav1.GetOptions{})
		if err != nil || len(orphan.GetOwnerReferences()) > 0 {
			t.Errorf("the orphan %s is %v (%v)", kind.Resource, orphan, err)
		}
	}
	released, deleted := -1, 0
	for n, a := range audit(t, cluster) {
		own := strings.Contains(a.UserAgent, "kubectl-reconcile garbagecollector") && a.ResponseStatus.Code < http.StatusBadRequest
		switch {
		case !own || a.ObjectRef.Name != waiting && a.ObjectRef.Name != orphaning:
		case a.Verb == "delete" && a.ObjectRef.Name == orphaning:
			t.Errorf("the collector deleted the orphan %s", a.ObjectRef.Resource)
		case a.Verb == "delete" && released >= 0:
			t.Errorf("the collector deleted the dependent %s after it had released its owner", a.ObjectRef.Resource)
		case a.Verb == "delete":
			deleted++
		case a.ObjectRef.Resource == "configmaps" && a.ObjectRef.Name == waiting:
			released = n
		}
	}
	if deleted != len(kinds) || released < 0 {
		t.Errorf("the collector deleted %d of %d dependents in the foreground, and released the owner: %t", deleted, len(kinds), released >= 0)
	}
}

// audit is the log of what was written, in the order in which it was answered.
func audit(t *testing.T, cluster *Cluster) []audited {
	t.Helper()
	log, err := os.ReadFile(cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	var out []audited
	for line := range bytes.Lines(log) {
		var a audited
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatalf("line %q of the audit log: %v", line, err)
		}
		out = append(out, a)
	}
	return out
}

// TestOneWriterAtAnyTime: the plugin is in the middle of its work, at the rate that kube-controller-manager has, when
// that comes back.
func TestOneWriterAtAnyTime(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context()) // it ends before the cleanup
	cluster, err := Start(ctx, Options{Controllers: []string{"*"}, LeaderElection: true, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Stop() })
	client := kubernetes.NewForConfigOrDie(cluster.Config())
	small := deployment()
	small.Name = "small"
	if _, err := client.AppsV1().Deployments(metav1.NamespaceDefault).Create(ctx, small, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "kube-controller-manager to write", func() bool {
		got, err := client.AppsV1().Deployments(metav1.NamespaceDefault).Get(ctx, small.Name, metav1.GetOptions{})
		return err == nil && got.Status.ObservedGeneration > 0
	})
	if err := cluster.KillControllers(); err != nil {
		t.Fatal(err)
	}
	run, err := cluster.StartRun(ctx, "--controller", "deployment,replicaset", "--write", "--yes")
	if err != nil {
		t.Fatal(err)
	}
	patience, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	if _, err := run.Await(patience, "the plugin to take the place", regexp.MustCompile(`(?m)^synced in `)); err != nil {
		said, _ := run.Complaints()
		t.Fatal(err, said)
	}
	big := deployment()
	big.Spec.Replicas = new(int32(1000))
	if _, err := client.AppsV1().Deployments(metav1.NamespaceDefault).Create(ctx, big, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the plugin to make pods", func() bool {
		pods, err := client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) > 30
	})
	if err := cluster.startControllers(patience); err != nil {
		t.Fatal(err)
	}
	code, err := run.Ended(patience)
	said, _ := run.Complaints()
	if err != nil || code != 1 || !strings.Contains(said, "kube-controller-manager was started: ") {
		t.Errorf("the plugin ended with %d (%v) when kube-controller-manager came back:\n%s", code, err, said)
	}
	eventually(t, "kube-controller-manager to make pods", func() bool {
		return slices.ContainsFunc(audit(t, cluster), func(a audited) bool {
			return strings.HasPrefix(a.UserAgent, managerAgent) && a.ObjectRef.Resource == "pods"
		})
	})
	judgeWriters(t, cluster)
}

// elections are resources that a leader writes when it is elected, before its controllers start.
var elections = []string{"leases", "events"}

// managerAgent begins the user agents of kube-controller-manager itself.
const managerAgent = "kube-controller-manager/v"

// judgeWriters wants no write of the plugin's to have come after the first one of kube-controller-manager's since it
// came back.
func judgeWriters(t *testing.T, cluster *Cluster) {
	t.Helper()
	var plugin, manager []time.Time
	for _, a := range audit(t, cluster) {
		switch at := a.RequestReceivedTimestamp; {
		case a.ResponseStatus.Code >= http.StatusBadRequest || slices.Contains(questions, a.ObjectRef.Resource):
		case slices.Contains(elections, a.ObjectRef.Resource): // who leads is told by these
		case strings.Contains(a.UserAgent, "kubectl-reconcile"):
			plugin = append(plugin, at)
		case strings.HasPrefix(a.UserAgent, managerAgent):
			manager = append(manager, at)
		}
	}
	slices.SortFunc(plugin, time.Time.Compare)
	slices.SortFunc(manager, time.Time.Compare)
	if len(plugin) == 0 {
		t.Fatal("the plugin wrote nothing")
	}
	first, last := plugin[0], plugin[len(plugin)-1]
	back := slices.IndexFunc(manager, func(at time.Time) bool { return at.After(first) })
	if back < 0 {
		t.Fatal("kube-controller-manager wrote nothing when it came back")
	}
	if !last.Before(manager[back]) {
		t.Errorf("the plugin wrote at %s, kube-controller-manager since %s", last, manager[back])
	}
	t.Logf("the plugin wrote %d times; kube-controller-manager wrote first %s after the last of them", len(plugin), manager[back].Sub(last))
}
