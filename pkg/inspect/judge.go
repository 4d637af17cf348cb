package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/argocd"
)

// subject is an object that is judged, with what is already known of it.
type subject struct {
	values
	group, kind string
	drift       Drift
	conditions  []Condition
	base        Status // what kstatus makes of it, its Ready filled in

	checks *argocd.Checks // nil for none
	// overridden says that the user's file gives a condition of the object another meaning, which a check would not know.
	overridden bool
}

// is is the base with another word and reason. What kstatus says in full goes with its own word only.
func (o subject) is(word, reason string) Status {
	s := o.base
	if word != s.Status {
		s.Message = reason
	}
	s.Status, s.Reason = word, reason
	return s
}

// as is the status with another word.
func (s Status) as(word string) Status {
	s.Status = word
	return s
}

// because is the base with a reason.
func (o subject) because(reason string) Status { return o.is(o.base.Status, reason) }

// condition is the condition of the type; its zero value if there is none.
func (o subject) condition(name string) Condition {
	if i := slices.IndexFunc(o.conditions, func(c Condition) bool { return c.Type == name && !c.nested() }); i >= 0 {
		return o.conditions[i]
	}
	return Condition{}
}

// judge finds the status of the object whose drift and conditions the report holds.
func judge(obj *unstructured.Unstructured, r Report, p *Polarities, checks *argocd.Checks) Status {
	o := subject{
		values: obj.Object, group: obj.GroupVersionKind().Group, kind: obj.GetKind(),
		drift: r.Drift, conditions: r.Conditions, checks: checks,
	}
	o.overridden = slices.ContainsFunc(r.Conditions, func(c Condition) bool {
		return p.byFile(o.group, o.kind, c.Type) != ""
	})
	o.base = base(obj, r)
	o.base.Ready = readyOf(o)
	o.base.JudgedBy = Generic
	if ruleOf(o.group, o.kind) != nil {
		o.base.JudgedBy = BuiltIn
	}
	return o.judge()
}

func (o subject) judge() Status {
	rule := ruleOf(o.group, o.kind)
	switch {
	case o.text("metadata", "deletionTimestamp") != "":
		return o.terminating()
	case rule == nil && o.held() != "" && !o.stalled():
		return o.heldStatus()
	case o.drift.State == Behind && !o.finished():
		return o.is(InProgress, fmt.Sprintf("generation %d not observed yet, %d is", o.drift.Generation, *o.drift.Observed))
	case o.stalled():
		return o.is(Failed, reasonOf(o.condition("Stalled")))
	case o.drift.State == NeverSeen && o.alwaysReports():
		return o.is(InProgress, unseen)
	case rule != nil:
		return rule(o)
	}
	return o.custom()
}

// The reasons of an object that its controller has not seen: see unseenFor.
const (
	unseen    = "not seen by its controller yet"
	neverSeen = "never seen by its controller"
)

// heldStatus is of an object that is to rest. Its controller often does not even observe that, so that the generation
// says nothing.
func (o subject) heldStatus() Status {
	reason := o.held()
	if c, bad := o.worst(); bad {
		reason += ", " + c.text()
	}
	return o.is(Suspended, reason)
}

// finished reports whether the object has come to an end that a new generation does not change.
func (o subject) finished() bool {
	switch o.group + "/" + o.kind {
	case "/Pod":
		return podEnded(o.values)
	case "batch/Job":
		return o.condition("Complete").Status == "True" || o.condition("Failed").Status == "True"
	}
	return false
}

func (o subject) stalled() bool {
	c := o.convention("Stalled")
	return c.Status == "True" && c.Drift != Behind
}

// convention is the condition of a type that kstatus gives a meaning; its zero value if there is none, or if the user's
// polarities say that it means something else.
func (o subject) convention(name string) Condition {
	if c := o.condition(name); !c.contrary() {
		return c
	}
	return Condition{}
}

// contrary reports whether the condition has a polarity that is not the one of kstatus's conventions.
func (c Condition) contrary() bool {
	switch c.Type {
	case "Ready":
		return c.Polarity != Positive
	case "Stalled":
		return c.Polarity != Negative
	case "Reconciling":
		return c.Polarity != Neutral
	}
	return false
}

// terminating tells what a deletion waits for.
func (o subject) terminating() Status {
	finalizers := o.strings("metadata", "finalizers")
	var reason string
	switch {
	case o.group == "" && o.kind == "Namespace":
		reason = o.namespaceWaits()
	case len(finalizers) > 0:
		reason = "waiting for finalizer " + strings.Join(finalizers, ", ")
	case o.group == "" && o.kind == "Pod":
		reason = "waiting for its containers to stop"
	}
	return o.is(Terminating, cmp.Or(reason, "being deleted"))
}

// reasonOf is a condition as a reason for people: its reason and message where it has them.
func reasonOf(c Condition) string {
	message := firstLine(c.Message)
	switch {
	case c.Reason != "" && message != "":
		return withReason(c.Reason, message)
	case c.Reason != "" || message != "":
		return c.Reason + message
	}
	return c.Type + "=" + c.Status
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}

// since is when what the status tells began.
func since(obj *unstructured.Unstructured, r Report) *metav1.Time {
	v := values(obj.Object)
	if r.Status.Status == Terminating {
		return deletionAsked(v)
	}
	switch r.Drift.State {
	case Behind:
		return r.Drift.Since
	case NeverSeen:
		created, _ := v.time("metadata", "creationTimestamp")
		return created
	case InSync, NotReported, Ahead:
	}
	var last *metav1.Time
	for _, c := range r.Conditions {
		switch {
		case c.Since == nil:
		case c.Bad: // bad ones come first; the oldest of them is when the trouble began
			if last == nil || c.Since.Before(last) {
				last = c.Since
			}
		case last == nil && (c.sumsUp() || c.isResult() && c.Status == "True"):
			last = c.Since
		}
	}
	return last
}

// deletionAsked is when the deletion was asked for: deletionTimestamp is when its grace period ends.
func deletionAsked(v values) *metav1.Time {
	t, _ := v.time("metadata", "deletionTimestamp")
	if t == nil {
		return nil
	}
	const longest = 100 * 365 * 24 * 60 * 60 // seconds: a longer one is no grace period, and would not fit
	grace := min(max(v.count(0, "metadata", "deletionGracePeriodSeconds"), 0), longest)
	return &metav1.Time{Time: t.Add(-time.Duration(grace) * time.Second)}
}
