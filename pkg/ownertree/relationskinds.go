package ownertree

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reference is what an object says about another that it uses.
type reference struct {
	// kind and inverse are Relation.Type and Relation.Inverse.
	kind, inverse string
	to            schema.GroupKind
	version       string // empty for the preferred one
	namespace     string // empty for kinds that have none
	name          string
	// match selects several objects by name and labels; nil if name names one.
	match    func(name string, labels labels.Set) bool
	optional bool
	// backward is for an object that is used by the one it names: a slice of endpoints by its Service.
	backward bool
}

// anyScaled stands for all kinds that may have a scale.
const anyScaled = "*"

// relating are the kinds that refer to others, by what they can refer to.
var relating = map[schema.GroupKind][]string{
	{Group: "", Kind: "Service"}:                            {"Pod"},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:      {"Service"},
	{Group: "networking.k8s.io", Kind: "Ingress"}:           {"Service", "IngressClass.networking.k8s.io", "Secret"},
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: {anyScaled},
	{Group: "policy", Kind: "PodDisruptionBudget"}:          {"Pod"},
	{Group: "apps", Kind: "StatefulSet"}:                    {"PersistentVolumeClaim"},
	{Group: "", Kind: "PersistentVolumeClaim"}:              {"PersistentVolume", "StorageClass.storage.k8s.io"},
	{Group: "", Kind: "PersistentVolume"}:                   {"PersistentVolumeClaim", "StorageClass.storage.k8s.io"},
	{Group: "", Kind: "Pod"}: {
		"ConfigMap", "Secret", "ServiceAccount", "Node", "PersistentVolumeClaim", "PriorityClass.scheduling.k8s.io", "RuntimeClass.node.k8s.io",
	},
	{Group: "", Kind: "ServiceAccount"}:                   {"Secret"},
	{Group: rbacv1.GroupName, Kind: "RoleBinding"}:        {"Role." + rbacv1.GroupName, "ClusterRole." + rbacv1.GroupName, "ServiceAccount"},
	{Group: rbacv1.GroupName, Kind: "ClusterRoleBinding"}: {"ClusterRole." + rbacv1.GroupName, "ServiceAccount"},
}

// refers says whether objects of the kind may use others.
func refers(kind schema.GroupKind) bool { return relating[kind] != nil }

// referencesOf reads the references of an object; nil for a kind without, and for one that is not as its kind promises.
func referencesOf(obj *unstructured.Unstructured) []reference {
	switch obj.GroupVersionKind().GroupKind().String() {
	case "Service":
		return typed(obj, serviceReferences)
	case "EndpointSlice.discovery.k8s.io":
		return typed(obj, sliceReferences)
	case "Ingress.networking.k8s.io":
		return typed(obj, ingressReferences)
	case "HorizontalPodAutoscaler.autoscaling":
		return typed(obj, autoscalerReferences)
	case "PodDisruptionBudget.policy":
		return typed(obj, budgetReferences)
	case "StatefulSet.apps":
		return typed(obj, statefulSetReferences)
	case "PersistentVolumeClaim":
		return typed(obj, claimReferences)
	case "PersistentVolume":
		return typed(obj, volumeReferences)
	case "Pod":
		return typed(obj, podReferences)
	case "ServiceAccount":
		return typed(obj, accountReferences)
	case "RoleBinding." + rbacv1.GroupName:
		return typed(obj, func(b *rbacv1.RoleBinding) []reference { return bindingReferences(b.Namespace, b.RoleRef, b.Subjects) })
	case "ClusterRoleBinding." + rbacv1.GroupName:
		return typed(obj, func(b *rbacv1.ClusterRoleBinding) []reference { return bindingReferences("", b.RoleRef, b.Subjects) })
	}
	return nil
}

// typed reads an object into its Go type. Fields that the type does not have are of no use here.
func typed[T any](obj *unstructured.Unstructured, read func(*T) []reference) []reference {
	var object T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &object); err != nil {
		return nil
	}
	return read(&object)
}
