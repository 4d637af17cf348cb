package ownertree_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// synthetic serves the metadata of a cluster from memory: deployments of ten pods each in ten namespaces, and many
// kinds of which there are no objects. What it costs is in the figures.
type synthetic struct {
	*http.ServeMux
	kinds []metav1.APIResource
}

// objectsEach is what each deployment brings: itself, a ReplicaSet and ten pods.
const objectsEach = 12

func newSynthetic(tb testing.TB, deployments int) *synthetic {
	tb.Helper()
	s := &synthetic{ServeMux: http.NewServeMux()}
	var tops, sets, pods []metav1.PartialObjectMetadata
	for i := range deployments {
		namespace := fmt.Sprintf("namespace-%d", i%10)
		top := big(namespace, fmt.Sprintf("deployment-%05d", i), nil)
		set := big(namespace, top.Name+"-7d4b9c5f66", &top)
		tops, sets = append(tops, top), append(sets, set)
		for j := range 10 {
			pods = append(pods, big(namespace, fmt.Sprintf("%s-%05d", set.Name, j), &set))
		}
	}
	s.serve(tb, "deployments", "Deployment", tops)
	s.serve(tb, "replicasets", "ReplicaSet", sets)
	s.serve(tb, "pods", "Pod", pods)
	for i := range 60 {
		s.serve(tb, fmt.Sprintf("empties%d", i), fmt.Sprintf("Empty%d", i), nil)
	}
	discovery := encodeJSON(tb, map[string]any{"groupVersion": "v1", "resources": s.kinds})
	s.HandleFunc("/api", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, "application/json", []byte(`{"versions":["v1"]}`))
	})
	s.HandleFunc("/apis", func(w http.ResponseWriter, _ *http.Request) { answer(w, "application/json", []byte(`{"groups":[]}`)) })
	s.HandleFunc("/api/v1", func(w http.ResponseWriter, _ *http.Request) { answer(w, "application/json", discovery) })
	return s
}

// big is metadata of a usual size: 2 KB, most of it in managedFields.
func big(namespace, name string, owner *metav1.PartialObjectMetadata) metav1.PartialObjectMetadata {
	o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: namespace, UID: types.UID(fmt.Sprintf("%-36.36s", name+"-"+namespace)), ResourceVersion: "123456", Generation: 1,
		CreationTimestamp: metav1.Unix(1700000000, 0), Labels: map[string]string{"app": name[:16], "pod-template-hash": "7d4b9c5f66"},
		Annotations: map[string]string{"example.com/config": strings.Repeat("c", 300)},
	}}
	for _, manager := range []string{"kube-controller-manager", "kubelet"} {
		o.ManagedFields = append(o.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &o.CreationTimestamp, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:x":"` + strings.Repeat("y", 700) + `"}`),
		})
	}
	if owner != nil {
		o.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: map[bool]string{true: "Deployment", false: "ReplicaSet"}[owner.OwnerReferences == nil],
			Name: owner.Name, UID: owner.UID, Controller: new(true), BlockOwnerDeletion: new(true),
		}}
	}
	return o
}

// serve encodes all pages of a kind beforehand.
func (s *synthetic) serve(tb testing.TB, resource, kind string, objects []metav1.PartialObjectMetadata) {
	tb.Helper()
	s.kinds = append(s.kinds, metav1.APIResource{Name: resource, Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"delete", "get", "list", "watch"}})
	var pages [][]byte
	for from := 0; from == 0 || from < len(objects); from += 500 {
		page := metav1.PartialObjectMetadataList{Items: objects[from:min(from+500, len(objects))]}
		if from+500 < len(objects) {
			page.Continue = strconv.Itoa(len(pages) + 1)
		}
		raw, err := page.Marshal()
		if err != nil {
			tb.Fatal(err)
		}
		envelope := k8sruntime.Unknown{Raw: raw}
		body, err := envelope.Marshal()
		if err != nil {
			tb.Fatal(err)
		}
		pages = append(pages, append([]byte("k8s\x00"), body...))
	}
	s.HandleFunc("/api/v1/"+resource, func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		answer(w, "application/vnd.kubernetes.protobuf", pages[page])
	})
}

