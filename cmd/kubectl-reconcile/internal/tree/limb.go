package tree

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// objectFacts is what a tree tells of an object beyond its metadata.
type objectFacts struct {
	inspect.Report
	// writer is who wrote to it last; nil if that was not read, or is not told.
	writer *inspect.Writer
	// containers are those of a pod, if they were asked for.
	containers []inspect.Container
	// selector is that of a Service; nil if it has none.
	selector map[string]string
}

// unreadFacts stand for those of an object that was not read in full.
var unreadFacts = &objectFacts{Report: inspect.Report{
	Status: inspect.Status{Status: inspect.Unknown, Reason: "not read"},
	Drift:  inspect.Drift{State: inspect.NotReported},
}}

// factsByUID are those of the objects that are printed.
type factsByUID map[types.UID]*objectFacts

func (f factsByUID) of(n *ownertree.Node) *objectFacts {
	if facts := f[n.UID]; facts != nil {
		return facts
	}
	return unreadFacts
}

// at returns the facts as of a time, and whether any of them is another by then. The facts given do not change: while a
// tree is followed they may be read at the same time.
func (f factsByUID) at(now time.Time) (facts factsByUID, changed bool) {
	facts = f
	for uid, known := range f {
		if known.Later == nil || now.Before(known.Later.From) {
			continue
		}
		if !changed {
			facts, changed = maps.Clone(f), true
		}
		aged := *known
		aged.Report = known.At(now)
		facts[uid] = &aged
	}
	return facts, changed
}

// collector knows what the garbage collector makes of objects. A graph does.
type collector interface {
	GCOutcome(*ownertree.Node) ownertree.GCOutcome
	Blockers(*ownertree.Node) (ownertree.DeletionBlockers, bool)
}

var _ collector = (*ownertree.Graph)(nil)

// limb is a branch of a tree with what is known of its object, and what all that is below adds up to.
type limb struct {
	*ownertree.Branch
	facts    *objectFacts
	fate     ownertree.GCOutcome
	children []*limb
	// found is what is known about it from other objects; it may be nil.
	found *findings
	// severity is how much the object itself asks for attention, worst the most of it and all that it owns here.
	severity, worst int
	// cause is what is worst below and not itself explained by something further below; nil if nothing is wrong there. There
	// are causes such objects.
	cause  *limb
	causes int
	// ailments are those objects while the limb above adds them up; of what is drawn elsewhere only the worst is among
	// them.
	ailments map[*ownertree.Node]bool
	// asked says that it, or something below it, is what the user asked for.
	asked bool
}

// calm is the highest severity of objects that are where they should be, suspended ones included.
const calm = 1

// limbMaker adds trees up.
type limbMaker struct {
	facts     factsByUID
	collector collector
	found     *allFindings // may be nil
	// full are the limbs of what has been added up.
	full map[*ownertree.Node]*limb
}

func newLimbMaker(facts factsByUID, c collector, found *allFindings) limbMaker {
	return limbMaker{facts, c, found, map[*ownertree.Node]*limb{}}
}

func (m limbMaker) limbs(branches []*ownertree.Branch) []*limb {
	out := make([]*limb, 0, len(branches))
	for _, b := range branches {
		out = append(out, m.limb(b))
	}
	return out
}

func (m limbMaker) limb(b *ownertree.Branch) *limb {
	l := &limb{
		Branch: b, facts: m.facts.of(b.Node), fate: m.collector.GCOutcome(b.Node), found: m.found.known(b.Node), asked: b.Asked,
	}
	l.severity = severityOf(l)
	l.worst = l.severity
	l.children = m.limbs(b.Children)
	for _, child := range l.children {
		l.asked = l.asked || child.asked
		if child.Relation == "" && !child.Cycle {
			l.gather(child)
		}
	}
	l.causes = len(l.ailments)
	switch full := m.full[b.Node]; {
	case b.Repeated && full != nil:
		l.worst, l.cause, l.causes = max(l.severity, full.worst), full.cause, full.causes
	case !b.Repeated && !b.Cycle:
		m.full[b.Node] = l
	}
	return l
}

// gather adds what is wrong in a dependent.
func (l *limb) gather(child *limb) {
	l.worst = max(l.worst, child.worst)
	cause, ailments := child.cause, child.ailments
	child.ailments = nil
	if cause == nil && child.ailing() > calm {
		cause = child
	}
	if cause == nil {
		return
	}
	if len(ailments) > len(l.ailments) {
		l.ailments, ailments = ailments, l.ailments
	}
	if l.ailments == nil {
		l.ailments = map[*ownertree.Node]bool{}
	}
	maps.Copy(l.ailments, ailments)
	l.ailments[cause.Node] = true
	if l.cause == nil || cause.ailing() > l.cause.ailing() {
		l.cause = cause
	}
}

