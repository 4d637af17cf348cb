package ownertree

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FateAction is what the garbage collector will do about an object.
type FateAction string

// The actions.
const (
	// Kept means nothing.
	Kept FateAction = "Kept"
	// ReferencesStripped means that the object stays and loses some owner references.
	ReferencesStripped FateAction = "ReferencesStripped"
	// Deleted means that the object is deleted, by Fate.Policy; a finalizer may hold that up.
	Deleted FateAction = "Deleted"
	// BeingDeleted means that somebody has deleted the object already; the garbage collector does not judge it any more.
	BeingDeleted FateAction = "BeingDeleted"
	// NeverCollected means that the garbage collector cannot judge the object, as long as nothing else changes, and so
	// leaves it alone whether its owners are there or not.
	NeverCollected FateAction = "NeverCollected"
	// FateUnknown means that it depends on what could not be read.
	FateUnknown FateAction = "Unknown"
)

// Fate is what the garbage collector will do about an object if nobody else does anything.
type Fate struct {
	Action FateAction
	// Policy is that of the deletion; empty unless the action is Deleted.
	Policy metav1.DeletionPropagation
	// Stripped are the references that the object loses; nil unless the action is ReferencesStripped.
	Stripped []metav1.OwnerReference
	// Why is for people: "its owner ReplicaSet web-1 does not exist". It may be empty if the action is Kept.
	Why string
}

// Fate foretells what the garbage collector does about the object, by attemptToDeleteItem and classifyReferences of its
// garbagecollector.go: first about the object's owners, then, when those have gone, about the object. Only confirmed
// verdicts count; with others it is FateUnknown, so Confirm and Ascend belong before it.
func (g *Graph) Fate(n *Node) Fate {
	f := g.future()
	return f.fate(n)
}

// fate judges a node by the prospects of its owners.
func (f *futures) fate(n *Node) Fate {
	switch {
	case n.Deleting != nil:
		return Fate{Action: BeingDeleted}
	case len(n.Owners) == 0:
		return Fate{Action: Kept}
	case !n.Kind.Collected():
		return Fate{Action: NeverCollected, Why: fmt.Sprintf("the garbage collector does not watch %s", n.Kind)}
	}
	p := f.prospects(n)
	switch {
	case p.solid == nil && p.unknown != nil:
		return Fate{Action: FateUnknown, Why: unknownWhy(p.unknown)}
	case p.stuck != nil && p.solid == nil:
		return Fate{Action: NeverCollected, Why: stuckWhy(p.stuck)}
	case p.stuck != nil:
		return Fate{Action: Kept, Why: stuckWhy(p.stuck)}
	case p.unknown != nil:
		return Fate{Action: Kept, Why: unknownWhy(p.unknown)}
	case p.solid != nil && len(p.lost)+len(p.orphaned) == 0:
		return Fate{Action: Kept}
	case p.solid != nil, len(p.lost) == 0:
		return Fate{Action: ReferencesStripped, Stripped: p.stripped(n), Why: f.whyLost(p.first())}
	case len(p.orphaned) > 0:
		return Fate{Action: FateUnknown, Why: "it loses one owner by orphaning and another for good, and which comes first decides"}
	}
	return Fate{Action: Deleted, Policy: f.policy(n, p), Why: f.whyLost(p.first())}
}

// policy is the choice at the end of attemptToDeleteItem.
func (f *futures) policy(n *Node, p prospects) metav1.DeletionPropagation {
	switch {
	case p.waited && len(n.Dependents)+len(f.graph.misfits[n]) > 0:
		return metav1.DeletePropagationForeground
	case n.Finalized(metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case n.Finalized(metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

func unknownWhy(o *Owner) string {
	why := fmt.Sprintf("it is not known whether its owner %s %s exists", o.Kind, o.Name)
	if o.Detail != "" {
		why += ": " + o.Detail
	}
	return why
}

func stuckWhy(o *Owner) string {
	if o.Impossible {
		return fmt.Sprintf("its owner %s %s is in a namespace, and it is not", o.Kind, o.Name)
	}
	return fmt.Sprintf("the garbage collector does not find the kind %s of %s, and tries again until it does", o.Kind, o.APIVersion)
}

// whyLost says why a reference is to nothing, or will be.
func (f *futures) whyLost(o *Owner) string {
	name := fmt.Sprintf("its owner %s %s", o.Kind, o.Name)
	switch {
	case o.Node == nil && o.Verdict == OtherUID:
		return name + " is another than the one it refers to"
	case o.Node == nil && o.Verdict == OtherNamespace:
		return name + " is not in its namespace"
	case o.Node == nil:
		return name + " does not exist"
	case f.assumed[o.Node] == orphaning:
		return name + " would be deleted and orphan its dependents"
	case f.assumed[o.Node] != staying:
		return name + " would be deleted"
	case o.Node.orphans():
		return name + " is being deleted and orphans its dependents"
	case o.Node.Deleting != nil:
		return name + " is being deleted"
	case f.going[o.Node] == orphaning:
		return name + " will be deleted too and orphans its dependents"
	}
	return name + " will be deleted too"
}
