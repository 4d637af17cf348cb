package ownertree

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Preview is what deleting objects would lead to, when all is over that it starts. All lists are sorted.
type Preview struct {
	// Policy is the one asked for; empty for what the API server does without one: see DefaultPropagation.
	Policy metav1.DeletionPropagation
	// Deleted are the objects that would go: those asked for, what is in them if they are namespaces or definitions of
	// custom kinds, and what the garbage collector would delete. What goes in any case is not among them.
	Deleted []*Node
	// Orphaned would stay, and lose the references to owners that orphan them.
	Orphaned []*Node
	// Kept would lose references to owners that go, and stay for another owner.
	Kept []*Node
	// Stuck would stay with references to nothing, for the garbage collector cannot judge them: see NeverCollected.
	Stuck []*Node
	// Unknown depend on owners that could not be read.
	Unknown []*Node
	// Blocked are those of Deleted that could not go by themselves: with the finalizers that others must remove, the
	// dependents and contents that they would wait for and that would not go, or the API versions that do not answer.
	Blocked []DeletionBlockers
	// Waits are those of Deleted, beside Blocked, that have finalizers which Kubernetes itself removes: they would go
	// sooner or later if the conditions of these come about.
	Waits []DeletionBlockers
	// Late are those of Deleted that would not surely be deleted before what holds an owner of theirs is gone.
	Late []*Node
	// Incomplete is what could not be read: objects of these kinds may go, too.
	Incomplete []cluster.Incomplete

	after *gcSimulation
}

// GCOutcome explains an object of one of the lists: why, and which references it would lose.
func (p *Preview) GCOutcome(n *Node) GCOutcome {
	if _, asked := p.after.assumed[n]; asked {
		return GCOutcome{Action: Deleted, Policy: p.after.going[n].policy(), Why: "it would be deleted"}
	}
	return p.after.outcome(n)
}

// DefaultPropagation is what the API server does about the dependents of an object that is deleted without a policy: a
// finalizer decides, and else the kind. It mirrors shouldOrphanDependents and shouldDeleteDependentsInForeground of
// k8s.io/apiserver/pkg/registry/generic/registry/store.go. Kubectl always sends a policy.
func DefaultPropagation(n *Node) metav1.DeletionPropagation {
	kind := n.Kind.GroupKind().String()
	switch {
	case n.Finalized(metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case n.Finalized(metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	case kind == "Job.batch" && n.Kind.Version == "v1", kind == "ReplicationController" && n.Kind.Version == "v1":
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// DeletePreview predicts what deleting the objects with the policy would lead to, as the API server and the garbage
// collector have it; an empty policy is the API server's default. Verdicts must be confirmed, as for Graph.GCOutcome,
// and the graph must cover the objects: see ScopeOf. What else controllers would do is left out, as that a ReplicaSet
// makes a new pod; but see PreviewClaims for volumes.
func (g *Graph) DeletePreview(asked []*Node, policy metav1.DeletionPropagation) Preview {
	undone, done := map[*Node]deletionMode{}, map[*Node]deletionMode{}
	contents := map[*Node][]*Node{}
	for _, n := range asked {
		contents[n] = g.contents(n)
		for _, inside := range contents[n] {
			done[inside] = modeWithin(n, inside)
		}
	}
	for _, n := range asked {
		done[n] = modeOf(policy, n)
	}
	for n := range done {
		undone[n] = stays
	}
	before, after := g.assume(undone), g.assume(done)
	p := Preview{Policy: policy, Incomplete: g.Incomplete(), after: after}
	for _, n := range g.nodes {
		p.sort(n, before)
	}
	(&blockerSearch{graph: g, after: after, contents: contents}).fill(&p)
	return p
}

// AtLeast reports whether more may be deleted than what is listed, for not everything could be read.
func (p *Preview) AtLeast() bool { return len(p.Incomplete) > 0 }

// contents are what goes with a namespace, or with the definition of a custom kind: their controllers delete it, and
// not the garbage collector.
func (g *Graph) contents(n *Node) []*Node {
	var inside func(*Node) bool
	switch n.Kind.GroupKind().String() {
	case "Namespace":
		inside = func(other *Node) bool { return other.Namespace == n.Name }
	case "CustomResourceDefinition.apiextensions.k8s.io":
		inside = func(other *Node) bool { return other.Kind.GroupResource().String() == n.Name }
	default:
		return nil
	}
	var out []*Node
	for _, other := range g.nodes {
		if inside(other) {
			out = append(out, other)
		}
	}
	return out
}

// sort puts a node into the list that it belongs to. What becomes of it without the deletion is not of interest.
func (p *Preview) sort(n *Node, before *gcSimulation) {
	switch {
	case p.after.going[n] != stays && before.going[n] == stays:
		p.Deleted = append(p.Deleted, n)
		return
	case p.after.going[n] != stays || !p.touches(n, before):
		return
	}
	owners := p.after.summarize(n)
	switch outcome := p.after.outcome(n); outcome.Action {
	case GCUnknown:
		p.Unknown = append(p.Unknown, n)
	case ReferencesStripped:
		if owners.solid == nil {
			p.Orphaned = append(p.Orphaned, n)
		} else {
			p.Kept = append(p.Kept, n)
		}
	case Kept, NeverCollected:
		p.Stuck = append(p.Stuck, n)
	case Deleted, DeletedWithOwner, BeingDeleted:
	}
}

// touches reports whether an owner of the node goes that would stay without the deletion.
func (p *Preview) touches(n *Node, before *gcSimulation) bool {
	return slices.ContainsFunc(n.Owners, func(o Owner) bool {
		return o.Node != nil && p.after.going[o.Node] != stays && before.going[o.Node] == stays
	})
}

// modeOf is how an object goes that is deleted with a policy.
func modeOf(policy metav1.DeletionPropagation, n *Node) deletionMode {
	if policy == "" {
		policy = DefaultPropagation(n)
	}
	switch policy {
	case metav1.DeletePropagationOrphan:
		return orphan
	case metav1.DeletePropagationForeground:
		return foreground
	default:
		return background
	}
}

// modeWithin is how what is in a namespace goes (deletion of k8s.io/kubernetes/pkg/controller/namespace names a
// policy), or an object of a kind whose definition does (crd_finalizer.go of k8s.io/apiextensions-apiserver names
// none).
func modeWithin(container, n *Node) deletionMode {
	if container.Kind.Kind == "Namespace" {
		return background
	}
	return modeOf("", n)
}

func (l deletionMode) policy() metav1.DeletionPropagation {
	switch l {
	case orphan:
		return metav1.DeletePropagationOrphan
	case foreground:
		return metav1.DeletePropagationForeground
	case background:
		return metav1.DeletePropagationBackground
	case stays:
	}
	return ""
}
