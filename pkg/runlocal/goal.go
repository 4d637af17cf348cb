package runlocal

import (
	"context"
	"errors"
	"slices"
	"time"
)

// GoalType is a kind of Goal.
type GoalType string

// The types of goals.
const (
	// GoalInterrupted is nothing but the end of the context.
	GoalInterrupted GoalType = "interrupted"
	// GoalSettled is that nothing is left to do: see Session.WaitSettled.
	GoalSettled GoalType = "settled"
	// GoalReady is that all applied objects are ready: see Session.WaitReady.
	GoalReady GoalType = "ready"
	// GoalElapsed is the end of a duration.
	GoalElapsed GoalType = "elapsed"
)

// Goal is what Session.WaitFor waits for.
type Goal struct {
	Type GoalType
	// After is the duration of GoalElapsed; it is not used for others.
	After time.Duration
	// Timeout bounds the wait for GoalSettled and GoalReady; 0 is no bound.
	Timeout time.Duration
	// Alone reports that only the session writes, no client of it: then GoalReady does not wait for what a client would
	// have to do, such as the status of a custom resource.
	Alone bool
	// SettlePeriod is for how long Session.WaitFor lets the controllers settle after GoalReady was reached; 0 is 1.5 s.
	// See Session.SettleBriefly.
	SettlePeriod time.Duration
}

// Outcome is how the wait for a Goal ended: the type of the goal if it was reached, else one of the constants, or
// "interrupted" if the context ended first.
type Outcome string

// Why a goal was not reached.
const (
	// OutcomeTimedOut is that Goal.Timeout was over.
	OutcomeTimedOut Outcome = "timedOut"
	// OutcomeStuck is that nothing was left to do which could have led to GoalReady.
	OutcomeStuck Outcome = "stuck"
	// OutcomeLapsed is that GoalReady was reached, and that the objects are not ready any more.
	OutcomeLapsed Outcome = "lapsed"
	// OutcomeFailed is that an error ended the wait.
	OutcomeFailed Outcome = "failed"
)

// Is reports whether the goal of that type was reached.
func (o Outcome) Is(t GoalType) bool { return o == Outcome(t) }

// WaitFor waits for the goal, of the objects if it is GoalReady. The error is that of OutcomeFailed, nil for all
// others. A goal other than GoalInterrupted is not reached when ctx has ended before: objects may not have been applied
// then.
func (s *Session) WaitFor(ctx context.Context, g Goal, applied []Applied) (Outcome, error) {
	if ctx.Err() != nil {
		return interruptedBy(ctx)
	}
	limited, cancel := g.limit(ctx)
	defer cancel()
	var err error
	switch g.Type {
	case GoalReady:
		if err = s.waitReady(limited, applied, g.Alone); err == nil {
			s.SettleBriefly(limited, g.SettlePeriod)
		}
	case GoalSettled:
		err = s.WaitSettled(limited)
	default:
		<-limited.Done()
		err = limited.Err()
	}
	return g.outcome(ctx, err)
}

// limit bounds the wait by the duration of the goal, or by its timeout.
func (g Goal) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	switch {
	case g.Type == GoalElapsed:
		return context.WithTimeout(ctx, g.After)
	case g.Type == GoalInterrupted || g.Timeout == 0:
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, g.Timeout)
}

// outcome returns how a wait ended whose error was err. ctx is that of WaitFor, not the limited one.
func (g Goal) outcome(ctx context.Context, err error) (Outcome, error) {
	switch notReady := (*NotReadyError)(nil); {
	case err == nil:
		return Outcome(g.Type), nil
	case ctx.Err() != nil:
		return interruptedBy(ctx)
	case errors.As(err, &notReady):
		return OutcomeStuck, nil
	case errors.Is(err, context.DeadlineExceeded) && g.Type == GoalElapsed:
		return Outcome(g.Type), nil
	case errors.Is(err, context.DeadlineExceeded):
		return OutcomeTimedOut, nil
	}
	return OutcomeFailed, err
}

// interruptedBy returns the outcome of a wait whose context has ended: a cause other than context.Canceled is an error.
func interruptedBy(ctx context.Context) (Outcome, error) {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return OutcomeFailed, cause
	}
	return Outcome(GoalInterrupted), nil
}

// defaultSettlePeriod is long enough for what happens right after objects are ready. Simulated containers that crash
// run for a second and start again a second later: in between, every controller has seen it.
const defaultSettlePeriod = 1500 * time.Millisecond

// maxSettleDelay is how much later than that what was due in the period may be done: controllers that are never idle
// must not hold up a session.
const maxSettleDelay = 10 * time.Second

// SettleBriefly returns when the session has settled, or when all has been done that was due within the period (0 is
// 1.5 s): on a slow machine that is later. So what follows is not mixed up with what was under way, and what becomes of
// objects in the period does not depend on how fast they are worked on.
func (s *Session) SettleBriefly(ctx context.Context, period time.Duration) {
	if period == 0 {
		period = defaultSettlePeriod
	}
	ctx, cancel := context.WithTimeout(ctx, period+maxSettleDelay)
	defer cancel()
	end := time.Now().Add(period)
	settled := s.settledForLong()
	_ = s.poll(ctx, func() (bool, error) {
		enough := settled() || time.Now().After(end)
		return enough && s.doneUntil(end), nil
	})
}

// doneUntil reports whether nothing is left to do of what was due by then.
func (s *Session) doneUntil(then time.Time) bool {
	state := s.tap.State() // before the versions, as in Settled
	return s.idle(state) && !slices.ContainsFunc(pending(state), func(p Pending) bool { return p.Due.Before(then) })
}
