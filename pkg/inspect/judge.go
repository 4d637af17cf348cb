package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/argocd"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// subject is the object whose status is being determined, with what has already been read from it.
type subject struct {
	untyped.Map
	group, kind string
	drift       Drift
	conditions  []Condition
	base        Status // what kstatus computes, with Ready filled in

	checks *argocd.Checks // nil for none
	// overridden reports that the user's file changes the polarity of one of the conditions, which a health check would
	// ignore.
	overridden bool
}

// status returns the base with another status and reason. The message of kstatus is kept only with kstatus's own
// status.
func (o subject) status(word, reason string) Status {
	s := o.base
	if word != s.Status {
		s.Message = reason
	}
	s.Status, s.Reason = word, reason
	return s
}

// withStatus returns s with another value of Status.
func (s Status) withStatus(word string) Status {
	s.Status = word
	return s
}

// baseStatus returns the base with a reason.
func (o subject) baseStatus(reason string) Status { return o.status(o.base.Status, reason) }

// condition returns the condition of that type of the object as a whole; its zero value if there is none.
func (o subject) condition(name string) Condition {
	if i := slices.IndexFunc(o.conditions, func(c Condition) bool { return c.Type == name && !c.nested() }); i >= 0 {
		return o.conditions[i]
	}
	return Condition{}
}

// judge returns the status of the object, of which r already holds drift and conditions.
func judge(obj *unstructured.Unstructured, r Report, p *Polarities, checks *argocd.Checks) Status {
	o := subject{
		Map: obj.Object, group: obj.GroupVersionKind().Group, kind: obj.GetKind(),
		drift: r.Drift, conditions: r.Conditions, checks: checks,
	}
	o.overridden = slices.ContainsFunc(r.Conditions, func(c Condition) bool {
		return p.override(o.group, o.kind, c.Type) != ""
	})
	o.base = base(obj, r)
	o.base.Ready = readyOf(o)
	o.base.JudgedBy = Generic
	if ruleOf(o.group, o.kind) != nil {
		o.base.JudgedBy = BuiltIn
	}
	return o.judge()
}

// judge applies the rules in the order of their precedence, which docs/status.md describes for users.
func (o subject) judge() Status {
	rule := ruleOf(o.group, o.kind)
	switch {
	case o.Text("metadata", "deletionTimestamp") != "":
		return o.terminating()
	case rule == nil && o.isPausedByUser() && !o.stalled():
		return o.suspendedStatus()
	case o.drift.State == Behind && !o.finished():
		return o.status(InProgress,
			fmt.Sprintf("observed generation is %d, not yet %d", *o.drift.Observed, o.drift.Generation))
	case o.stalled():
		return o.status(Failed, reasonOf(o.condition("Stalled")))
	case o.drift.State == NeverSeen && o.alwaysReportsGeneration():
		return o.status(InProgress, reasonUnseen)
	case rule != nil:
		return rule(o)
	}
	return o.custom()
}

// The reasons of an object that its controller has not seen: see unseenFor.
const (
	reasonUnseen    = "not seen by its controller yet"
	reasonNeverSeen = "never seen by its controller"
)

// suspendedStatus returns the status of an object that its user has paused. Controllers often do not observe such
// objects, so the generation is not considered.
func (o subject) suspendedStatus() Status {
	_, reason := o.pausedByUser()
	if c, bad := o.worstCondition(); bad {
		reason += ", " + c.text()
	}
	return o.status(Suspended, reason)
}

// finished reports whether the object has reached a final state, which a new generation does not change.
func (o subject) finished() bool {
	switch o.group + "/" + o.kind {
	case "/Pod":
		return podEnded(o.Map)
	case "batch/Job":
		return o.condition("Complete").Status == "True" || o.condition("Failed").Status == "True"
	}
	return false
}

// stalled reports whether the condition Stalled is True and not of an older generation.
func (o subject) stalled() bool {
	c := o.conventionalCondition("Stalled")
	return c.Status == "True" && c.Drift != Behind
}

// conventionalCondition returns the condition of one of the types to which kstatus gives a meaning; its zero value if
// there is none, or if the user's polarities give it another meaning.
func (o subject) conventionalCondition(name string) Condition {
	if c := o.condition(name); !c.breaksConvention() {
		return c
	}
	return Condition{}
}

