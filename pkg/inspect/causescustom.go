package inspect

import (
	"cmp"
	"slices"
	"strings"
)

// customCauses is for an object of which only conventions are known.
func (f *causeFinder) customCauses() {
	if f.report.Unreported() {
		if f.warningReported(); len(f.found) > 0 {
			return // what reports it runs
		}
		c := Cause{Type: NoStatus, Certainty: Likely, Weight: General, Detail: noStatus}
		if f.observed.Now.Sub(f.created) < SeenWithin {
			c.Certainty, c.Weight = Possible, Symptom
		}
		c.evident("status", "not set", nil)
		f.add(c)
		return
	}
	for _, c := range f.conditions {
		if !c.Bad && (c.Status == "True" || c.Polarity == Neutral || !c.isSummary()) {
			continue
		}
		cause := f.refusal(c.Message)
		if cause.Type == "" || cause.Type == WriteRefused {
			cause = Cause{Type: ConditionFailed, Weight: General, Detail: reasonOf(c)}
		}
		cause.Certainty, cause.Part = Certain, c.prefixed("condition "+c.Type)
		cause.Evidence, cause.Since = []Evidence{conditionEvidence(c)}, c.Since
		if c.Status == "Unknown" {
			cause.Certainty = Likely
		}
		if f.isSummed(c) {
			cause.Weight = Symptom
		}
		f.add(cause)
	}
	f.failureMessage()
	if len(f.found) == 0 {
		weight, kind := General, StateFailed
		if f.report.Status.Status == InProgress {
			weight, kind = Symptom, InProgressState
		}
		c := Cause{
			Type: kind, Certainty: Likely, Weight: weight,
			Detail: cmp.Or(f.report.Reason, f.report.Status.Status),
		}
		c.evident("status", cmp.Or(firstLine(f.report.Message), f.report.Reason), nil)
		for _, field := range []string{"reason", "message"} {
			text := firstLine(f.Text("status", field))
			if !strings.Contains(text, " ") || strings.Contains(c.Detail, text) {
				continue // a word for its state
			}
			c.Type, c.Weight, c.Detail = StateFailed, General, c.Detail+": "+text
			c.evident("status."+field, text, nil)
			break
		}
		f.add(c)
	}
	f.warnings()
}

// failureMessage adds the failure that a status reports in a field beside its conditions, as machines of Cluster API
// do: to the first that has no message.
func (f *causeFinder) failureMessage() {
	for _, field := range []string{"failureMessage", "errorMessage"} {
		text := firstLine(f.Text("status", field))
		if text == "" || slices.ContainsFunc(f.found, func(c Cause) bool { return strings.Contains(c.Detail, text) }) {
			continue
		}
		at := slices.IndexFunc(f.found, func(c Cause) bool { return !strings.Contains(c.Detail, " ") })
		if at < 0 {
			f.add(Cause{Type: StateFailed, Certainty: Likely, Weight: General, Detail: text})
			at = len(f.found) - 1
		} else {
			f.found[at].Detail = cutTo(withReason(f.found[at].Detail, text), maxDetailLength)
		}
		f.found[at].evident("status."+field, text, nil)
	}
}

// isSummed reports whether a condition that is bad only sums up others that are: Programmed of a listener whose
// ResolvedRefs is, too, and of the Gateway whose listener it is.
func (f *causeFinder) isSummed(c Condition) bool {
	return (c.isSummary() || c.Type == "Programmed") && slices.ContainsFunc(f.conditions, func(other Condition) bool {
		isDetail := !other.isSummary() && other.Type != "Programmed"
		return other.Bad && (isDetail && other.Of == c.Of || !c.nested() && other.nested())
	})
}
