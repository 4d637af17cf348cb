package ownertree

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// reference is how an object names another that it uses. Equal ones of many objects are kept once.
type reference struct {
	// relation and inverse are Relation.Type and Relation.Inverse.
	relation, inverse string

	to        schema.GroupKind
	version   string // empty for the preferred one
	namespace string // empty for kinds that have none, allNamespaces for objects anywhere
	name      string
	match     *matcher // selects several objects; nil if name names one
	optional  bool
	// applied is for an object that has applied the one that it names.
	applied bool
	// mayMake is for an object that may be what makes the one it names; made is for one that is known to.
	mayMake, made bool
	// backward is for an object that is used by the one it names: a slice of endpoints by its Service.
	backward bool
	// ifAsked is for a relation that is of interest only if what is named was asked for: it is one of very many alike.
	ifAsked bool
}

// needed is Relation.Needed.
func (r *reference) needed() bool { return !r.optional && !r.mayMake && r.match == nil && !r.backward }

// makes reports whether the object that has the reference is what makes a node.
func (r *reference) makes(n *Node) bool {
	return r.made && r.to == n.Kind.GroupKind() && r.namespace == n.Namespace && r.name == n.Name
}

// allNamespaces is reference.namespace of one to objects in every namespace, which only a matcher selects.
const allNamespaces = "*"

// anyScaled means all kinds that may have a scale.
const anyScaled = "*"

const (
	storageGroup  = "storage.k8s.io"
	webhooksGroup = "admissionregistration.k8s.io"

	attributesClass = "VolumeAttributesClass." + storageGroup
	storageClass    = "StorageClass." + storageGroup
	csiDriver       = "CSIDriver." + storageGroup
	clusterRole     = "ClusterRole." + rbacv1.GroupName
)

// relating are the kinds of the API server that refer to others.
var relating = map[schema.GroupKind]referring{
	{Group: "", Kind: "Service"}:                       by(serviceReferences, "Pod"),
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}: by(sliceReferences).of("Service"),
	{Group: "networking.k8s.io", Kind: "Ingress"}: by(ingressReferences,
		"Service", "IngressClass.networking.k8s.io", "Secret"),
	{Group: "networking.k8s.io", Kind: "IngressClass"}:      by(ingressClassReferences),
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:     by(policyReferences, "Pod"),
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: by(autoscalerReferences, anyScaled),
	{Group: "policy", Kind: "PodDisruptionBudget"}:          by(budgetReferences, "Pod"),
	{Group: "apps", Kind: "StatefulSet"}: by(statefulSetReferences,
		"PersistentVolumeClaim", "Service"),
	{Group: "", Kind: "Pod"}: by(podReferences,
		"ConfigMap", "Secret", "ServiceAccount", "Node", "PersistentVolumeClaim",
		"PriorityClass.scheduling.k8s.io", "RuntimeClass.node.k8s.io"),

	{Group: "", Kind: "PersistentVolumeClaim"}: by(claimReferences, "PersistentVolume", storageClass, attributesClass),
	{Group: "", Kind: "PersistentVolume"}: by(volumeReferences, storageClass, attributesClass, csiDriver, "Secret").
		of("PersistentVolumeClaim"),
	{Group: storageGroup, Kind: "StorageClass"}: by(storageClassReferences, csiDriver, "Secret"),
	{Group: storageGroup, Kind: "VolumeAttachment"}: by(attachmentReferences, "Node", csiDriver).
		of("PersistentVolume").always(),
	{Group: storageGroup, Kind: "CSINode"}:            by(csiNodeReferences, csiDriver),
	{Group: storageGroup, Kind: "CSIStorageCapacity"}: by(capacityReferences, storageClass),

	{Group: "", Kind: "ServiceAccount"}: by(accountReferences, "Secret"),
	{Group: rbacv1.GroupName, Kind: "RoleBinding"}: by(roleBindingReferences, "Role."+rbacv1.GroupName, clusterRole).
		of("ServiceAccount").always(),
	{Group: rbacv1.GroupName, Kind: "ClusterRoleBinding"}: by(clusterRoleBindingReferences, clusterRole).
		of("ServiceAccount").always(),
	{Group: rbacv1.GroupName, Kind: "ClusterRole"}: by(clusterRoleReferences, clusterRole),

	{Group: webhooksGroup, Kind: "ValidatingWebhookConfiguration"}: by(validatingReferences, "Service"),
	{Group: webhooksGroup, Kind: "MutatingWebhookConfiguration"}:   by(mutatingReferences, "Service"),
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:          by(apiServiceReferences, "Service"),
	definition: by(definitionReferences, "Service").onlyAsked(),
}

// referring is how objects of a kind refer to others.
type referring struct {
	// usedKinds are those that they can use, userKinds those of which they can name the objects that use them.
	usedKinds, userKinds []string
	// alwaysListed is for kinds whose objects are looked for wherever one of userKinds is, and not only if that was
	// asked for.
	alwaysListed bool
	// listedIfAsked is for kinds whose objects are looked for only if what they use was asked for.
	listedIfAsked bool

	fresh      func() cluster.Typed
	references func(cluster.Typed) []reference
}

// by makes a referring of what reads the references of a Go type.
func by[T any, P interface {
	*T
	cluster.Typed
}](references func(P) []reference, to ...string) referring {
	return referring{
		usedKinds: to,
		fresh:     func() cluster.Typed { return P(new(T)) },
		references: func(object cluster.Typed) []reference {
			typed, ok := object.(P)
			if !ok {
				return nil
			}
			return references(typed)
		},
	}
}

func (r referring) of(users ...string) referring {
	r.userKinds = users
	return r
}

func (r referring) always() referring {
	r.alwaysListed = true
	return r
}

func (r referring) onlyAsked() referring {
	r.listedIfAsked = true
	return r
}

// typed reads an object into the Go type of its kind, without the fields that this does not have; nil if it is not as
// its kind promises.
func (r referring) typed(obj *unstructured.Unstructured) cluster.Typed {
	object := r.fresh()
	if custom, ok := object.(*customObject); ok {
		if err := custom.take(obj.Object); err != nil {
			return nil
		}
		return custom
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, object); err != nil {
		return nil
	}
	return object
}