// breaksConvention reports whether the condition has a polarity other than the one that kstatus assumes for its type.
func (c Condition) breaksConvention() bool {
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

// terminating returns the status of an object that is being deleted; its reason is what the deletion waits for.
func (o subject) terminating() Status {
	finalizers := o.Strings("metadata", "finalizers")
	var reason string
	switch {
	case o.group == "" && o.kind == "Namespace":
		reason = o.namespaceWaitReason()
	case len(finalizers) > 0:
		reason = "waiting for finalizer " + strings.Join(finalizers, ", ")
	case o.group == "" && o.kind == "Pod":
		reason = "waiting for its containers to stop"
	}
	return o.status(Terminating, cmp.Or(reason, "being deleted"))
}

// reasonOf returns the reason and the first line of the message of a condition; without both, its type and status.
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

// lastLine returns the last line of a text that is not blank: a program that fails says why at the end.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, line := range slices.Backward(lines) {
		if i == 0 || strings.TrimSpace(line) != "" && !addsToError.MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// addsToError matches lines that databases write after an error, to add to it.
var addsToError = regexp.MustCompile(`(^\s*|\] )(HINT|DETAIL|CONTEXT|STATEMENT|LOCATION):`)

// since returns when the state that the status describes began; nil if the object does not report it.
func since(obj *unstructured.Unstructured, r Report) *metav1.Time {
	v := untyped.Map(obj.Object)
	if r.Status.Status == Terminating {
		return deletionRequested(v)
	}
	switch r.Drift.State {
	case Behind:
		return r.Drift.Since
	case NeverSeen:
		created, _ := v.Time("metadata", "creationTimestamp")
		return created
	case InSync, NotReported, Ahead:
	}
	var last *metav1.Time
	for _, c := range r.Conditions {
		switch {
		case c.Since == nil:
		case c.Bad: // bad ones come first; the state began with the oldest of them
			if last == nil || c.Since.Before(last) {
				last = c.Since
			}
		case last == nil && (c.isSummary() || c.isResult() && c.Status == "True"):
			last = c.Since
		}
	}
	spec := fields.LastSpecWrite(obj)
	if last != nil && spec != nil && last.Before(spec) && r.Status.Status != Current {
		return spec // what it reports began before the spec that it has
	}
	return last
}

// deletionRequested returns when the deletion was requested: deletionTimestamp is when its grace period ends.
func deletionRequested(v untyped.Map) *metav1.Time {
	t, _ := v.Time("metadata", "deletionTimestamp")
	if t == nil {
		return nil
	}
	const longest = 100 * 365 * 24 * 60 * 60 // seconds; a longer period would overflow a Duration
	grace := min(max(v.Count(0, "metadata", "deletionGracePeriodSeconds"), 0), longest)
	return &metav1.Time{Time: t.Add(-time.Duration(grace) * time.Second)}
}

// base returns the status that kstatus computes. If kstatus returns an error, if observedGeneration is a default or
// higher than the generation, or if the user's polarities change a condition that kstatus interprets, Status is
// computed from a corrected copy, while Kstatus remains the result for the object as it is.
func base(obj *unstructured.Unstructured, r Report) Status {
	result, err := compute(obj)
	s := Status{}
	if err == nil {
		s.Kstatus = string(result.Status)
	}
	unused := r.Drift.Observed == nil && untyped.Map(obj.Object).At("status", "observedGeneration") != nil
	if err != nil || unused || r.Drift.State == Ahead || slices.ContainsFunc(r.Conditions, Condition.breaksConvention) {
		result, err = compute(corrected(obj, r))
	}
	if err != nil {
		s.Status, s.Message = Unknown, err.Error()
		return s
	}
	s.Status, s.Message = string(result.Status), result.Message
	return s
}

// compute calls kstatus, and turns its panics into errors: it panics on container statuses of unexpected types.
func compute(obj *unstructured.Unstructured) (result *status.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("computing the status: %v", p)
		}
	}()
	return status.Compute(obj)
}

// corrected returns a copy of the object with generations and conditions as they were read, and without what could
// not be read.
func corrected(obj *unstructured.Unstructured, r Report) *unstructured.Unstructured {
	object := maps.Clone(obj.Object)
	if metadata := maps.Clone(map[string]any(untyped.Map(object).Sub("metadata"))); metadata != nil {
		metadata["generation"] = r.Drift.Generation
		if _, ok := metadata["deletionTimestamp"].(string); !ok {
			delete(metadata, "deletionTimestamp")
		}
		object["metadata"] = metadata
	}
	mended := maps.Clone(map[string]any(untyped.Map(object).Sub("status")))
	delete(object, "status")
	if mended != nil {
		delete(mended, "observedGeneration")
		delete(mended, "containerStatuses") // kstatus reads them only for crash loops, which pod finds itself
		if r.Drift.Observed != nil {
			mended["observedGeneration"] = min(*r.Drift.Observed, r.Drift.Generation)
		}
		mended["conditions"] = conventionalConditions(r.Conditions)
		object["status"] = mended
	}
	return &unstructured.Unstructured{Object: object}
}

func conventionalConditions(conditions []Condition) []any {
	out := make([]any, 0, len(conditions))
	for _, c := range conditions {
		if c.breaksConvention() || c.nested() {
			continue
		}
		out = append(out, map[string]any{"type": c.Type, "status": c.Status, "reason": c.Reason, "message": c.Message})
	}
	return out
}
