package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/argocd"
)

// custom judges a kind without a rule here, a custom resource mostly: by the health check that Argo CD has for it, and
// by what is usual for such objects. Each corrects the other: see checked.
func (o subject) custom() Status {
	own := o.generic()
	if o.checks == nil || isBuiltInGroup(o.group) || o.overridden {
		return own.status
	}
	health, err := o.checks.Health(o.group, o.kind, o.values)
	if err != nil { // there is none for the kind, or it cannot judge the object
		return own.status
	}
	return o.combine(own, health)
}

// statusOfHealth are the words of Argo CD's checks. What is missing is still to be made.
var statusOfHealth = map[string]string{
	argocd.Healthy: Current, argocd.Progressing: InProgress, argocd.Degraded: Degraded, argocd.Suspended: Suspended,
	argocd.Missing: InProgress, argocd.Unknown: Unknown,
}

// combine is what the generic rules and a health check together say of the object. The check knows the kind, and so it
// is right where the generic rules go by a word or a name. But it looks at what it was written for: where the object
// itself states that it is not as its spec asks, the check's better word does not stand. It often says Progressing of
// all that it does not know, and Suspended of what waits.
func (o subject) combine(own judgement, health argocd.Health) Status {
	word := statusOfHealth[health.Status]
	stands := true
	switch word {
	case Current:
		stands = !own.certain || own.status.Current()
	case Suspended:
		stands = own.status.Current() || own.status.Unreported() || !own.certain && !own.failed
	case InProgress:
		stands = !own.failed && !own.status.Unreported()
	case Degraded:
		stands = own.status.Status != Failed && o.reconcilingReason() == "" && !own.status.Unreported() && !own.stale
	case Unknown:
		stands = own.status.Status == Current && !own.certain
	}
	if !stands {
		return own.status
	}
	s := o.status(word, cmp.Or(firstLine(health.Message), own.status.Reason, health.Status))
	if own.status.Status == word {
		s.Reason = own.status.Reason // that of the generic rules names a condition
	} else if word == Current {
		s.Reason = ""
	}
	if message := strings.TrimSpace(health.Message); message != "" {
		s.Message = message
	}
	s.JudgedBy = ArgoCD
	return s
}

// judgement is a status, and how far it can be relied on.
type judgement struct {
	status Status
	// certain says that it follows from what the object states: from a generation, or from a condition whose meaning is a
	// convention of all kinds or is in a table. Else it follows from a word or a name, which may mean something else.
	certain bool
	// failed says that the object states a failure, and not only that it is not there yet.
	failed bool
	// stale says that what the object states is of an older generation.
	stale bool
}

func guessed(s Status) judgement { return judgement{status: s} }

func stated(s Status) judgement { return judgement{status: s, certain: true} }

func failure(s Status, certain bool) judgement {
	return judgement{status: s, certain: certain, failed: true}
}

// generic judges by what is usual for custom resources.
func (o subject) generic() judgement {
	if len(o.conditions) == 0 && o.hasEmptyStatus() {
		return guessed(o.status(Unknown, noStatus))
	}
	main, others := o.stateWords()
	if s, ok := o.byGeneration(); ok {
		return judgement{status: s, certain: true, stale: true}
	}
	if failed := o.condition("Failed"); failed.Bad && failed.Drift != Behind {
		return failure(o.degradedBy(failed).withStatus(Failed), true)
	}
	ready := o.readiness()
	switch {
	case ready.Type != "" && ready.Status != "True":
		return o.notReady(ready, main)
	case ready.Type == "":
		if v, ok := o.byResult(); ok {
			return v
		}
	}
	for _, judge := range []func(ready Condition, main, others []stateWord) (judgement, bool){
		o.byFailure, o.byWord, o.byProgress, o.byWaiting,
	} {
		if v, ok := judge(ready, main, others); ok {
			return v
		}
	}
	if o.base.Status != Current {
		return stated(o.baseStatus(cmp.Or(o.reconcilingReason(), o.base.Message)))
	}
	return judgement{status: o.baseStatus(o.outOfSync()), certain: ready.Status == "True"}
}

// readiness is the condition Ready, whatever the case of its letters; or NotReady turned round. Its Type is empty if
// there is none.
func (o subject) readiness() Condition {
	if ready := o.conventionalCondition("Ready"); ready.Type != "" {
		return ready
	}
	for _, c := range o.conditions {
		switch {
		case c.nested():
		case strings.EqualFold(c.Type, "Ready") && c.Polarity == Positive:
			return c
		case c.Type == "NotReady" && c.Polarity == Negative:
			opposite := map[string]string{"True": "False", "False": "True"}
			c.Status = cmp.Or(opposite[c.Status], c.Status)
			return c
		}
	}
	return Condition{}
}

