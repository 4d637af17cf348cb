package ownertree

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GCAction is what the garbage collector will do about an object.
type GCAction string

// The actions.
const (
	// Kept means nothing.
	Kept GCAction = "Kept"
	// ReferencesStripped means that the object stays and loses some owner references.
	ReferencesStripped GCAction = "ReferencesStripped"
	// Deleted means that the object is deleted as it is, by GCOutcome.Policy; finalizers may delay that: see
	// GCOutcome.Finalizers.
	Deleted GCAction = "Deleted"
	// DeletedWithOwner means that the object is deleted when the owners that are there now, and go, have gone:
	// GCOutcome.After. As long as something holds them up it stays.
	DeletedWithOwner GCAction = "DeletedWithOwner"
	// BeingDeleted means that the object has been deleted already; the garbage collector does not judge it any more.
	BeingDeleted GCAction = "BeingDeleted"
	// NeverCollected means that the garbage collector cannot judge the object, as long as nothing else changes, and so
	// leaves it alone whether its owners are there or not.
	NeverCollected GCAction = "NeverCollected"
	// GCUnknown means that it depends on what could not be read.
	GCUnknown GCAction = "Unknown"
)

// GCOutcome is what the garbage collector will do about an object if nothing else changes.
type GCOutcome struct {
	Action GCAction
	// Policy is that of the deletion; empty unless the action is Deleted or DeletedWithOwner.
	Policy metav1.DeletionPropagation
	// Stripped are the references that the object loses while it stays; nil unless the action is ReferencesStripped, or
	// DeletedWithOwner and an owner beside those that are there is gone.
	Stripped []metav1.OwnerReference
	// After are the owners that are there and have to go before anything happens, or before the object is deleted, in
	// the order of the references; nil if it happens at once.
	After []*Node
	// Finalizers are those that keep the object when it is deleted, until their own controllers remove them; those that
	// Kubernetes itself removes are not among them. Nil unless the action is Deleted or DeletedWithOwner.
	Finalizers []string
	// Why is for people: "its owner ReplicaSet web-1 does not exist". It may be empty if the action is Kept.
	Why string
}

// GCOutcome predicts what the garbage collector does about the object. It mirrors GarbageCollector.attemptToDeleteItem
// and GarbageCollector.classifyReferences of k8s.io/kubernetes/pkg/controller/garbagecollector/garbagecollector.go:
// first about the object's owners, then, when those have gone, about the object. Only confirmed verdicts count; with
// others it is GCUnknown, so Confirm and Ascend belong before it.
func (g *Graph) GCOutcome(n *Node) GCOutcome {
	f := g.simulateGC()
	return f.outcome(n)
}

// outcome judges a node by what becomes of its owners.
func (f *gcSimulation) outcome(n *Node) GCOutcome {
	switch {
	case n.Deleting != nil:
		return GCOutcome{Action: BeingDeleted}
	case len(n.Owners) == 0:
		return GCOutcome{Action: Kept}
	case !n.Kind.Collected():
		return GCOutcome{Action: NeverCollected, Why: fmt.Sprintf("the garbage collector does not watch %s", n.Kind)}
	}
	p := f.summarize(n)
	switch {
	case p.solid == nil && p.unknown != nil:
		return GCOutcome{Action: GCUnknown, Why: unknownWhy(n, p.unknown)}
	case p.stuck != nil && p.solid == nil:
		return GCOutcome{Action: NeverCollected, Why: stuckWhy(n, p.stuck)}
	case p.stuck != nil:
		return GCOutcome{Action: Kept, Why: stuckWhy(n, p.stuck)}
	case p.unknown != nil:
		return GCOutcome{Action: Kept, Why: unknownWhy(n, p.unknown)}
	case p.solid != nil && len(p.lost)+len(p.orphaned) == 0:
		return GCOutcome{Action: Kept}
	case p.solid != nil, len(p.lost) == 0:
		gone := slices.Concat(p.lost, p.orphaned)
		outcome := GCOutcome{Action: ReferencesStripped, Stripped: stripped(n, gone), Why: f.whyLost(n, p.first())}
		if later := f.later(p.lost); len(later) == len(p.lost) && len(p.orphaned) == 0 {
			outcome.After = nodesOf(later)
		}
		return outcome
	case len(p.orphaned) > 0:
		const why = "it loses one owner by orphaning and another for good, and which comes first decides"
		return GCOutcome{Action: GCUnknown, Why: why}
	}
	return f.deleted(n, p)
}

