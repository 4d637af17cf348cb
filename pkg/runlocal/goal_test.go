package runlocal

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

func TestOutcome(t *testing.T) {
	broke := errors.New("no space left")
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	failed, fail := context.WithCancelCause(t.Context())
	fail(broke)
	notReady := &NotReadyError{Objects: []ObjectStatus{{}}}
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		goal    GoalType
		err     error
		outcome Outcome
		failed  string
		reason  string
	}{
		{"ready", t.Context(), GoalReady, nil, "ready", "", "the goal was reached"},
		{"settled", t.Context(), GoalSettled, nil, "settled", "", "the goal was reached"},
		{"elapsed", t.Context(), GoalElapsed, context.DeadlineExceeded, "elapsed", "",
			"the end of the time was the goal"},
		{"timed out", t.Context(), GoalReady, context.DeadlineExceeded, OutcomeTimedOut, "",
			"the end of --timeout was not"},
		{"timed out within", t.Context(), GoalSettled, fmt.Errorf("reading: %w", context.DeadlineExceeded),
			OutcomeTimedOut, "", "also when it is wrapped"},
		{"stuck", t.Context(), GoalReady, notReady, OutcomeStuck, "", "nothing was left to do"},
		{"broken", t.Context(), GoalReady, broke, OutcomeFailed, "no space left", "any other error is one"},
		{"interrupted", interrupted, GoalReady, context.Canceled, "interrupted", "", "there was something to wait for"},
		{"interrupted with another error", interrupted, GoalReady, errors.New("client closed"), "interrupted", "",
			"what was cut off says no more than that"},
		{"interrupted at last", interrupted, GoalReady, nil, "ready", "", "it was reached before"},
		{"ended", interrupted, GoalInterrupted, context.Canceled, "interrupted", "", "that is how such a run ends"},
		{"output failed", failed, GoalReady, context.Canceled, OutcomeFailed, "no space left",
			"it was no interrupt that ended it"},
		{"output failed at last", failed, GoalInterrupted, context.Canceled, OutcomeFailed, "no space left",
			"not even where an interrupt would be no error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Goal{Type: tt.goal}.outcome(tt.ctx, tt.err)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if got != tt.outcome || text != tt.failed {
				t.Errorf("%q with the error %q, want %q with %q: %s", got, text, tt.outcome, tt.failed, tt.reason)
			}
		})
	}
}

// TestWaitForAfterInterrupt: no objects are not ready objects, if an interrupt came before they were applied.
func TestWaitForAfterInterrupt(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, goal := range []GoalType{GoalReady, GoalSettled, GoalElapsed, GoalInterrupted} {
		if got, err := (&Session{}).WaitFor(interrupted, Goal{Type: goal}, nil); got != "interrupted" || err != nil {
			t.Errorf("a wait for %q ends with %q and the error %v", goal, got, err)
		}
	}
}

func TestGoalLimit(t *testing.T) {
	for _, tt := range []struct {
		g      Goal
		want   time.Duration
		reason string
	}{
		{Goal{Type: GoalReady, Timeout: time.Hour}, time.Hour, "a goal is waited for that long"},
		{Goal{Type: GoalReady}, 0, "0 waits forever"},
		{Goal{Type: GoalElapsed, After: 2 * time.Hour, Timeout: time.Hour}, 2 * time.Hour,
			"a given time is not cut short"},
		{Goal{Type: GoalInterrupted, Timeout: time.Hour}, 0, "nor is watching"},
	} {
		ctx, cancel := tt.g.limit(t.Context())
		defer cancel()
		deadline, bounded := ctx.Deadline()
		left := time.Until(deadline).Round(time.Minute)
		if bounded != (tt.want > 0) || bounded && left != tt.want {
			t.Errorf("%+v ends in %s (%t): %s", tt.g, left, bounded, tt.reason)
		}
	}
}

// TestSettleBriefly: what was due in the period is done when it returns, however long that takes, within bounds.
func TestSettleBriefly(t *testing.T) {
	for _, row := range []struct {
		reason      string
		due, takes  time.Duration // of a key
		atLeast, by time.Duration
	}{
		{"nothing is due soon", time.Hour, 0, clusterSettleTime, clusterSettleTime + 100*time.Millisecond},
		{"a key is due in the period, and takes longer", time.Second, 3 * time.Second, 4 * time.Second, 6 * time.Second},
		{"a key is due late in the period", 1300 * time.Millisecond, 0, 1300 * time.Millisecond, 2600 * time.Millisecond},
		{"a key is due soon after the period", 2 * time.Second, 0, clusterSettleTime, 1900 * time.Millisecond},
		{"a controller is never idle", 0, time.Hour, defaultSettlePeriod + maxSettleDelay, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &Session{tap: tap.New(tap.Options{})}
			queue := tap.WrapQueue(s.tap.Controller("test"), "", workqueue.NewTypedRateLimitingQueue(
				workqueue.DefaultTypedControllerRateLimiter[string]()), func(key string) string { return key })
			ended := make(chan struct{})
			defer close(ended)
			defer queue.ShutDown()
			go func() {
				for {
					key, end := queue.Get()
					if end {
						return
					}
					select {
					case <-time.After(row.takes): // of the bubble
					case <-ended:
					}
					queue.Done(key)
				}
			}()
			queue.AddAfter("default/a", row.due)
			synctest.Wait()
			began := time.Now()
			s.SettleBriefly(t.Context(), 0)
			if took := time.Since(began); took < row.atLeast || took > row.by {
				t.Errorf("%s: it returned after %s, want %s to %s", row.reason, took, row.atLeast, row.by)
			}
		})
	}
}