// ailing is how much the object's own state asks for attention: what is only the matter with its owners, or with what its
// controller has seen, explains nothing above.
func (l *limb) ailing() int {
	switch {
	case l.status() == dangling:
		return troubling
	case l.facts.Unreported():
		return calm
	}
	return l.facts.Severity()
}

// severityOf is inspect's, raised for what only the owners tell. An object that nobody has ever reported on is no trouble.
func severityOf(l *limb) int {
	severity := l.facts.Severity()
	if l.facts.Unreported() {
		severity = calm
	}
	if l.facts.Drifted() {
		severity = max(severity, inspect.Status{Status: inspect.InProgress}.Severity())
	}
	if l.dangles() || l.Missing {
		severity = max(severity, inspect.Status{Status: inspect.Degraded}.Severity())
	}
	return severity
}

// dangles reports whether an owner of the object is certainly not there, or will not be, and something is to be said of that.
func (l *limb) dangles() bool {
	if l.fate.Action == ownertree.NeverCollected {
		return len(l.Node.Owners) > 0
	}
	return l.fate.Action != ownertree.BeingDeleted && l.isDangling()
}

// isDangling reports whether an owner of the object is certainly not there, or lets go of it. One that is there, though
// it is being deleted, is an owner as long as it is.
func (l *limb) isDangling() bool {
	switch l.fate.Action {
	case ownertree.ReferencesStripped:
		return len(l.fate.After) == 0
	case ownertree.Deleted:
		return !l.hasOwner() || l.Node.Dangling()
	case ownertree.DeletedWithOwner, ownertree.BeingDeleted:
		return l.Node.Dangling()
	case ownertree.Kept, ownertree.NeverCollected, ownertree.GCUnknown:
	}
	return false
}

// reason is why the object is as it is, in few words: its own, or for lack of a better one that of the worst dependent.
func (l *limb) reason() string {
	own := l.ownReason()
	if l.cause == nil || l.ailing() <= calm && l.cause.ailing() < troubling || l.goesFirst() {
		return own
	}
	if short := l.cause.short(); l.causes == 1 && (own == short || strings.HasPrefix(own, short+": ")) {
		return own + " (on " + l.cause.Node.Name + ")"
	}
	below := l.cause.short() + " on " + l.cause.Node.Name
	if l.causes > 1 {
		below += " and " + fmt.Sprintf("%d more", l.causes-1)
	}
	switch {
	case own == "":
		return below
	case own != l.facts.Reason: // it has a cause
		return own + "; " + below
	}
	return own + ": " + below
}

// ownReason is the reason that the object itself gives, with what was found in other objects if that has no cause.
func (l *limb) ownReason() string {
	own := l.facts.Reason
	if l.Missing {
		return ""
	}
	found := l.found.short(func(n *ownertree.Node) string { return n.Kind.Kind + "/" + n.Name })
	switch {
	case found == "" || l.severity <= calm || strings.Contains(own, ": ") || strings.Contains(own, found):
		return own
	case own == "":
		return found
	}
	return own + ": " + found
}

// goesFirst reports whether the object is being deleted and does not wait for what it owns: nothing below explains its state.
func (l *limb) goesFirst() bool {
	return l.Node.Deleting != nil && !l.Node.Finalized(metav1.FinalizerDeleteDependents)
}

// troubling is the least severity that is told of what is below an object that is well itself.
var troubling = inspect.Status{Status: inspect.Degraded}.Severity()

// short is the first part of the reason, or the status.
func (l *limb) short() string {
	if short, _, _ := strings.Cut(l.facts.Reason, ": "); short != "" {
		return short
	}
	return l.status()
}

// absent is the status of what is referred to and not there.
const absent = "Missing"

// hasOwner reports whether an owner is there, though it may be being deleted.
func (l *limb) hasOwner() bool {
	return slices.ContainsFunc(l.Node.Owners, func(o ownertree.Owner) bool { return o.Node != nil })
}

// dangling is the status of objects that the garbage collector will delete and none of whose owners is there: no object
// reports that itself.
const dangling = "Dangling"

func (l *limb) status() string {
	if l.Missing {
		return absent
	}
	if l.fate.Action == ownertree.Deleted && !l.hasOwner() {
		return dangling
	}
	return l.facts.Status.Status
}