func answer(w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(body)
}

// loaded starts a server with about n objects and returns a reader of it.
func loaded(tb testing.TB, n int) (*cluster.Reader, *cluster.Kinds) {
	tb.Helper()
	return connect(tb, newSynthetic(tb, n/objectsEach))
}

// connect serves until the test ends.
func connect(tb testing.TB, handler http.Handler) (*cluster.Reader, *cluster.Kinds) {
	tb.Helper()
	config := configOf(tb, handler)
	kinds, err := cluster.Discover(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	reader, err := cluster.NewReader(config)
	if err != nil {
		tb.Fatal(err)
	}
	return reader, kinds
}

// configOf is that of a server that ends with the test.
func configOf(tb testing.TB, handler http.Handler) *rest.Config {
	server := httptest.NewServer(handler)
	tb.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, QPS: -1}
}

// BenchmarkCollect reads and links a cluster. B/node is what stays in memory.
func BenchmarkCollect(b *testing.B) {
	for _, n := range []int{5_000, 22_000, 80_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			reader, kinds := loaded(b, n)
			before := heap()
			var g *ownertree.Graph
			for b.Loop() {
				var err error
				if g, err = ownertree.Collect(b.Context(), reader, kinds, ownertree.Scope{}); err != nil {
					b.Fatal(err)
				}
			}
			nodes := len(g.Nodes())
			b.ReportMetric(float64(heap()-before)/float64(nodes), "B/node")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*nodes), "ns/node")
			runtime.KeepAlive(g)
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkTree(b *testing.B) {
	reader, kinds := loaded(b, 22_000)
	g, err := ownertree.Collect(b.Context(), reader, kinds, ownertree.Scope{})
	if err != nil {
		b.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		asked []*ownertree.Node
	}{{"one", g.Roots()[:1]}, {"forest", g.Roots()}, {"leaf", g.Nodes()[len(g.Nodes())-1:]}} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				if len(g.Tree(tt.asked, ownertree.TreeOptions{Up: true, Down: true})) == 0 {
					b.Fatal("no tree")
				}
			}
		})
	}
	b.Run("roots", func(b *testing.B) {
		for b.Loop() {
			g.Roots()
		}
	})
	b.Run("fates", func(b *testing.B) {
		start := time.Now()
		for b.Loop() {
			for _, n := range g.Nodes() {
				g.GCOutcome(n)
			}
		}
		b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(b.N*len(g.Nodes())), "ns/node")
	})
}

// podsOfFamily is how many pods each ReplicaSet of a forest has. Beside it are a Deployment, a Service, a ConfigMap and
// a PodDisruptionBudget.
const podsOfFamily, familySize = 10, 15

// forest fills a shelf with about n objects.
func forest(tb testing.TB, n, namespaces int) *indexEntry {
	tb.Helper()
	s := newShelf(tb)
	for i := range 50 {
		s.add(&corev1.Node{ObjectMeta: full(fmt.Sprintf("node-%d", i), "", nil)})
	}
	for i := range namespaces {
		s.add(&corev1.ServiceAccount{ObjectMeta: full("default", fmt.Sprintf("namespace-%d", i), nil)})
	}
	for i := range n / familySize {
		family(s, fmt.Sprintf("namespace-%d", i%namespaces), i)
	}
	return s
}

