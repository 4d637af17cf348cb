package session

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

func TestStoppingText(t *testing.T) {
	for _, tt := range []struct {
		reason      string
		busy        []string
		interrupted bool
		dry         bool
		want        string
	}{
		{"one", []string{"replicaset"}, true, false,
			"stopping: replicaset is still writing, up to 10s; Ctrl-C again stops at once"},
		{"several", []string{"job", "replicaset"}, true, false,
			"stopping: job, replicaset are still writing, up to 10s; Ctrl-C again stops at once"},
		{"no interrupt", []string{"job"}, false, false, "stopping: job is still writing, up to 10s"},
		{"a dry run writes nothing", []string{"job"}, true, true,
			"stopping: job is still at work, up to 10s; Ctrl-C again stops at once"},
		{"simulated controllers are not named", []string{"kubelet", "job"}, false, false, "stopping: job is still writing, up to 10s"},
		{"no controller is at work", nil, true, false, "stopping, up to 10s; Ctrl-C again stops at once"},
	} {
		if got := stoppingText(tt.busy, tt.interrupted, tt.dry); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}

func TestWithNotice(t *testing.T) {
	broke := errors.New("broke")
	for _, tt := range []struct {
		reason string
		takes  time.Duration
		want   []string
	}{
		{"at once", 0, nil},
		{"shortly before", 499 * time.Millisecond, nil},
		{"long", 7 * time.Second, []string{"stopping"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var notices []string
			stop := func() error {
				<-time.After(tt.takes)
				return broke
			}
			if err := withNotice(stop, 500*time.Millisecond, func() { notices = append(notices, "stopping") }); !errors.Is(err, broke) {
				t.Errorf("%s: the error of the end is %v", tt.reason, err)
			}
			if diff := cmp.Diff(tt.want, notices); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// TestElapsed: a run without a goal but its end lasts until its controllers have stopped; other runs until their goal.
func TestElapsed(t *testing.T) {
	began := time.Now()
	for outcome, want := range map[runlocal.Outcome]time.Duration{
		"interrupted": 9 * time.Second, "elapsed": 9 * time.Second, runlocal.OutcomeFailed: 9 * time.Second,
		"ready": 2 * time.Second, "settled": 2 * time.Second, runlocal.OutcomeTimedOut: 2 * time.Second,
		runlocal.OutcomeStuck: 2 * time.Second, runlocal.OutcomeLapsed: 2 * time.Second,
	} {
		r := result{outcome: outcome, began: began, elapsed: 2 * time.Second}
		if r.stopped(began.Add(9 * time.Second)); r.elapsed != want {
			t.Errorf("%s: %s, want %s", outcome, r.elapsed, want)
		}
	}
}

func TestWithoutInterruption(t *testing.T) {
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
		{"running", t.Context(), fmt.Errorf("creating: %w", context.Canceled), "creating: context canceled", "it was not interrupted"},
		{"interrupted", interrupted, fmt.Errorf("creating: %w", context.Canceled), "", "the interrupt is reported elsewhere"},
		{"refused before", interrupted, errors.Join(refused, fmt.Errorf("creating: %w", context.Canceled)), "refused", "what was refused before stays an error"},
		{"output failed", failed, errors.Join(fmt.Errorf("creating: %w", full), refused), "refused", "the output's error is reported once"},
	} {
		text := ""
		if err := withoutInterruption(tt.ctx, tt.err); err != nil {
			text = err.Error()
		}
		if text != tt.want {
			t.Errorf("%s: %q, want %q: %s", tt.name, text, tt.want, tt.reason)
		}
	}
}

func TestExtended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const grace = 500 * time.Millisecond
		ctx, interrupt := context.WithCancel(t.Context())
		late, cancel := extended(ctx, grace)
		defer cancel()
		time.AfterFunc(time.Hour, interrupt)
		began := time.Now()
		<-late.Done()
		if lasted := time.Since(began); lasted != time.Hour+grace {
			t.Errorf("it ends %s after its start, not by grace after the interrupt", lasted)
		}
		if !errors.Is(late.Err(), context.Canceled) {
			t.Errorf("it ends with %v", late.Err())
		}
		other, cancelOther := extended(ctx, grace)
		cancelOther()
		<-other.Done() // without waiting for grace
	})
}
