package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/argocd"
)

// custom returns the status of an object of a kind without a rule of this package, mostly a custom resource: from the
// health check that Argo CD ships for it, and from the generic rules. Each corrects the other: see combine.
func (o subject) custom() Status {
	own := o.generic()
	if o.checks == nil || isBuiltInGroup(o.group) || o.overridden {
		return own.status
	}
	health, err := o.checks.Health(o.group, o.kind, o.Map)
	if err != nil { // there is none for the kind, or it cannot judge the object
		return own.status
	}
	return o.combine(own, health)
}

// statusOfHealth maps the results of Argo CD's checks. Missing means that something is still to be created.
var statusOfHealth = map[string]string{
	argocd.Healthy: Current, argocd.Progressing: InProgress, argocd.Degraded: Degraded, argocd.Suspended: Suspended,
	argocd.Missing: InProgress, argocd.Unknown: Unknown,
}

// combine returns the status by the generic rules and by a health check together. The check knows the kind, so it
// wins where the generic rules go by a word or a name. But it considers only the fields that it was written for:
// where the object states that it is not as its spec requests, a better result of the check does not count. Many
// checks return Progressing for every state that they do not know, and Suspended for what waits.
func (o subject) combine(own judgement, health argocd.Health) Status {
	word := statusOfHealth[health.Status]
	agrees := true
	switch word {
	case Current:
		agrees = !own.certain || own.status.Current()
	case Suspended:
		agrees = own.status.Current() || own.status.Unreported() || !own.certain && !own.failed
		if missing := cmp.Or(o.replicasMissing(), o.updatesMissing()); missing != "" &&
			own.status.Status != Suspended && !own.status.Unreported() {
			return o.status(InProgress, missing) // some checks take a count that is left out for a pause
		}
	case InProgress:
		agrees = !own.failed && !own.status.Unreported()
	case Degraded:
		agrees = own.status.Status != Failed && o.reconcilingReason() == "" && !own.status.Unreported() && !own.stale
	case Unknown:
		agrees = own.status.Status == Current && !own.certain
	}
	if !agrees {
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

// judgement is a status by the generic rules, and how reliable it is.
type judgement struct {
	status Status
	// certain reports that it follows from a generation, or from a condition whose meaning is a convention of all kinds
	// or is in a table. Otherwise it follows from a word or a name, which may mean something else in this kind.
	certain bool
	// failed reports that the object states a failure, and not only that it is not ready yet.
	failed bool
	// stale reports that the object's status is of an older generation.
	stale bool
}

// guessed is a status that follows from a word or a name.
func guessed(s Status) judgement { return judgement{status: s} }

// stated is a status that follows from what the object states.
func stated(s Status) judgement { return judgement{status: s, certain: true} }

// failure is a failure that the object states.
func failure(s Status, certain bool) judgement {
	return judgement{status: s, certain: certain, failed: true}
}

// generic returns the status by conventions that most custom resources follow. The order of the rules matters: what
// an object states explicitly comes before what is derived from words.
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

// readiness returns the condition Ready, whatever the case of its letters, or NotReady with its status inverted. Its
// Type is empty if there is none.
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

// notReady returns the status of an object whose condition Ready is False or Unknown: it has failed, is suspended, or
// is in progress.
func (o subject) notReady(ready Condition, main []stateWord) judgement {
	failing := slices.IndexFunc(main, func(w stateWord) bool { return w.status == Failed || w.status == Degraded })
	rests := slices.IndexFunc(main, func(w stateWord) bool { return w.status == Suspended })
	again := ready.Status == "Unknown" && o.reconcilingReason() != "" // what has failed is being tried again
	other := slices.IndexFunc(o.conditions, func(c Condition) bool {
		return c.Bad && c.Type != ready.Type && c.Drift != Behind &&
			(c.Polarity == Negative || !again && isFailing(c.Reason))
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
		s.Reason = "NotReady=True" // its status was inverted
	}
	s.Message = cmp.Or(ready.Message, s.Message)
	return judgement{status: s, certain: ready.Bad || ready.Status != "False" || o.isToRun()}
}

// isIssuing reports whether the object is a certificate that is being issued: then it is normal that it is not ready.
func (o subject) isIssuing() bool {
	c := o.condition("Issuing")
	return c.Status == "True" && c.Polarity == Neutral && c.Drift != Behind
}

// byGeneration returns InProgress if a condition is of an older generation. If the condition that summarizes the
// object is True and of this generation, the controller only has not rewritten the others.
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

// byResult returns the status of an object without Ready by the condition that is its result.
func (o subject) byResult() (judgement, bool) {
	for _, name := range []string{"Succeeded", "Finished", "Complete", "Completed"} {
		c := o.condition(name)
		switch {
		case c.Type == "" || c.Drift == Behind:
		case name == "Succeeded" && c.Status == "False",
			name != "Succeeded" && c.Status == "True" && isFailing(c.Reason):
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

// byFailure returns the status of an object that reports a failure.
func (o subject) byFailure(ready Condition, main, others []stateWord) (judgement, bool) {
	word := Failed
	if ready.Status == "True" || slices.ContainsFunc(main, func(w stateWord) bool { return w.status == Current }) {
		word = Degraded // it works, but a part of it does not
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
			j.failed = j.certain && (c.Polarity == Negative || c.Status == Degraded || isFailing(c.Reason))
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

// byWord returns the status by the words for states that are not failures.
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
		case w.status == Current && strings.EqualFold(w.word, "running") && ready.Status != "True" &&
			runsToCompletion(o.kind):
			return guessed(o.status(InProgress, w.reason())), true
		}
	}
	return judgement{}, false
}

// byProgress returns InProgress if a condition shows that the object is being changed while it works.
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

// byWaiting returns InProgress if a condition is Unknown or waits, or if replicas are not ready.
func (o subject) byWaiting(ready Condition, main, _ []stateWord) (judgement, bool) {
	if ready.Status == "True" || slices.ContainsFunc(o.conditions, func(c Condition) bool {
		return (c.isSummary() || c.isResult()) && c.Status == "True"
	}) {
		return judgement{}, false
	}
	for _, c := range o.conditions {
		undecided := c.Status == "Unknown" || c.Bad && isWaiting(c.Reason) && !o.isScaledDown(c)
		waits := c.Polarity == Positive && undecided || c.Status != "True" && o.isFalseWhileWaiting(c)
		if waits && c.Drift != Behind {
			s := o.status(InProgress, c.prefixed(reasonOf(c)))
			s.Message = cmp.Or(c.Message, s.Message)
			return judgement{status: s, certain: !c.Guessed}, true
		}
	}
	if missing := o.replicasMissing(); missing != "" {
		return guessed(o.status(InProgress, missing)), true
	}
	if o.At("status", "ready") == false && len(main) == 0 {
		return guessed(o.status(InProgress, "not ready")), true
	}
	return judgement{}, false
}

// lessSevere returns Degraded if a or b is, else Failed.
func lessSevere(a, b string) string {
	if a == Degraded || b == Degraded {
		return Degraded
	}
	return Failed
}

// reportedError returns an error that the object reports in a field of its status, or of a part listed there; empty
// if there is none.
func (o subject) reportedError() string {
	for _, field := range []string{"error", "errorMessage", "failureMessage", "failureReason"} {
		if text := o.Text("status", field); text != "" {
			return field + ": " + firstLine(text)
		}
	}
	if reason := o.Text("status", "reason"); isFailing(reason) && !strings.Contains(reason, " ") {
		return withReason(reason, firstLine(o.Text("status", "message")))
	}
	for _, field := range []string{"errors", "problems"} {
		if texts := o.Strings("status", field); len(texts) > 0 {
			return field + ": " + firstLine(texts[0])
		}
	}
	if o.At("status", "healthy") == false {
		return "not healthy"
	}
	for _, field := range slices.Sorted(maps.Keys(o.Sub("status"))) {
		for _, part := range o.Maps("status", field) {
			for _, reported := range part.Maps("errors") {
				return withReason(cmp.Or(reported.Text("code"), field), firstLine(reported.Text("message")))
			}
			if field == "validationMessages" && part.Text("level") == "ERROR" { // Istio's
				return withReason(cmp.Or(part.Text("type", "name"), field), firstLine(part.Text("type", "code")))
			}
		}
	}
	return ""
}

// isScaledDown reports whether the condition is Available of an object that is scaled to 0.
func (o subject) isScaledDown(c Condition) bool {
	want, found := o.Number("spec", "replicas")
	return found && want == 0 && o.Count(0, "status", "replicas") == 0 && c.Type == "Available"
}

// reconcilingReason returns the reason of the condition Reconciling if it is True, else "".
func (o subject) reconcilingReason() string {
	if c := o.conventionalCondition("Reconciling"); c.Status == "True" {
		return reasonOf(c)
	}
	return ""
}

// outOfSync returns "OutOfSync" for an Argo CD Application whose source is not fully applied, else "".
func (o subject) outOfSync() string {
	if word := o.Text("status", "sync", "status"); word == "OutOfSync" {
		return word
	}
	return ""
}
