package ownertree

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// DeletionBlockers are what delays the deletion of an object.
type DeletionBlockers struct {
	Node *Node
	// Finalizers are those that only their own controllers remove, which may not even run.
	Finalizers []string
	// Removals are the others: Kubernetes itself removes them, each under a condition.
	Removals []FinalizerRemoval
	// Dependents are those that the object's foreground deletion waits for, sorted; nil unless it is deleted so. An
	// object that owns itself by a reference that blocks is among its own, and waits forever.
	Dependents []*Node
	// Unblocked reports that the object is deleted in the foreground and that no dependent blocks it, of all that there
	// are: nothing but the garbage collector has to act.
	Unblocked bool
	// Perhaps reports, in a Preview, that it depends on what comes first: of objects that own each other in a
	// circle and are deleted in the foreground together, each waits for the other if all are deleted before the garbage
	// collector has handled the first; else none does.
	Perhaps bool
	// Undiscovered are the API versions whose kinds are not known, sorted; nil unless the object is a namespace. Its
	// deletion does not end as long as there is one (deleteAllContent of
	// k8s.io/kubernetes/pkg/controller/namespace/deletion), whether its kinds would have namespaces or not: the
	// namespace controller cannot know that either.
	Undiscovered []cluster.Incomplete
}

// Blockers returns what holds up an object that is being deleted; false if it is not being deleted. Nothing of all this
// may hold it, as with a pod whose containers are given time to end. What is still in a namespace, or of a kind whose
// definition is being deleted, is left out: the object's own conditions count it. The finalizers of a namespace's spec
// count only once ReadNamespaces has read them.
func (g *Graph) Blockers(n *Node) (DeletionBlockers, bool) {
	if n.Deleting == nil {
		return DeletionBlockers{}, false
	}
	blockers := DeletionBlockers{
		Node: n, Finalizers: n.foreignFinalizers(), Removals: n.removals(), Undiscovered: g.undiscovered(n),
	}
	if n.waits() {
		blockers.Dependents = g.Blocking(n)
		blockers.Unblocked = len(blockers.Dependents) == 0 && g.Covers(n) &&
			len(g.unread)+len(g.kinds.Incomplete()) == 0
	}
	return blockers, true
}

// undiscovered are the API versions that hold up the deletion of a namespace.
func (g *Graph) undiscovered(n *Node) []cluster.Incomplete {
	if !n.isNamespace() {
		return nil
	}
	return g.kinds.Incomplete()
}

// Blocking returns the dependents whose references hold up a foreground deletion of the object, sorted. It mirrors
// node.blockingDependents of k8s.io/kubernetes/pkg/controller/garbagecollector/graph.go, which goes by uid alone.
func (g *Graph) Blocking(n *Node) []*Node {
	var out []*Node
	for _, d := range slices.Concat(n.Dependents, g.mismatchedUIDs[n]) {
		for i := range d.Owners {
			if d.Owners[i].UID == n.UID && d.Owners[i].Blocks() {
				out = append(out, d)
				break
			}
		}
	}
	slices.SortFunc(out, (*Node).Compare)
	return slices.Compact(out)
}

// waits reports whether the object is being deleted and waits for its dependents.
func (n *Node) waits() bool {
	return n.Deleting != nil && n.Finalized(metav1.FinalizerDeleteDependents)
}

// orphans reports whether the object is being deleted and its dependents are to lose their references to it.
func (n *Node) orphans() bool {
	return n.Deleting != nil && n.Finalized(metav1.FinalizerOrphanDependents)
}