func family(s *indexEntry, namespace string, i int) {
	name := fmt.Sprintf("web-%05d", i)
	labels := map[string]string{"app": name}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	deployment := &appsv1.Deployment{ObjectMeta: full(name, namespace, labels)}
	set := &appsv1.ReplicaSet{ObjectMeta: full(name+"-7d4b9c5f66", namespace, labels)}
	s.add(
		deployment, &corev1.ConfigMap{ObjectMeta: full(name, namespace, labels)},
		&corev1.Service{ObjectMeta: full(name, namespace, labels), Spec: corev1.ServiceSpec{Selector: labels}},
		&policyv1.PodDisruptionBudget{ObjectMeta: full(name, namespace, labels), Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}},
	)
	set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	s.add(set)
	for j := range podsOfFamily {
		pod := &corev1.Pod{ObjectMeta: full(fmt.Sprintf("%s-%05d", set.Name, j), namespace, labels), Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%d", (i+j)%50), ServiceAccountName: "default",
			Containers: []corev1.Container{fullContainer("web", name), fullContainer("metrics", name)},
			Volumes: []corev1.Volume{{Name: "settings", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
			}}},
		}}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		}}
		s.add(pod)
	}
}

// full is metadata of a usual size.
func full(name, namespace string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: namespace, Labels: labels, ResourceVersion: "1", CreationTimestamp: metav1.Unix(1700000000, 0),
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kube-controller-manager", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:x":"` + strings.Repeat("y", 1500) + `"}`),
		}},
	}
}

func fullContainer(name, settings string) corev1.Container {
	from := &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: settings}, Key: "a"}}
	return corev1.Container{
		Name: name, Image: "example.com/" + name + ":1", Command: []string{"/" + name, "--verbose"},
		Env:            []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "A", ValueFrom: from}, {Name: "B", ValueFrom: from}},
		LivenessProbe:  &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/livez"}}},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz"}}},
		VolumeMounts:   []corev1.VolumeMount{{Name: "settings", MountPath: "/settings"}},
	}
}

// BenchmarkForest reads and lays out a forest and judges its objects, then the same with what else they are related to.
func BenchmarkForest(b *testing.B) {
	for _, n := range []int{10_000, 40_000} {
		for _, namespaces := range []int{1, 10} {
			reader, kinds := forest(b, n, namespaces).open()
			for _, related := range []bool{false, true} {
				b.Run(fmt.Sprintf("objects=%d/namespaces=%d/related=%t", n, namespaces, related), func(b *testing.B) {
					b.ReportAllocs()
					readForest(b, reader, kinds, related) // and then the shelf has all its answers
					before := heap()
					var kept []*ownertree.Branch
					for b.Loop() {
						kept = readForest(b, reader, kinds, related)
					}
					b.ReportMetric(float64(heap()-before)/float64(n), "B/object")
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/object")
					runtime.KeepAlive(kept)
				})
			}
		}
	}
}

func readForest(b *testing.B, reader *cluster.Reader, kinds *cluster.Kinds, related bool) []*ownertree.Branch {
	b.Helper()
	g, err := ownertree.Collect(b.Context(), reader, kinds, ownertree.Scope{})
	if err != nil {
		b.Fatal(err)
	}
	branches := g.Tree(g.Roots(), ownertree.TreeOptions{Up: true, Down: true})
	for _, kind := range kinds.Collected() {
		judge(b.Context(), b, reader, kind)
	}
	if !related {
		return branches
	}
	relations, missing, err := g.Relate(b.Context(), reader, g.Nodes(), ownertree.RelateOptions{})
	if err != nil || len(missing) > 0 || len(relations) < len(g.Nodes()) {
		b.Fatalf("%d relations, incomplete: %v, %v", len(relations), missing, err)
	}
	ownertree.Related(branches, relations)
	return branches
}

// judge stands for what a tree does with each object.
func judge(ctx context.Context, b *testing.B, reader *cluster.Reader, kind cluster.Kind) {
	b.Helper()
	err := reader.ListObjects(ctx, cluster.Target{Kind: kind}, cluster.ListOptions{}, func(*unstructured.Unstructured) error { return nil })
	if err != nil {
		b.Fatal(err)
	}
}
