package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/interaction"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// result is how a run ended, and what came of it.
type result struct {
	goal    runlocal.Goal
	outcome runlocal.Outcome
	// err is the error of a run that failed or was interrupted before its goal; other outcomes become errors in
	// failure.
	err   error
	began time.Time
	// elapsed is how long the goal took, or was waited for; of runs that have no goal but their end, how long the run
	// took.
	elapsed time.Duration
	// unused is true if there is nothing to sum up: no object could be applied, or the session could not be served.
	unused bool

	trace   recorded
	objects runlocal.Readiness
	pending []pendingKey
	// watches are the kinds that each controller watched.
	watches map[string][]schema.GroupKind
}

// recorded is what the sinks of a run have recorded.
type recorded struct {
	controllers         []trace.ControllerSummary
	programs            []trace.ProgramSummary
	written, refused    []trace.WriteCount
	failing, unverified []trace.FailingKey
	findings            []findings.Finding
}

// pendingKey is a key that would have come back by itself.
type pendingKey struct {
	Controller string `json:"controller"`
	Key        string `json:"key"`
	// In is when it was due, from the end of the run on.
	In trace.Duration `json:"in"`
	// Retry counts its failures in a row; 0 for a timer.
	Retry int `json:"retry,omitempty"`
}

// ended sets how the wait for the goal ended.
func (r *result) ended(outcome runlocal.Outcome, err error, now time.Time) {
	r.outcome, r.err, r.elapsed = outcome, err, now.Sub(r.began)
	if r.interrupted() {
		r.err = fmt.Errorf("interrupted before the goal %q was reached", goalText(r.goal))
	}
}

// interrupted reports whether an interrupt came before the goal, which was another.
func (r *result) interrupted() bool {
	return r.outcome.Is(runlocal.GoalInterrupted) && r.goal.Type != runlocal.GoalInterrupted
}

// stopped sets how long the run took, unless elapsed is how long a goal took or was waited for.
func (r *result) stopped(now time.Time) {
	switch {
	case r.outcome.Is(runlocal.GoalInterrupted), r.outcome.Is(runlocal.GoalElapsed),
		r.outcome == runlocal.OutcomeFailed:
		r.elapsed = now.Sub(r.began)
	}
}

// readFinalState reads the final state of the session's objects into the result, also after an interrupt.
func (o *Options) readFinalState(
	ctx context.Context, session *runlocal.Session, applied []runlocal.Applied, created []schema.GroupVersionResource,
	r *result,
) error {
	ctx, cancel := extended(ctx, finalReadGrace)
	defer cancel()
	now := o.Clock.Now()
	for _, p := range session.Pending() {
		r.pending = append(r.pending, pendingKey{p.Controller, p.Key, trace.Duration(p.Due.Sub(now)), p.Retry})
	}
	r.watches = session.Watches()
	if len(applied) == 0 {
		return nil
	}
	var err error
	r.objects, err = session.Readiness(ctx, applied, created)
	if r.outcome.Is(runlocal.GoalReady) && len(r.objects.Late()) > 0 { // a crash loop is ready for a moment
		r.outcome = runlocal.OutcomeLapsed
	}
	if ctx.Err() != nil && err != nil {
		return errors.New("the final state is not complete: there was no time to read it all")
	}
	return err
}

// maxLateNames bounds the objects that an error names.
const maxLateNames = 3

// failure is the error of a goal that was not reached; nil if it was.
func (o *Options) failure(r *result) error {
	var late []string
	for _, s := range r.objects.Late() {
		late = append(late, lateText(r.objects, s))
	}
	named := strings.Join(late[:min(len(late), maxLateNames)], "; ")
	if more := len(late) - maxLateNames; more > 0 {
		named += fmt.Sprintf("; and %d more", more)
	}
	text := fmt.Sprintf("not %s after %s", r.goal.Type, r.goal.Timeout)
	if r.outcome == runlocal.OutcomeStuck {
		text = "not ready, and nothing is left to do"
		if r.goal.Timeout > 0 {
			text += fmt.Sprintf(" within --timeout %s", r.goal.Timeout)
		}
	}
	if r.goal.Type == runlocal.GoalReady && len(late) > 0 {
		text += ": " + named
	}
	switch {
	case r.outcome == runlocal.OutcomeLapsed:
		return errors.New("was ready, and is not any more: " + named)
	case (r.outcome == runlocal.OutcomeStuck || r.outcome == runlocal.OutcomeTimedOut) && r.objects.OnlyFailedJobs():
		return errors.New(named)
	case r.outcome == runlocal.OutcomeTimedOut:
		return cli.WithHint(errors.New(text), o.lateHint(r))
	case r.outcome == runlocal.OutcomeStuck:
		return cli.WithHint(errors.New(text+latePodText(r.objects)), o.lateHint(r))
	}
	return errors.Join(r.err, r.stuckKey())
}

// stuckKey is the error of a key that has to wait for so long that the run counts as settled, because its controller's
// cache does not get what the controller wrote; nil if there is none.
func (r *result) stuckKey() error {
	for _, k := range r.trace.failing {
		if resource, stale := trace.StaleCache(k.Error); stale && r.outcome.Is(runlocal.GoalSettled) {
			return fmt.Errorf("not settled: %s %s waits for its cache of %s, which does not get what it wrote",
				k.Controller, k.Key, resource)
		}
	}
	return nil
}