// deleted is the outcome of a node all of whose owners go. Those that are there are solid until they have gone, unless
// they wait for the node; meanwhile the references to others are taken away.
func (f *gcSimulation) deleted(n *Node, p ownerSummary) GCOutcome {
	outcome := GCOutcome{
		Action: Deleted, Policy: f.policy(n, p), Why: f.whyLost(n, p.first()), Finalizers: n.foreignFinalizers(),
	}
	later := f.later(p.lost)
	if len(later) == 0 {
		return outcome
	}
	outcome.Action, outcome.After, outcome.Why = DeletedWithOwner, nodesOf(later), f.whyLater(n, later)
	now := slices.DeleteFunc(slices.Clone(p.lost), func(o *Owner) bool { return slices.Contains(later, o) })
	if len(now) > 0 {
		outcome.Stripped = stripped(n, now)
		outcome.Why += fmt.Sprintf("; before, it loses its reference to %s %s", n.OwnerKind(now[0]), now[0].Name)
	}
	return outcome
}

// later are those of the references whose owner is there and does not wait for its dependents.
func (f *gcSimulation) later(lost []*Owner) []*Owner {
	var out []*Owner
	for _, o := range lost {
		if o.Node != nil && !o.Node.waits() && f.assumed[o.Node] != foreground {
			out = append(out, o)
		}
	}
	return out
}

// whyLater names the owner to wait for: one that is being deleted, if there is one.
func (f *gcSimulation) whyLater(n *Node, later []*Owner) string {
	o := later[0]
	if i := slices.IndexFunc(later, func(o *Owner) bool { return o.Node.Deleting != nil }); i >= 0 {
		o = later[i]
	}
	if f.assumed[o.Node] != stays {
		return f.whyLost(n, o)
	}
	return fmt.Sprintf("it goes when its owner %s %s has gone", n.OwnerKind(o), o.Name)
}

func nodesOf(owners []*Owner) []*Node {
	var out []*Node
	for _, o := range owners {
		if !slices.Contains(out, o.Node) {
			out = append(out, o.Node)
		}
	}
	return out
}

// goes reports whether the object is deleted sooner or later.
func (a GCAction) goes() bool { return a == Deleted || a == DeletedWithOwner }

// policy is the choice at the end of attemptToDeleteItem.
func (f *gcSimulation) policy(n *Node, p ownerSummary) metav1.DeletionPropagation {
	switch {
	case p.waited && len(n.Dependents)+len(f.graph.mismatchedUIDs[n]) > 0:
		return metav1.DeletePropagationForeground
	case n.Finalized(metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case n.Finalized(metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

func unknownWhy(n *Node, o *Owner) string {
	why := fmt.Sprintf("it is not known whether its owner %s %s exists", n.OwnerKind(o), o.Name)
	if o.Detail != "" {
		why += ": " + o.Detail
	}
	return why
}

func stuckWhy(n *Node, o *Owner) string {
	if o.Impossible {
		const text = "its owner %s %s is in a namespace, so the garbage collector never deletes it"
		return fmt.Sprintf(text, n.OwnerKind(o), o.Name)
	}
	const text = "the garbage collector does not find the kind %s of %s, and tries again until it does"
	return fmt.Sprintf(text, o.Kind, o.APIVersion)
}

// whyLost explains why a reference is to nothing, or will be.
func (f *gcSimulation) whyLost(n *Node, o *Owner) string {
	name := fmt.Sprintf("its owner %s %s", n.OwnerKind(o), o.Name)
	switch {
	case o.Node == nil && o.Verdict == OtherUID:
		return name + " is another than the one it refers to"
	case o.Node == nil && o.Verdict == OtherNamespace:
		return name + " is not in its namespace"
	case o.Node == nil:
		return name + " does not exist"
	case f.assumed[o.Node] == orphan:
		return name + " would be deleted and orphan its dependents"
	case f.assumed[o.Node] != stays:
		return name + " would be deleted"
	case o.Node.orphans():
		return name + " is being deleted and orphans its dependents"
	case o.Node.Deleting != nil:
		return name + " is being deleted"
	case f.going[o.Node] == orphan:
		return name + " will be deleted too and orphans its dependents"
	}
	return name + " will be deleted too"
}
