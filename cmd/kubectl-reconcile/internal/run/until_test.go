package run

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

func TestUntilSet(t *testing.T) {
	for _, tt := range []struct {
		in     string
		want   Until
		text   string
		reason string
	}{
		{"settled", Until{Goal: untilSettled}, "settled", "a goal"},
		{"ready", Until{Goal: untilReady}, "ready", "a goal"},
		{"30s", Until{untilElapsed, 30 * time.Second}, "30s", "a time"},
		{"1h30m", Until{untilElapsed, 90 * time.Minute}, "1h30m0s", "any that Go reads"},
		{"0", Until{}, "", "nothing runs in no time at all"},
		{"-1s", Until{}, "", "time does not run backwards"},
		{"30", Until{}, "", "30 of what?"},
		{"Ready", Until{}, "", "goals are lower case"},
		{"interrupted", Until{}, "", "that is what is meant if nothing is said"},
		{"", Until{}, "", "--until= says nothing"},
	} {
		var got Until
		err := got.Set(tt.in)
		if (err == nil) != (tt.want != Until{}) || got != tt.want || got.String() != tt.text {
			t.Errorf("Set(%q): %+v, %q, %v: %s", tt.in, got, got.String(), err, tt.reason)
		}
	}
}

func TestUntilOr(t *testing.T) {
	for _, tt := range []struct {
		given   Until
		objects bool
		want    goal
		reason  string
	}{
		{Until{}, true, untilReady, "with objects, they are what one waits for"},
		{Until{}, false, UntilInterrupted, "without, one watches until one has seen enough"},
		{Until{Goal: untilSettled}, true, untilSettled, "what was asked for counts"},
		{Until{untilElapsed, time.Second}, true, untilElapsed, "a time was asked for as well"},
	} {
		if got := tt.given.or(tt.objects); got.Goal != tt.want {
			t.Errorf("%+v.or(%t) = %+v, want %s: %s", tt.given, tt.objects, got, tt.want, tt.reason)
		}
	}
}

func TestJudge(t *testing.T) {
	broke := errors.New("no space left")
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	failed, fail := context.WithCancelCause(t.Context())
	fail(broke)
	notReady := &runlocal.NotReadyError{Objects: []runlocal.ObjectStatus{{}}}
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		goal    goal
		err     error
		outcome string
		failed  string
		reason  string
	}{
		{"ready", t.Context(), untilReady, nil, "ready", "", "the goal was reached"},
		{"settled", t.Context(), untilSettled, nil, "settled", "", "the goal was reached"},
		{"elapsed", t.Context(), untilElapsed, context.DeadlineExceeded, "elapsed", "", "the end of the time was the goal"},
		{"timed out", t.Context(), untilReady, context.DeadlineExceeded, timedOut, "", "the end of --timeout was not"},
		{"timed out within", t.Context(), untilSettled, fmt.Errorf("reading: %w", context.DeadlineExceeded), timedOut, "", "however it is told"},
		{"stuck", t.Context(), untilReady, notReady, stuck, "", "nothing was left to do"},
		{"broken", t.Context(), untilReady, broke, broken, "no space left", "any other error is one"},
		{"interrupted", interrupted, untilReady, context.Canceled, "interrupted", `interrupted before the goal "ready" was reached`, "there was something to wait for"},
		{"interrupted with another error", interrupted, untilReady, errors.New("client closed"), "interrupted", `interrupted before the goal "ready" was reached`, "what was cut off says no more than that"},
		{"interrupted at last", interrupted, untilReady, nil, "ready", "", "it was reached before"},
		{"ended", interrupted, UntilInterrupted, context.Canceled, "interrupted", "", "that is how such a run ends"},
		{"output failed", failed, untilReady, context.Canceled, broken, "no space left", "it was no interrupt that ended it"},
		{"output failed at last", failed, UntilInterrupted, context.Canceled, broken, "no space left", "not even where an interrupt would be no error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := (&Options{Until: Until{Goal: tt.goal}}).judge(tt.ctx, tt.err)
			text := ""
			if got.err != nil {
				text = got.err.Error()
			}
			if got.outcome != tt.outcome || text != tt.failed {
				t.Errorf("%q with the error %q, want %q with %q: %s", got.outcome, text, tt.outcome, tt.failed, tt.reason)
			}
		})
	}
}

// TestInterruptedWhileApplying has a wait for no objects at all, as nothing was applied yet: they are not ready.
func TestInterruptedWhileApplying(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, goal := range []goal{untilReady, untilSettled, untilElapsed, UntilInterrupted} {
		r := (&Options{Until: Until{Goal: goal}}).wait(interrupted, nil, nil)
		if failed := r.err != nil; r.outcome != "interrupted" || failed != (goal != UntilInterrupted) {
			t.Errorf("a wait for %q ends with %q and the error %v", goal, r.outcome, r.err)
		}
	}
}

