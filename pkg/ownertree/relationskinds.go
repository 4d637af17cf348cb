package ownertree

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// reference is what an object says about another that it uses. Equal ones of many objects are kept once.
type reference struct {
	// kind and inverse are Relation.Type and Relation.Inverse.
	kind, inverse string
	to            schema.GroupKind
	version       string // empty for the preferred one
	namespace     string // empty for kinds that have none
	name          string
	match         *matcher // selects several objects; nil if name names one
	optional      bool
	// backward is for an object that is used by the one it names: a slice of endpoints by its Service.
	backward bool
}

// anyScaled stands for all kinds that may have a scale.
const anyScaled = "*"

// relating are the kinds that refer to others.
var relating = map[schema.GroupKind]referring{
	{Group: "", Kind: "Service"}:                            by(serviceReferences, "Pod"),
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:      by(sliceReferences, "Service"),
	{Group: "networking.k8s.io", Kind: "Ingress"}:           by(ingressReferences, "Service", "IngressClass.networking.k8s.io", "Secret"),
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: by(autoscalerReferences, anyScaled),
	{Group: "policy", Kind: "PodDisruptionBudget"}:          by(budgetReferences, "Pod"),
	{Group: "apps", Kind: "StatefulSet"}:                    by(statefulSetReferences, "PersistentVolumeClaim"),
	{Group: "", Kind: "PersistentVolumeClaim"}:              by(claimReferences, "PersistentVolume", "StorageClass.storage.k8s.io"),
	{Group: "", Kind: "PersistentVolume"}:                   by(volumeReferences, "PersistentVolumeClaim", "StorageClass.storage.k8s.io"),
	{Group: "", Kind: "Pod"}: by(podReferences,
		"ConfigMap", "Secret", "ServiceAccount", "Node", "PersistentVolumeClaim", "PriorityClass.scheduling.k8s.io", "RuntimeClass.node.k8s.io"),
	{Group: "", Kind: "ServiceAccount"}:                   by(accountReferences, "Secret"),
	{Group: rbacv1.GroupName, Kind: "RoleBinding"}:        by(roleBindingReferences, "Role."+rbacv1.GroupName, "ClusterRole."+rbacv1.GroupName, "ServiceAccount"),
	{Group: rbacv1.GroupName, Kind: "ClusterRoleBinding"}: by(clusterRoleBindingReferences, "ClusterRole."+rbacv1.GroupName, "ServiceAccount"),
}

// referring says how objects of a kind refer to others.
type referring struct {
	to         []string // the kinds that they can refer to
	fresh      func() cluster.Typed
	references func(cluster.Typed) []reference
}

// by makes a referring of what reads the references of a Go type.
func by[T any, P interface {
	*T
	cluster.Typed
}](references func(P) []reference, to ...string) referring {
	return referring{
		to:    to,
		fresh: func() cluster.Typed { return P(new(T)) },
		references: func(object cluster.Typed) []reference {
			typed, ok := object.(P)
			if !ok {
				return nil
			}
			return references(typed)
		},
	}
}

// refers says whether objects of the kind may use others.
func refers(kind schema.GroupKind) bool { return relating[kind].fresh != nil }

// typedOf reads an object into the Go type of its kind, without the fields that this does not have; nil if its kind does not
// refer to others, or it is not as its kind promises.
func typedOf(obj *unstructured.Unstructured) cluster.Typed {
	kind := obj.GroupVersionKind().GroupKind()
	if !refers(kind) {
		return nil
	}
	object := relating[kind].fresh()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, object); err != nil {
		return nil
	}
	return object
}