// notReady is of an object that says that it is not ready, or not whether it is: it failed, or rests, or is on its way.
func (o subject) notReady(ready Condition, main []stateWord) judgement {
	failing := slices.IndexFunc(main, func(w stateWord) bool { return w.status == Failed || w.status == Degraded })
	rests := slices.IndexFunc(main, func(w stateWord) bool { return w.status == Suspended })
	other := slices.IndexFunc(o.conditions, func(c Condition) bool {
		return c.Bad && c.Type != ready.Type && c.Drift != Behind && (c.Polarity == Negative || isFailing(c.Reason))
	})
	switch {
	case ready.Status == "False" && ready.Bad && isFailing(ready.Reason) && !o.isIssuing():
		return failure(o.degradedBy(ready).withStatus(Failed), true)
	case failing >= 0:
		return failure(o.status(main[failing].status, main[failing].reason()), false)
	case other >= 0:
		c := o.conditions[other]
		return failure(o.degradedBy(c), !c.Guessed)
	case rests >= 0:
		return guessed(o.status(Suspended, main[rests].reason()))
	case o.suspendedReason() != "":
		return guessed(o.status(Suspended, o.suspendedReason()))
	}
	s := o.status(InProgress, reasonOf(ready))
	if ready.Type == "NotReady" && ready.Reason == "" && ready.Message == "" {
		s.Reason = "NotReady=True" // its status was turned round
	}
	s.Message = cmp.Or(ready.Message, s.Message)
	return judgement{status: s, certain: ready.Bad || ready.Status != "False" || o.isToRun()}
}

// isIssuing reports whether the object says that something is under way of which not to be ready is part: a certificate
// that is being issued for the first time.
func (o subject) isIssuing() bool {
	c := o.condition("Issuing")
	return c.Status == "True" && c.Polarity == Neutral && c.Drift != Behind
}

// byGeneration finds that what a condition says is said of an older generation. Where the condition that sums the
// object up is True and of this one, others are what its controller has not written again.
func (o subject) byGeneration() (Status, bool) {
	stale := Condition{}
	for _, c := range o.conditions {
		switch {
		case c.Generation == nil && !c.isSummary(), c.Polarity == Neutral, c.Superseded:
		case c.Drift == Behind:
			if stale.Type == "" || c.isSummary() && !stale.isSummary() {
				stale = c
			}
		case c.isSummary() && c.Status == "True" && c.Generation != nil:
			return Status{}, false
		}
	}
	if stale.Type == "" {
		return Status{}, false
	}
	of := *cmp.Or(stale.Generation, o.drift.Observed)
	text := fmt.Sprintf("%s=%s is of generation %d, not %d", stale.name(), stale.Status, of, o.drift.Generation)
	return o.status(InProgress, text), true
}

// byResult judges an object without Ready by the condition for how it ended.
func (o subject) byResult() (judgement, bool) {
	for _, name := range []string{"Succeeded", "Finished", "Complete", "Completed"} {
		c := o.condition(name)
		switch {
		case c.Type == "" || c.Drift == Behind:
		case name == "Succeeded" && c.Status == "False", name != "Succeeded" && c.Status == "True" && isFailing(c.Reason):
			return failure(o.degradedBy(c).withStatus(Failed), true), true
		case name == "Succeeded" && c.Status != "True":
			return stated(o.status(InProgress, reasonOf(c))), true
		}
	}
	if o.isUnfinishedRun() {
		return guessed(o.status(InProgress, "running")), true
	}
	return judgement{}, false
}

// byFailure finds what the object says to be wrong.
func (o subject) byFailure(ready Condition, main, others []stateWord) (judgement, bool) {
	word := Failed
	if ready.Status == "True" || slices.ContainsFunc(main, func(w stateWord) bool { return w.status == Current }) {
		word = Degraded // it works, and something of it does not
	}
	for _, w := range slices.Concat(main, others) {
		if w.status == Failed || w.status == Degraded {
			if w.past {
				word = Degraded
			}
			return failure(o.status(lessSevere(w.status, word), w.reason()), false), true
		}
	}
	onItsWay := ready.Status != "True" &&
		slices.ContainsFunc(main, func(w stateWord) bool { return w.status == InProgress })
	for _, c := range o.conditions {
		failed := c.Polarity == Neutral && c.Status == "False" && c.Drift != Behind && isFailing(c.Reason)
		switch {
		case c.Bad && o.isScaledDown(c),
			c.Bad && c.Polarity == Positive && (isWaiting(c.Reason) || onItsWay && !isFailing(c.Reason)):
		case c.Bad:
			j := judgement{status: o.status(Degraded, c.text()), certain: !c.Guessed}
			j.status.Message = cmp.Or(c.Message, j.status.Message)
			j.failed = j.certain && (c.Polarity == Negative || isFailing(c.Reason))
			return j, true
		case failed && ready.Status != "True":
			return failure(o.degradedBy(c).withStatus(word), c.Type == "Progressing"), true
		}
	}
	if reported := o.reportedError(); reported != "" && ready.Status != "True" {
		return guessed(o.status(Degraded, reported)), true
	}
	return judgement{}, false
}

