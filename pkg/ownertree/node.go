package ownertree

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Node is one object of a Graph. It belongs to the graph and is only read by others; Graph.Add, Confirm, Ascend
// and ReadNamespaces may change it.
type Node struct {
	// Kind is never nil. Nodes of a kind share it.
	Kind *cluster.Kind
	// Namespace is empty for objects of cluster-scoped kinds.
	Namespace, Name string
	// UID is unique in a graph, unless it is empty.
	UID        types.UID
	Generation int64
	Created    metav1.Time
	// Deleting is when the deletion was requested; nil if it was not.
	Deleting   *metav1.Time
	Finalizers []string
	// SpecFinalizers are those of a namespace's spec, which delay its deletion as the others do. Nil for other kinds,
	// and until Graph.ReadNamespaces has read them.
	SpecFinalizers []string
	// Labels may be shared with other nodes; nil if there are none.
	Labels map[string]string
	// Owners are the object's owner references in its order.
	Owners []Owner
	// Dependents are the nodes that have this one as their Solid owner, each once, sorted by kind, namespace and name.
	// They are all that exist only if Graph.Covers is true.
	Dependents []*Node
}

// Verdict is what the garbage collector makes of an owner reference.
type Verdict string

// The verdicts.
const (
	// Solid means that the owner is there.
	Solid Verdict = "Solid"
	// OwnerMissing means that nothing of the reference's kind and name is there.
	OwnerMissing Verdict = "OwnerMissing"
	// OtherUID means that an object of that kind and name is there, but another than the one referred to.
	OtherUID Verdict = "OtherUID"
	// OtherNamespace means that the owner is in a namespace where it cannot own the dependent: a namespaced owner owns
	// only within its namespace, and never an object of a cluster-scoped kind.
	OtherNamespace Verdict = "OtherNamespace"
	// UnmappableKind means that the server does not serve the owner's kind.
	UnmappableKind Verdict = "UnmappableKind"
	// Unknown means that the owner could not be read, or has not been looked for.
	Unknown Verdict = "Unknown"
)

// Dangling reports whether the garbage collector treats such a reference as one to nothing. A reference of a
// cluster-scoped object to a namespaced owner is not dangling for it, although it is OtherNamespace: see
// Owner.Dangling.
func (v Verdict) Dangling() bool { return v == OwnerMissing || v == OtherUID || v == OtherNamespace }

// Owner is an owner reference and what is known about it.
type Owner struct {
	metav1.OwnerReference
	// Node is the owner; nil unless the verdict is Solid.
	Node    *Node
	Verdict Verdict
	// Confirmed is false while the verdict is only what lists say, which may be older than the reference. No caller
	// should call an owner missing before a live read has confirmed it: see Graph.Confirm.
	Confirmed bool
	// Impossible is true for a reference of a cluster-scoped object to a namespaced owner, which stops the garbage
	// collector from ever judging the object.
	Impossible bool
	// Detail adds to the verdict, for people; it may be empty.
	Detail string
}

// Dangling reports whether it is certain that the garbage collector takes the reference for one to nothing.
func (o *Owner) Dangling() bool { return o.Confirmed && !o.Impossible && o.Verdict.Dangling() }

// Blocks reports whether the dependent holds up the foreground deletion of the owner.
func (o *Owner) Blocks() bool { return o.BlockOwnerDeletion != nil && *o.BlockOwnerDeletion }

// Dangling reports whether it is certain that a reference of the object is to nothing, whatever else it refers to.
func (n *Node) Dangling() bool {
	return slices.ContainsFunc(n.Owners, func(o Owner) bool { return o.Dangling() })
}

// Finalized reports whether the object has the finalizer.
func (n *Node) Finalized(finalizer string) bool { return slices.Contains(n.Finalizers, finalizer) }

// Compare orders nodes by kind, namespace, name and uid.
func (n *Node) Compare(other *Node) int {
	if n.Kind != other.Kind {
		if c := n.Kind.Compare(*other.Kind); c != 0 {
			return c
		}
	}
	return cmp.Or(compareNames(n, other), cmp.Compare(n.UID, other.UID))
}

func compareNames(a, b *Node) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// String is the node as `kubectl get -o name` writes it: deployment.apps/web.
func (n *Node) String() string { return n.Kind.String() + "/" + n.Name }

// OwnerKind names the kind of an owner of the node: Service, or Service.serving.knative.dev if the node's kind has that
// name, too, in another group.
func (n *Node) OwnerKind(o *Owner) string {
	group := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group
	if o.Kind != n.Kind.Kind || group == n.Kind.Group || group == "" {
		return o.Kind
	}
	return o.Kind + "." + group
}

// owner returns the reference by which parent owns the node; nil if it does not.
func (n *Node) owner(parent *Node) *Owner {
	for i := range n.Owners {
		if n.Owners[i].Node == parent {
			return &n.Owners[i]
		}
	}
	return nil
}
