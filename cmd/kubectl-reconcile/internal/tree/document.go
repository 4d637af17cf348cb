package tree

import (
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// newDocument is the tree for programs: nothing in it is folded.
func newDocument(v *view) *v1alpha1.OwnerTree {
	return &v1alpha1.OwnerTree{
		APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.OwnerTreeKind,
		Trees: append([]*v1alpha1.TreeObject{}, treeObjects(v.nodes, v.collector)...), Incomplete: v.incomplete,
	}
}

func treeObjects(nodes []*treestatus.StatusNode, c garbageCollector) []*v1alpha1.TreeObject {
	var out []*v1alpha1.TreeObject
	for _, n := range nodes {
		out = append(out, newTreeObject(n, c))
	}
	return out
}

func newTreeObject(n *treestatus.StatusNode, c garbageCollector) *v1alpha1.TreeObject {
	b, node := n.Branch, n.Branch.Node
	o := &v1alpha1.TreeObject{
		Object: refOf(node), Created: node.Created, Deleting: node.Deleting, Finalizers: node.Finalizers,
		Report: n.Facts.Report, Drifted: n.Facts.Drifted(), NotReady: n.Facts.NotReady(), Summary: reasonOf(n),
		LastWriter: n.Facts.Writer, Containers: n.Facts.Containers,
		Relation: b.Relation, Missing: b.Missing, Asked: b.Asked,
		Repeated: b.Repeated, Cycle: b.Cycle, Beside: b.Beside, Truncated: b.Truncated,
		Children: treeObjects(n.Children, c),
	}
	if n.Findings != nil {
		for _, lack := range n.Findings.Lacks {
			o.Lacks = append(o.Lacks, v1alpha1.Lack{Object: refOf(lack.Object), NamedBy: refOf(lack.NamedBy)})
		}
		for _, e := range n.Findings.Events {
			o.Events = append(o.Events, v1alpha1.Event(e))
		}
	}
	for i := range node.Owners {
		o.Owners = append(o.Owners, newOwner(&node.Owners[i]))
	}
	if f := n.Outcome; f.Action != ownertree.Kept {
		o.GarbageCollector = &v1alpha1.GarbageCollection{
			Action: string(f.Action), Policy: f.Policy, Why: f.Why, After: refsOf(f.After), Finalizers: f.Finalizers,
		}
	}
	if blockers, deleting := c.Blockers(node); deleting {
		held := newBlockers(blockers)
		o.HeldBy = &held
	}
	return o
}

func newOwner(o *ownertree.Owner) v1alpha1.Owner {
	return v1alpha1.Owner{
		APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID,
		Controller: o.Controller != nil && *o.Controller, BlockOwnerDeletion: o.Blocks(),
		Verdict: string(o.Verdict), Confirmed: o.Confirmed, Detail: o.Detail,
	}
}

func newBlockers(blockers ownertree.DeletionBlockers) v1alpha1.DeletionBlockers {
	out := v1alpha1.DeletionBlockers{
		Finalizers: blockers.Finalizers, Dependents: refsOf(blockers.Dependents), Undiscovered: blockers.Undiscovered,
	}
	for _, r := range blockers.Removals {
		out.Releases = append(out.Releases, v1alpha1.FinalizerRemoval{
			Finalizer: r.Finalizer, By: r.By, Once: r.Once, Certain: r.Certain, Users: refsOf(r.Users),
		})
	}
	return out
}

func refOf(n *ownertree.Node) v1alpha1.ObjectRef {
	return v1alpha1.ObjectRef{
		APIVersion: n.Kind.GroupVersion().String(), Kind: n.Kind.Kind, Namespace: n.Namespace, Name: n.Name, UID: n.UID,
	}
}

func refsOf(nodes []*ownertree.Node) []v1alpha1.ObjectRef {
	out := make([]v1alpha1.ObjectRef, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, refOf(n))
	}
	return out
}

// document is the preview for programs.
func (p *preview) document() *v1alpha1.DeletePreview {
	d := &v1alpha1.DeletePreview{
		APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.DeletePreviewKind, Policy: p.result.Policy,
		Asked: refsOf(p.asked), Deleted: refsOf(p.result.Deleted), Orphaned: refsOf(p.result.Orphaned),
		Late:  refsOf(p.result.Late),
		Stuck: p.reasons(p.result.Stuck), Unknown: p.reasons(p.result.Unknown), Incomplete: p.result.Incomplete,
		HeldUp: heldObjects(p.result.Blocked), Waits: heldObjects(p.result.Waits),
	}
	for _, n := range p.result.Kept {
		d.Kept = append(d.Kept, v1alpha1.KeptObject{Object: refOf(n), Owners: refsOf(p.keepers(n))})
	}
	for _, c := range p.claims {
		d.Claims = append(d.Claims, newClaimOutcome(c))
	}
	return d
}

func (p *preview) reasons(nodes []*ownertree.Node) []v1alpha1.ObjectReason {
	var out []v1alpha1.ObjectReason
	for _, n := range nodes {
		out = append(out, v1alpha1.ObjectReason{Object: refOf(n), Why: p.result.GCOutcome(n).Why})
	}
	return out
}

func heldObjects(all []ownertree.DeletionBlockers) []v1alpha1.HeldObject {
	var out []v1alpha1.HeldObject
	for _, b := range all {
		held := v1alpha1.HeldObject{Object: refOf(b.Node), DeletionBlockers: newBlockers(b), Perhaps: b.Perhaps}
		out = append(out, held)
	}
	return out
}

func newClaimOutcome(c ownertree.ClaimOutcome) v1alpha1.ClaimOutcome {
	out := v1alpha1.ClaimOutcome{
		Object: refOf(c.Claim), Deleted: c.Deleted, WhenDeleted: c.WhenDeleted, ReclaimPolicy: c.Reclaim,
	}
	if c.Set != nil {
		set := refOf(c.Set)
		out.StatefulSet = &set
	}
	if c.Volume != nil {
		volume := refOf(c.Volume)
		out.Volume = &volume
	}
	return out
}
