package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Run runs the session to its end. However that ends, the summary of what was traced is shown, unless it did not start.
func (o *Options) Run(ctx context.Context) error {
	if err := cli.SetUpKlog(o.Detail); err != nil {
		return err
	}
	manifests, unreadable := o.readManifests(ctx)
	if unreadable != nil && (len(manifests) == 0 || o.Serve != nil) {
		return unreadable
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	out, err := o.openOutputs(fail)
	if err != nil {
		return err
	}
	// Controllers that wait for a slow output to take their trace would hold up the end.
	extended, done := extended(ctx, outputGrace)
	defer done()
	context.AfterFunc(extended, out.cut)
	runErr := o.runSession(ctx, out, manifests)
	return errors.Join(unreadable, runErr, out.close(context.Cause(ctx)))
}

// readManifests reads the manifests, which may come from a terminal or a slow server. An interrupt does not wait for
// them.
func (o *Options) readManifests(ctx context.Context) ([]runlocal.Manifest, error) {
	if o.ReadManifests == nil {
		return nil, nil
	}
	type answer struct {
		manifests []runlocal.Manifest
		err       error
	}
	read := make(chan answer, 1) // buffered: a read that hangs ends with the process
	go func() {
		manifests, err := o.ReadManifests()
		read <- answer{manifests, err}
	}()
	select {
	case a := <-read:
		return a.manifests, a.err
	case <-ctx.Done():
		return nil, cli.Interruption(ctx, "while the files were read")
	}
}

// runSession starts the session with its sinks, runs it until its goal, and prints the summary.
func (o *Options) runSession(ctx context.Context, out *Outputs, manifests []runlocal.Manifest) error {
	out.sinks = append(out.sinks, o.Target.Sinks(out)...)
	if err := o.Telemetry.open(ctx, o.Target, out); err != nil {
		return errors.Join(err, o.Telemetry.close(ctx), out.flush(ctx))
	}
	session, err := o.Target.Start(ctx, o, out, trace.NewRecorder(o.Clock, out.sinks...))
	if err != nil {
		return errors.Join(err, o.Target.Close(ctx), o.Telemetry.close(ctx), out.flush(ctx))
	}
	o.Telemetry.started(session)
	r, err := o.runUntilGoal(ctx, session, out, manifests)
	o.Telemetry.stopping()
	recordErr := out.recording.stop(ctx, session)
	stopErr := errors.Join(recordErr, o.stop(ctx, session, out), o.Target.Close(ctx), o.Telemetry.close(ctx))
	r.stopped(o.Clock.Now())
	r.trace = out.recorded()
	finishErr := out.finish(ctx, r)
	return errors.Join(err, stopErr, finishErr, o.failure(r), notCollecting(session, r),
		o.unverifiedWrites(r.trace.unverified), o.Findings.Err(r.trace.findings))
}

// StartUninterrupted starts a session that an interrupt ends only while it starts: afterwards its final state is still
// read. when completes the error of an interrupt: "interrupted while …".
func StartUninterrupted(
	ctx context.Context, when string, start func(context.Context) (*runlocal.Session, error),
) (*runlocal.Session, error) {
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started := context.AfterFunc(ctx, cancel)
	session, err := start(detached)
	if started() {
		return session, err
	}
	// The error of what was interrupted says no more than that it was.
	interrupt := cli.Interruption(ctx, "while "+when)
	if err == nil {
		return nil, errors.Join(interrupt, session.Stop())
	}
	return nil, interrupt
}

// runUntilGoal applies the objects, waits for the goal and reads the final state.
func (o *Options) runUntilGoal(ctx context.Context, session *runlocal.Session, out *Outputs,
	manifests []runlocal.Manifest) (*result, error) {
	unused := func(err error) (*result, error) {
		return &result{goal: o.Goal, outcome: runlocal.OutcomeFailed, began: o.Clock.Now(), unused: true}, err
	}
	if out.recording != nil {
		if err := out.recording.start(ctx, session, out); err != nil {
			return unused(err)
		}
	}
	if o.startingText() != "" {
		session.SettleBriefly(ctx, o.Goal.SettlePeriod) // the times from here on are those of the objects
	}
	r := &result{goal: o.Goal, began: o.Clock.Now()}
	out.startAt(r.began)
	applied, applyErr := o.apply(ctx, session, out, manifests)
	out.begin()
	applyErr = withoutInterruption(ctx, applyErr)
	if applyErr != nil && (len(applied) == 0 || o.Serve != nil) {
		return unused(applyErr)
	}
	end := func() error { return nil }
	if o.Serve != nil {
		var err error
		if end, err = o.Serve(ctx, session); err != nil {
			return unused(errors.Join(err, end()))
		}
	}
	if o.Feed != nil {
		applyErr = errors.Join(applyErr, withoutInterruption(ctx, o.Feed(ctx, session)))
	}
	shown := o.showRunning(ctx, session, out, applied)
	goal := o.Goal
	goal.Alone = o.Serve == nil
	outcome, err := session.WaitFor(ctx, goal, applied)
	shown()
	r.ended(outcome, err, o.Clock.Now())
	return r, errors.Join(applyErr, o.readFinalState(ctx, session, applied, out.created.Resources(), r), end())
}

// maxAppliedNames bounds the applied objects that are named each in a line, before a story or the changes of fields.
const maxAppliedNames = 10

// apply creates the objects, and the namespace of those that name none, and prints what it has created. On a cluster
// there are none.
func (o *Options) apply(ctx context.Context, session *runlocal.Session, out *Outputs,
	manifests []runlocal.Manifest) ([]runlocal.Applied, error) {
	if o.onCluster() {
		return nil, nil
	}
	if err := session.EnsureNamespace(ctx, o.Namespace); err != nil {
		return nil, err
	}
	shown := o.Progress.Show(ctx, cli.ProgressText("applying %s", cli.Plural(len(manifests), "object")))
	applied, err := session.Apply(ctx, o.Namespace, manifests)
	shown()
	if (out.story != nil || out.fields != nil) && len(applied) > maxAppliedNames {
		out.Notef("applied: %d objects", len(applied))
	} else {
		for _, a := range applied {
			out.Notef("applied: %s", a)
		}
	}
	for _, quota := range session.Unenforced(applied) {
		out.Warnf("%s limits nothing: admission goes by the status of a quota, "+
			"which the resourcequota controller sets; add resourcequota to --controller", quota)
	}
	return applied, withManifestHints(err)
}

// withoutInterruption leaves out the errors of what the end of ctx interrupted: they say no more than the cause of the
// end does.
func withoutInterruption(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return errors.Join(slices.DeleteFunc(cli.FlattenErrors(err), func(e error) bool {
		return errors.Is(e, context.Canceled) || errors.Is(e, context.Cause(ctx))
	})...)
}

// stop stops the session. If that takes a while, it writes what is waited for, also with -q.
func (o *Options) stop(ctx context.Context, session *runlocal.Session, out *Outputs) error {
	return withNotice(session.Stop, stopNoticeDelay, func() {
		interrupted := errors.Is(context.Cause(ctx), context.Canceled)
		out.Stderrf("%s", stoppingText(session.State().Busy(), interrupted, o.Writes.IsDryRun()))
	})
}

// withNotice returns what do returns, and calls notice if that takes longer than after.
func withNotice(do func() error, after time.Duration, notice func()) error {
	done := make(chan error, 1) // buffered: it is received in any case, but maybe later
	go func() { done <- do() }()
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		notice()
	}
	return <-done
}

// stoppingText names the controllers that finish what they have begun, and says how to stop without that.
func stoppingText(busy []string, interrupted, dryRun bool) string {
	busy = slices.DeleteFunc(busy, func(name string) bool { return slices.Contains(simulated, name) })
	doing := "writing"
	if dryRun {
		doing = "at work"
	}
	text := "stopping"
	if len(busy) > 0 {
		text += fmt.Sprintf(": %s %s still %s", strings.Join(busy, ", "), cli.PluralOf(len(busy), "is", "are"), doing)
	}
	text += fmt.Sprintf(", up to %s", runlocal.StopTimeout)
	if interrupted {
		text += "; Ctrl-C again stops at once"
	}
	return text
}