// byWord judges by the words that are not about failures.
func (o subject) byWord(ready Condition, main, _ []stateWord) (judgement, bool) {
	if resting := o.suspendedReason(); resting != "" {
		return guessed(o.status(Suspended, resting)), true
	}
	for _, w := range main {
		switch {
		case w.status == Suspended, w.status == Terminating, w.status == InProgress && ready.Status != "True":
			return guessed(o.status(w.status, w.reason())), true
		case w.status == Unknown && ready.Status != "True" && slices.Contains(mainFields, strings.ToLower(w.field)):
			return guessed(o.status(Unknown, w.reason())), true
		case w.status == Current && strings.EqualFold(w.word, "running") && ready.Status != "True" && runsToCompletion(o.kind):
			return guessed(o.status(InProgress, w.reason())), true
		}
	}
	return judgement{}, false
}

// byProgress finds a condition by which the object is being changed, though it works.
func (o subject) byProgress(_ Condition, main, _ []stateWord) (judgement, bool) {
	works := slices.ContainsFunc(main, func(w stateWord) bool { return w.status == Current })
	for _, c := range o.conditions {
		if c.isProgressing() && (c.Type != "Progressing" || !works) || !works && o.isGuessedProgressing(c) {
			s := o.status(InProgress, reasonOf(c))
			s.Message = cmp.Or(c.Message, s.Message)
			return judgement{status: s, certain: !c.Guessed}, true
		}
	}
	return judgement{}, false
}

// byWaiting finds what is neither good nor bad yet: conditions that are Unknown, and replicas that are not ready.
func (o subject) byWaiting(ready Condition, main, _ []stateWord) (judgement, bool) {
	if ready.Status == "True" || slices.ContainsFunc(o.conditions, func(c Condition) bool {
		return (c.isSummary() || c.isResult()) && c.Status == "True"
	}) {
		return judgement{}, false
	}
	for _, c := range o.conditions {
		waits := c.Polarity == Positive && (c.Status == "Unknown" || c.Bad && isWaiting(c.Reason) && !o.isScaledDown(c)) ||
			c.Status != "True" && o.isFalseWhileWaiting(c)
		if waits && c.Drift != Behind {
			s := o.status(InProgress, c.prefixed(reasonOf(c)))
			s.Message = cmp.Or(c.Message, s.Message)
			return judgement{status: s, certain: !c.Guessed}, true
		}
	}
	want, wanted := o.number("spec", "replicas")
	have, counted := o.number("status", "readyReplicas")
	if wanted && counted && have < want {
		return guessed(o.status(InProgress, shortfall(have, want, "replicas ready"))), true
	}
	if o.at("status", "ready") == false && len(main) == 0 {
		return guessed(o.status(InProgress, "not ready")), true
	}
	return judgement{}, false
}

// lessSevere is Degraded if one of two words of failure is.
func lessSevere(a, b string) string {
	if a == Degraded || b == Degraded {
		return Degraded
	}
	return Failed
}

// reportedError is an error that the object reports in a field of its status, or in one of a list of its parts; it is
// empty if there is none.
func (o subject) reportedError() string {
	for _, field := range []string{"error", "errorMessage", "failureMessage", "failureReason"} {
		if text := o.text("status", field); text != "" {
			return field + ": " + firstLine(text)
		}
	}
	if reason := o.text("status", "reason"); isFailing(reason) && !strings.Contains(reason, " ") {
		return withReason(reason, firstLine(o.text("status", "message")))
	}
	for _, field := range []string{"errors", "problems"} {
		if texts := o.strings("status", field); len(texts) > 0 {
			return field + ": " + firstLine(texts[0])
		}
	}
	if o.at("status", "healthy") == false {
		return "not healthy"
	}
	for _, field := range slices.Sorted(maps.Keys(o.sub("status"))) {
		for _, part := range o.maps("status", field) {
			for _, reported := range part.maps("errors") {
				return withReason(cmp.Or(reported.text("code"), field), firstLine(reported.text("message")))
			}
		}
	}
	return ""
}

// isScaledDown reports whether the condition is of replicas of which there are to be none.
func (o subject) isScaledDown(c Condition) bool {
	want, found := o.number("spec", "replicas")
	return found && want == 0 && o.count(0, "status", "replicas") == 0 && c.Type == "Available"
}

// reconcilingReason is what the condition Reconciling says if it is True; else it is empty.
func (o subject) reconcilingReason() string {
	if c := o.conventionalCondition("Reconciling"); c.Status == "True" {
		return reasonOf(c)
	}
	return ""
}

// outOfSync is OutOfSync for an application of Argo CD whose source is not applied, or not all of it; else it is empty.
func (o subject) outOfSync() string {
	if word := o.text("status", "sync", "status"); word == "OutOfSync" {
		return word
	}
	return ""
}
