package ownertree_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// podsOfFamily is how many pods each ReplicaSet of a forest has. Beside it are a Deployment, a Service, a ConfigMap and a
// PodDisruptionBudget.
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