// lateText is the state of an object that is not ready, and why.
func lateText(r runlocal.Readiness, s runlocal.ObjectStatus) string {
	if !s.IsFailedJob() {
		reason := strings.TrimPrefix(s.Status.Reason, s.Status.Status+": ")
		text := fmt.Sprintf("%s is %s: %s", s, s.Status.Status, reason)
		return strings.TrimSuffix(text, ": ")
	}
	why := s.Status.Reason
	if failures := r.PodFailures(s); failures != nil {
		why, _, _ = strings.Cut(why, ": ")
		why += " (" + strings.Join(failures, ", ") + ")"
	}
	return failedText(s) + ": " + why
}

// failedText is such as "job flaky failed".
func failedText(s runlocal.ObjectStatus) string {
	return strings.ToLower(s.Kind.Kind) + " " + s.Name + " failed"
}

// latePodText is the end of a sentence that gives the reason of the first late pod; empty if a failed Job gives the
// reason.
func latePodText(r runlocal.Readiness) string {
	if _, failed := r.FailedJob(); failed {
		return ""
	}
	if pod, ok := r.LatePod(); ok {
		return fmt.Sprintf(" (%s: %s)", pod, pod.Status.Reason)
	}
	return ""
}

// unverifiedWrites is the error of a dry run that did not find out what would be written; nil if it did, and outside of
// dry runs.
func (o *Options) unverifiedWrites(unverified []trace.FailingKey) error {
	if len(unverified) == 0 || !o.Writes.IsDryRun() {
		return nil
	}
	r := unverified[0].Unverified
	write := trace.WriteCount{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource}
	err := fmt.Errorf("what would be written is not known: the writes of %s could not be tried: %s %s: %s",
		cli.Plural(len(unverified), "key"), write.Verb, write.Name(), render.TrimAPIError(r.Message))
	lacksPermission := func(k trace.FailingKey) bool { return k.Unverified.Code == http.StatusForbidden }
	if o.Writes == DryRunClient || !slices.ContainsFunc(unverified, lacksPermission) {
		return err
	}
	return cli.WithHint(err, "--dry-run=client sends no write, and needs no permission to")
}

// summaryKind is the kind of a summaryDocument.
const summaryKind = "TraceSummary"

// summaryDocument is the last line of a run's NDJSON.
type summaryDocument struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Outcome is how the run ended.
	Outcome runlocal.Outcome `json:"outcome"`
	// Elapsed is how long the goal took, or was waited for; without a goal, how long the run took.
	Elapsed     trace.Duration            `json:"elapsed"`
	Controllers []trace.ControllerSummary `json:"controllers"`
	// Programs are those outside that sent requests to the API server of a sandbox.
	Programs []trace.ProgramSummary `json:"programs,omitempty"`
	// WouldWrite is what a dry run would have written, Wrote what a run on a cluster wrote.
	WouldWrite []trace.WriteCount `json:"wouldWrite,omitempty"`
	Wrote      []trace.WriteCount `json:"wrote,omitempty"`
	// Refused is what was refused of either, by verb, resource and code.
	Refused []trace.WriteCount `json:"refused,omitempty"`
	// Unknown counts the keys of a dry run with writes that could not be tried.
	Unknown int `json:"unknown,omitempty"`
	// Failing are the keys whose latest reconcile failed.
	Failing []trace.FailingKey `json:"failing,omitempty"`
	// Findings are what repeated without progress.
	Findings []findings.Finding `json:"findings,omitempty"`
	// Objects is the final state of the objects that were applied, and of those that controllers created.
	Objects []objectDocument `json:"objects,omitempty"`
	// Pending are the keys that were due later.
	Pending []pendingKey `json:"pending,omitempty"`
	// Interactions are who watched, read and wrote what.
	Interactions *interaction.Graph `json:"interactions,omitempty"`
	// Copy is the copy of a part of a cluster that the sandbox began with.
	Copy *CopyDocument `json:"copy,omitempty"`
}

// objectDocument is an object's final state.
type objectDocument struct {
	trace.Object
	// Applied is true for an object of -f or -k; false for one that a controller created.
	Applied bool   `json:"applied,omitempty"`
	Status  string `json:"status"`
	Ready   string `json:"ready,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

func (r *result) document(dryRun bool) summaryDocument {
	doc := summaryDocument{
		APIVersion: v1alpha1.APIVersion, Kind: summaryKind, Outcome: r.outcome, Elapsed: trace.Duration(r.elapsed),
		Controllers: r.trace.controllers, Programs: r.trace.programs, Refused: r.trace.refused,
		Unknown: len(r.trace.unverified),
		Failing: r.trace.failing, Findings: r.trace.findings,
		Pending: r.pending,
	}
	if doc.Controllers == nil {
		doc.Controllers = []trace.ControllerSummary{}
	}
	if dryRun {
		doc.WouldWrite = r.trace.written
	} else {
		doc.Wrote = r.trace.written
	}
	for i, group := range [][]runlocal.ObjectStatus{r.objects.Applied, r.objects.Created} {
		for _, s := range group {
			doc.Objects = append(doc.Objects, objectDocument{
				Object: trace.Object{
					Group: s.Resource.Group, Version: s.Resource.Version, Resource: s.Resource.Resource,
					Kind:      s.Kind.Kind,
					Namespace: s.Namespace, Name: s.Name,
				},
				Applied: i == 0, Status: s.Status.Status, Ready: s.Status.Ready, Reason: s.Status.Reason,
				Message: s.Status.Message,
			})
		}
	}
	return doc
}
