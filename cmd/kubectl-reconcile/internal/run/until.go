package run

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

// Goal is what a run waits for.
type goal string

const (
	untilUnset       goal = ""
	UntilInterrupted goal = "interrupted"
	untilSettled     goal = "settled"
	untilReady       goal = "ready"
	untilElapsed     goal = "elapsed"
)

// Until is the value of --until. It implements pflag.Value.
type Until struct {
	Goal  goal
	after time.Duration
}

// Set implements pflag.Value.
func (u *Until) Set(s string) error {
	switch goal(s) {
	case untilSettled, untilReady:
		*u = Until{Goal: goal(s)}
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return errors.New("must be settled, ready or a duration such as 30s, more than 0")
	}
	*u = Until{untilElapsed, d}
	return nil
}

// String implements pflag.Value.
func (u *Until) String() string {
	if u.Goal == untilElapsed {
		return u.after.String()
	}
	return string(u.Goal)
}

// Type implements pflag.Value.
func (u *Until) Type() string { return "goal" }

// or is u, or what to wait for if --until was not given.
func (u *Until) or(objects bool) Until {
	switch {
	case u.Goal != untilUnset:
		return *u
	case objects:
		return Until{Goal: untilReady}
	}
	return Until{Goal: UntilInterrupted}
}

// Why a goal was not reached.
const (
	timedOut = "timedOut" // --timeout was over
	stuck    = "stuck"    // nothing was left that could have led to it
	lapsed   = "lapsed"   // it was reached, and is not held
	broken   = "failed"   // an error ended the run
)

// result is how a run ended.
type result struct {
	// outcome is the goal if it was reached, else why it was not, or "interrupted".
	outcome string
	err     error
	// elapsed is how long that took since it began; see ended.
	elapsed time.Duration
	began   time.Time
	// unused is true if there is nothing to sum up: no object could be applied, or the session could not be used.
	unused bool

	controllers []trace.ControllerSummary
	written     []trace.WriteCount
	refused     []trace.WriteCount
	failing     []trace.FailingKey
	unknown     []trace.FailingKey
	objects     []runlocal.ObjectStatus
	made        []runlocal.ObjectStatus
	pending     []pendingKey
}

// wait waits for the goal, and says how that ended. No goal is reached after an interrupt: what was to be applied may not be.
func (o *Options) wait(ctx context.Context, session *runlocal.Session, applied []runlocal.Applied) result {
	if ctx.Err() != nil {
		return o.interrupted(ctx)
	}
	limited, cancel := o.limit(ctx)
	defer cancel()
	var err error
	switch o.Until.Goal {
	case untilReady:
		if err = session.WaitReady(limited, applied); err == nil {
			settleBriefly(limited, session)
		}
	case untilSettled:
		err = session.WaitSettled(limited)
	default:
		<-limited.Done()
		err = limited.Err()
	}
	return o.judge(ctx, err)
}

// limit bounds the wait by --timeout, or by --until if that is a duration.
func (o *Options) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	switch {
	case o.Until.Goal == untilElapsed:
		return context.WithTimeout(ctx, o.Until.after)
	case o.Until.Goal == UntilInterrupted || o.timeout == 0:
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, o.timeout)
}

// settling bounds how long the controllers may go on after the objects are ready. Simulated containers that crash run for
// a second and start again a second later: in between, everybody has seen it.
const settling = 1500 * time.Millisecond

// settleBriefly lets the trace not end in the middle of what the controllers were about to see. The goal is reached
// whether they settle or not.
func settleBriefly(ctx context.Context, session *runlocal.Session) {
	brief, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	_ = session.WaitSettled(brief)
}

// judge tells reaching the goal from an interrupt, a timeout and an error. ctx is the command's.
func (o *Options) judge(ctx context.Context, err error) result {
	goal := string(o.Until.Goal)
	switch notReady := (*runlocal.NotReadyError)(nil); {
	case err == nil:
		return result{outcome: goal}
	case ctx.Err() != nil:
		return o.interrupted(ctx)
	case errors.As(err, &notReady):
		return result{outcome: stuck}
	case errors.Is(err, context.DeadlineExceeded) && o.Until.Goal == untilElapsed:
		return result{outcome: goal}
	case errors.Is(err, context.DeadlineExceeded):
		return result{outcome: timedOut}
	}
	return result{outcome: broken, err: err}
}

// failure is the error of a goal that was not reached, once the objects' final state is known.
func (r *result) failure(o *Options) error {
	var late []string
	for _, s := range r.objects {
		if s.Late() {
			late = append(late, r.lateText(s))
		}
	}
	named := strings.Join(late[:min(len(late), mostLate)], "; ")
	if more := len(late) - mostLate; more > 0 {
		named += fmt.Sprintf("; and %d more", more)
	}
	text := fmt.Sprintf("not %s after %s", o.Until.Goal, o.timeout)
	if r.outcome == stuck {
		text = "not ready, and nothing is left to do" + o.withinTimeout()
	}
	if o.Until.Goal == untilReady && len(late) > 0 {
		text += ": " + named
	}
	switch {
	case r.outcome == lapsed:
		return errors.New("was ready, and is not any more: " + named)
	case (r.outcome == stuck || r.outcome == timedOut) && r.onlyFailed():
		return errors.New(named)
	case r.outcome == timedOut:
		return cli.WithHint(errors.New(text), r.lateHint(o))
	case r.outcome == stuck:
		return cli.WithHint(errors.New(text+r.blame()), r.lateHint(o))
	}
	return r.err
}

// withinTimeout is the end of a sentence about what could still happen.
func (o *Options) withinTimeout() string {
	if o.timeout == 0 {
		return ""
	}
	return fmt.Sprintf(" within --timeout %s", o.timeout)
}

// blame is the end of a sentence, why the first of the pods that are late is; empty if a failed Job gives the reason.
func (r *result) blame() string {
	if slices.ContainsFunc(r.objects, hasFailed) {
		return ""
	}
	for _, s := range r.made {
		if s.Kind.Kind == "Pod" && !s.Status.Current() {
			return fmt.Sprintf(" (%s: %s)", s, s.Status.Reason)
		}
	}
	return ""
}

// judgeAgain looks at the objects once more at the end: a crash loop is ready for a moment.
func (r *result) judgeAgain() {
	if r.outcome == string(untilReady) && slices.ContainsFunc(r.objects, runlocal.ObjectStatus.Late) {
		r.outcome = lapsed
	}
}

// mostLate bounds the objects that an error names.
const mostLate = 3

// interrupted is no error if there was nothing else to wait for; an output that failed is one.
func (o *Options) interrupted(ctx context.Context) result {
	switch cause := context.Cause(ctx); {
	case !errors.Is(cause, context.Canceled):
		return result{outcome: broken, err: cause}
	case o.Until.Goal == UntilInterrupted:
		return result{outcome: string(UntilInterrupted)}
	}
	return result{outcome: "interrupted", err: fmt.Errorf("interrupted before the goal %q was reached", o.Until.String())}
}