func TestFailure(t *testing.T) {
	object := func(name, status, message string) runlocal.ObjectStatus {
		s := runlocal.ObjectStatus{Status: inspect.Status{Status: status, Reason: message}}
		s.Kind.Kind, s.Name = "Pod", name
		return s
	}
	var five []runlocal.ObjectStatus
	for i := range 5 {
		five = append(five, object(fmt.Sprint(i), "InProgress", ""))
	}
	failed := objectOf("batch", "Job", "flaky", "Failed")
	failed.Namespace, failed.Status.Reason = "shop", "BackoffLimitExceeded: Job has reached the specified backoff limit"
	pod := func(reason string) runlocal.ObjectStatus {
		p := objectOf("", "Pod", "flaky-x", "Failed")
		p.Namespace, p.Status.Reason, p.Controller = "shop", reason, &metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "flaky"}
		return p
	}
	ready := &Options{Until: Until{Goal: untilReady}, timeout: time.Minute}
	settled := &Options{Until: Until{Goal: untilSettled}, timeout: time.Minute}
	for _, tt := range []struct {
		name   string
		r      result
		o      *Options
		want   string
		reason string
	}{
		{"reached", result{outcome: "ready"}, ready, "", "no error"},
		{"late", result{outcome: timedOut, objects: []runlocal.ObjectStatus{object("good", "Current", ""), object("bad", "Failed", "no image")}}, ready,
			"not ready after 1m0s: pod/bad is Failed: no image", "the object that is late, and why"},
		{"no message", result{outcome: timedOut, objects: five[:1]}, ready, "not ready after 1m0s: pod/0 is InProgress", "no colon before nothing"},
		{"many", result{outcome: timedOut, objects: five}, ready, "not ready after 1m0s: pod/0 is InProgress; pod/1 is InProgress; pod/2 is InProgress; and 2 more", "a few, and how many more"},
		{"stuck", result{outcome: stuck, objects: five[:1]}, ready, "not ready, and nothing is left to do within --timeout 1m0s: pod/0 is InProgress", "time would not mend it"},
		{"failed", result{outcome: stuck, objects: []runlocal.ObjectStatus{failed}, made: []runlocal.ObjectStatus{pod("exit code 3"), pod("exit code 3")}}, ready,
			"job flaky failed: BackoffLimitExceeded (exit code 3)", "time was not what it lacked"},
		{"failed in several ways", result{outcome: timedOut, objects: []runlocal.ObjectStatus{failed}, made: []runlocal.ObjectStatus{pod("exit code 3"), pod("OOMKilled"), pod("")}}, ready,
			"job flaky failed: BackoffLimitExceeded (exit code 3, OOMKilled)", "each is told once"},
		{"failed, and its pods are gone", result{outcome: stuck, objects: []runlocal.ObjectStatus{failed}}, ready,
			"job flaky failed: BackoffLimitExceeded: Job has reached the specified backoff limit", "the Job's own words are left"},
		{"failed among others", result{outcome: stuck, objects: []runlocal.ObjectStatus{failed, five[0]}}, ready,
			"not ready, and nothing is left to do within --timeout 1m0s: job flaky failed: BackoffLimitExceeded: Job has reached the specified backoff limit; pod/0 is InProgress", "both are told"},
		{"not settled", result{outcome: timedOut, objects: nil}, settled, "not settled after 1m0s", "no object is to blame"},
		{"broken", result{outcome: broken, err: errors.New("boom")}, ready, "boom", "the error itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := ""
			if err := tt.r.failure(tt.o); err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tt.want, text); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	for _, tt := range []struct {
		o      Options
		want   time.Duration
		reason string
	}{
		{Options{Until: Until{Goal: untilReady}, timeout: time.Hour}, time.Hour, "a goal is waited for that long"},
		{Options{Until: Until{Goal: untilReady}}, 0, "0 waits forever"},
		{Options{Until: Until{untilElapsed, 2 * time.Hour}, timeout: time.Hour}, 2 * time.Hour, "a time that was asked for is not cut short"},
		{Options{Until: Until{Goal: UntilInterrupted}, timeout: time.Hour}, 0, "nor is watching"},
	} {
		ctx, cancel := tt.o.limit(t.Context())
		defer cancel()
		deadline, bounded := ctx.Deadline()
		left := time.Until(deadline).Round(time.Minute)
		if bounded != (tt.want > 0) || bounded && left != tt.want {
			t.Errorf("%s with --timeout %s ends in %s (%t): %s", tt.o.Until.String(), tt.o.timeout, left, bounded, tt.reason)
		}
	}
}

func TestWithoutCutOff(t *testing.T) {
	refused, full := errors.New("refused"), errors.New("no space left")
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	failed, fail := context.WithCancelCause(t.Context())
	fail(full)
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		err    error
		want   string
		reason string
	}{
		{"none", interrupted, nil, "", "nothing went wrong"},
		{"running", t.Context(), fmt.Errorf("creating: %w", context.Canceled), "creating: context canceled", "nobody interrupted it"},
		{"interrupted", interrupted, fmt.Errorf("creating: %w", context.Canceled), "", "the interrupt is told elsewhere"},
		{"refused before", interrupted, errors.Join(refused, fmt.Errorf("creating: %w", context.Canceled)), "refused", "what was refused before stays an error"},
		{"output failed", failed, errors.Join(fmt.Errorf("creating: %w", full), refused), "refused", "the output's error is told once"},
	} {
		text := ""
		if err := withoutCutOff(tt.ctx, tt.err); err != nil {
			text = err.Error()
		}
		if text != tt.want {
			t.Errorf("%s: %q, want %q: %s", tt.name, text, tt.want, tt.reason)
		}
	}
}
