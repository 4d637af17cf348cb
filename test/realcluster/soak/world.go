package main

import (
	"context"
	"errors"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// world is all that the clients and the controllers have made, at about one moment.
type world struct {
	namespaces   *corev1.NamespaceList
	deployments  *appsv1.DeploymentList
	replicaSets  *appsv1.ReplicaSetList
	statefulSets *appsv1.StatefulSetList
	daemonSets   *appsv1.DaemonSetList
	jobs         *batchv1.JobList
	pods         *corev1.PodList
	services     *corev1.ServiceList
	slices       *discoveryv1.EndpointSliceList
	budgets      *policyv1.PodDisruptionBudgetList
	configMaps   *corev1.ConfigMapList
	accounts     *corev1.ServiceAccountList
}

// read lists everything.
func read(ctx context.Context, client kubernetes.Interface) (*world, error) {
	var w world
	var errs [12]error
	all := metav1.ListOptions{}
	w.namespaces, errs[0] = client.CoreV1().Namespaces().List(ctx, all)
	w.deployments, errs[1] = client.AppsV1().Deployments("").List(ctx, all)
	w.replicaSets, errs[2] = client.AppsV1().ReplicaSets("").List(ctx, all)
	w.statefulSets, errs[3] = client.AppsV1().StatefulSets("").List(ctx, all)
	w.daemonSets, errs[4] = client.AppsV1().DaemonSets("").List(ctx, all)
	w.jobs, errs[5] = client.BatchV1().Jobs("").List(ctx, all)
	w.pods, errs[6] = client.CoreV1().Pods("").List(ctx, all)
	w.services, errs[7] = client.CoreV1().Services("").List(ctx, all)
	w.slices, errs[8] = client.DiscoveryV1().EndpointSlices("").List(ctx, all)
	w.budgets, errs[9] = client.PolicyV1().PodDisruptionBudgets("").List(ctx, all)
	w.configMaps, errs[10] = client.CoreV1().ConfigMaps("").List(ctx, all)
	w.accounts, errs[11] = client.CoreV1().ServiceAccounts("").List(ctx, all)
	return &w, errors.Join(errs[:]...)
}

// ours reports whether a namespace was made here.
func ours(namespace string) bool { return strings.HasPrefix(namespace, prefix) }

// objects are all that are in our namespaces, with their kinds.
func (w *world) objects() map[string][]metav1.Object {
	out := map[string][]metav1.Object{}
	ourObjects(out, "Deployment", w.deployments.Items)
	ourObjects(out, "ReplicaSet", w.replicaSets.Items)
	ourObjects(out, "StatefulSet", w.statefulSets.Items)
	ourObjects(out, "DaemonSet", w.daemonSets.Items)
	ourObjects(out, "Job", w.jobs.Items)
	ourObjects(out, "Pod", w.pods.Items)
	ourObjects(out, "Service", w.services.Items)
	ourObjects(out, "EndpointSlice", w.slices.Items)
	ourObjects(out, "PodDisruptionBudget", w.budgets.Items)
	ourObjects(out, "ConfigMap", w.configMaps.Items)
	return out
}

// ourObjects puts those of a kind that are in our namespaces into a map.
func ourObjects[T any, O interface {
	*T
	metav1.Object
}](into map[string][]metav1.Object, kind string, items []T) {
	for i := range items {
		if o := O(&items[i]); ours(o.GetNamespace()) {
			into[kind] = append(into[kind], o)
		}
	}
}
