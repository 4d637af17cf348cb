package treestatus

import (
	"iter"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// Severities, as inspect.Status.Severity orders them.
const (
	// SeverityNormal is the highest severity of objects that are where they should be, suspended ones included.
	SeverityNormal = 1
	// SeverityDegraded is that of Degraded: the least that explains the state of an owner that is Current itself.
	SeverityDegraded = 5
)

// The statuses that no object reports by itself, beside those of package inspect.
const (
	// Missing is the status of something that is referred to and does not exist.
	Missing = "Missing"
	// Dangling is the status of an object that the garbage collector will delete and none of whose owners exists.
	Dangling = "Dangling"
)

// StatusNode is an object in its place in a tree, with its status and what the objects below it add up to.
type StatusNode struct {
	// Branch is the object's place in the tree. Children has a StatusNode for each of Branch.Children.
	Branch   *ownertree.Branch
	Children []*StatusNode
	// Facts are what the object reports; never nil.
	Facts *Facts
	// Findings are what other objects tell about it; they may be nil.
	Findings *Findings
	// Outcome is what the garbage collector will do about it.
	Outcome ownertree.GCOutcome

	// Status is that of the facts, or Missing, or Dangling.
	Status string
	// OwnSeverity is that of the object's own state. What is wrong only with its owners, or with what its controller
	// has observed, does not count: it explains nothing above.
	OwnSeverity int
	// Severity is OwnSeverity raised by drift, and by owners that do not exist.
	Severity int
	// WorstSeverity is the highest Severity of the object and all that it owns in this tree.
	WorstSeverity int
	// Cause is the worst object below it that nothing further below explains; nil if nothing below is wrong. Causes is
	// how many such objects there are; of those that are drawn elsewhere only the worst counts.
	Cause  *StatusNode
	Causes int
	// Asked reports whether it, or something below it, was asked for.
	Asked bool
	// Replaced reports that it is a pod that has ended, for which its owner makes another: it explains nothing of the
	// owner.
	Replaced bool

	// causes are the objects that Causes counts, while the node above adds them up.
	causes map[*ownertree.Node]bool
}

// OutcomeSource knows what the garbage collector will do about objects. A Graph does.
type OutcomeSource interface {
	GCOutcome(n *ownertree.Node) ownertree.GCOutcome
}

var _ OutcomeSource = (*ownertree.Graph)(nil)

// RollUp adds up a tree that Graph.Tree has laid out. Related objects and circles count nothing for the object that
// they are drawn below; a Repeated branch counts what its full one does. Findings may be nil.
func RollUp(
	branches []*ownertree.Branch, outcomes OutcomeSource, facts FactsByUID, findings FindingsByUID,
) []*StatusNode {
	r := rollUp{outcomes, facts, findings, map[*ownertree.Node]*StatusNode{}}
	return r.nodes(branches)
}

type rollUp struct {
	outcomes OutcomeSource
	facts    FactsByUID
	findings FindingsByUID
	// full are the nodes of what has been added up, of Repeated branches those of the full one.
	full map[*ownertree.Node]*StatusNode
}

func (r *rollUp) nodes(branches []*ownertree.Branch) []*StatusNode {
	out := make([]*StatusNode, 0, len(branches))
	for _, b := range branches {
		out = append(out, r.node(b))
	}
	return out
}

func (r *rollUp) node(b *ownertree.Branch) *StatusNode {
	n := &StatusNode{
		Branch: b, Facts: r.facts.Of(b.Node), Findings: r.findings[b.Node.UID],
		Outcome: r.outcomes.GCOutcome(b.Node), Asked: b.Asked,
	}
	if n.Findings != nil {
		n.Facts = n.Facts.WithEvents(n.Findings.Events)
	}
	n.Status = n.status()
	n.OwnSeverity = n.ownSeverity()
	n.Severity = n.severity()
	n.WorstSeverity = n.Severity
	n.Children = r.nodes(b.Children)
	n.markReplaced()
	for _, child := range n.Children {
		n.Asked = n.Asked || child.Asked
		if child.Branch.Relation == "" && !child.Branch.Cycle {
			n.add(child)
		}
	}
	n.Causes = len(n.causes)
	switch full := r.full[b.Node]; {
	case b.Repeated && full != nil:
		n.WorstSeverity, n.Cause, n.Causes = max(n.Severity, full.WorstSeverity), full.Cause, full.Causes
	case !b.Repeated && !b.Cycle:
		r.full[b.Node] = n
	}
	return n
}

// ReplacesPods reports whether the controller of objects of a kind makes another pod for each that has ended.
func ReplacesPods(kind schema.GroupKind) bool {
	return kind.Group == "apps" || kind == schema.GroupKind{Kind: "ReplicationController"}
}

// If so many of the youngest pods have ended, created within so short a time, each new one does.
const (
	repeatedEnds   = 3
	repeatedWithin = 10 * time.Minute
)

// markReplaced marks those of the pods below that have ended, if the owner makes another for each, and not each new one
// ends, too.
func (n *StatusNode) markReplaced() {
	if n.Branch.Node.Kind.GroupKind().String() == "Job.batch" {
		n.markCompletedIndexes()
		return
	}
	if !ReplacesPods(n.Branch.Node.Kind.GroupKind()) {
		return
	}
	var youngest time.Time
	for _, c := range n.Children {
		if created := c.Branch.Node.Created.Time; c.Branch.Node.Kind.Kind == "Pod" && created.After(youngest) {
			youngest = created
		}
	}
	ended := 0
	for _, c := range n.Children {
		if c.Facts.Ended && youngest.Sub(c.Branch.Node.Created.Time) < repeatedWithin {
			ended++
		}
	}
	for _, c := range n.Children {
		c.Replaced = c.Facts.Ended && ended < repeatedEnds
	}
}

// markCompletedIndexes marks those of the pods of a Job that have failed, and whose index another one has completed.
func (n *StatusNode) markCompletedIndexes() {
	completed := map[string]bool{}
	indexOf := func(c *StatusNode) string { return c.Branch.Node.Labels[batchv1.JobCompletionIndexAnnotation] }
	for _, c := range n.Children {
		if c.Facts.Ended && c.Facts.Current() {
			completed[indexOf(c)] = true
		}
	}
	for _, c := range n.Children {
		c.Replaced = c.Facts.Ended && !c.Facts.Current() && indexOf(c) != "" && completed[indexOf(c)]
	}
}

// add adds what is wrong in a dependent.
func (n *StatusNode) add(child *StatusNode) {
	if child.Replaced {
		return
	}
	n.WorstSeverity = max(n.WorstSeverity, child.WorstSeverity)
	cause, causes := child.Cause, child.causes
	child.causes = nil
	if cause == nil && child.OwnSeverity > SeverityNormal {
		cause = child
	}
	if cause == nil {
		return
	}
	if len(causes) > len(n.causes) { // the smaller set is copied: in a deep tree that is one object a level
		n.causes, causes = causes, n.causes
	}
	if n.causes == nil {
		n.causes = map[*ownertree.Node]bool{}
	}
	maps.Copy(n.causes, causes)
	n.causes[cause.Branch.Node] = true
	if n.Cause == nil || cause.OwnSeverity > n.Cause.OwnSeverity {
		n.Cause = cause
	}
}

func (n *StatusNode) status() string {
	switch {
	case n.Branch.Missing:
		return Missing
	case n.Outcome.Action == ownertree.Deleted && !n.hasOwner():
		return Dangling
	}
	return n.Facts.Status.Status
}

func (n *StatusNode) ownSeverity() int {
	switch {
	case n.Status == Dangling:
		return SeverityDegraded
	case n.Facts.Unreported():
		return SeverityNormal
	}
	return n.Facts.Severity()
}

// severity is inspect's, raised for drift and for what only the owners tell. An object that no controller has ever
// reported on is normal.
func (n *StatusNode) severity() int {
	severity := n.Facts.Severity()
	if n.Facts.Unreported() {
		severity = SeverityNormal
	}
	if n.Facts.Drifted() {
		severity = max(severity, inspect.Status{Status: inspect.InProgress}.Severity())
	}
	if n.LosesOwner() || n.Branch.Missing {
		severity = max(severity, SeverityDegraded)
	}
	return severity
}

// LosesOwner reports whether the object is of note because an owner does not exist, or will not: it is not already
// being deleted. Of objects that are never collected that is any that has owners.
func (n *StatusNode) LosesOwner() bool {
	if n.Outcome.Action == ownertree.NeverCollected {
		return len(n.Branch.Node.Owners) > 0
	}
	return n.Outcome.Action != ownertree.BeingDeleted && n.Dangles()
}

// Dangles reports whether an owner of the object certainly does not exist, or lets go of it. One that exists, though it
// is being deleted, is an owner as long as it does.
func (n *StatusNode) Dangles() bool {
	node := n.Branch.Node
	switch n.Outcome.Action {
	case ownertree.ReferencesStripped:
		return len(n.Outcome.After) == 0
	case ownertree.Deleted:
		return !n.hasOwner() || node.Dangling()
	case ownertree.DeletedWithOwner, ownertree.BeingDeleted:
		return node.Dangling()
	case ownertree.Kept, ownertree.NeverCollected, ownertree.GCUnknown:
	}
	return false
}

// hasOwner reports whether an owner exists, though it may be being deleted.
func (n *StatusNode) hasOwner() bool {
	return slices.ContainsFunc(n.Branch.Node.Owners, func(o ownertree.Owner) bool { return o.Node != nil })
}

// Each returns the nodes of trees in the order in which they are drawn, of each object the first.
func Each(tops []*StatusNode) []*StatusNode {
	var out []*StatusNode
	seen := map[*ownertree.Node]bool{}
	for _, n := range Walk(tops) {
		if !seen[n.Branch.Node] {
			seen[n.Branch.Node] = true
			out = append(out, n)
		}
	}
	return out
}

// Walk yields the nodes of trees in the order in which they are drawn, each after its level, which is 0 for tops.
func Walk(tops []*StatusNode) iter.Seq2[int, *StatusNode] {
	return func(yield func(int, *StatusNode) bool) { walk(tops, 0, yield) }
}

func walk(all []*StatusNode, level int, yield func(int, *StatusNode) bool) bool {
	for _, n := range all {
		if !yield(level, n) || !walk(n.Children, level+1, yield) {
			return false
		}
	}
	return true
}
