package ownertree

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Hold says what holds up the deletion of an object.
type Hold struct {
	Node *Node
	// Finalizers are all that the object has. The garbage collector itself removes foregroundDeletion and orphan.
	Finalizers []string
	// Dependents are those that the object's foreground deletion waits for, sorted; nil unless it is deleted so.
	Dependents []*Node
}

// Held returns what holds up an object that is being deleted; false if it is not being deleted. Nothing may hold it, as with
// a pod whose containers are given time to end.
func (g *Graph) Held(n *Node) (Hold, bool) {
	if n.Deleting == nil {
		return Hold{}, false
	}
	hold := Hold{Node: n, Finalizers: n.Finalizers}
	if n.waits() {
		hold.Dependents = g.Blocking(n)
	}
	return hold, true
}

// Blocking returns the dependents whose references hold up a foreground deletion of the object, sorted: blockingDependents
// of the garbage collector's graph.go, which goes by uid alone.
func (g *Graph) Blocking(n *Node) []*Node {
	var out []*Node
	for _, d := range slices.Concat(n.Dependents, g.misfits[n]) {
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

// waits says whether the object is being deleted and waits for its dependents.
func (n *Node) waits() bool {
	return n.Deleting != nil && n.Finalized(metav1.FinalizerDeleteDependents)
}

// orphans says whether the object is being deleted and its dependents are to lose their references to it.
func (n *Node) orphans() bool {
	return n.Deleting != nil && n.Finalized(metav1.FinalizerOrphanDependents)
}
