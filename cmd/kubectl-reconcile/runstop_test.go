package main

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

func TestStopping(t *testing.T) {
	running := func(name string, keys int) tap.ControllerState {
		return tap.ControllerState{Name: name, Queues: []tap.QueueState{{Running: keys}}}
	}
	for _, tt := range []struct {
		reason      string
		state       tap.State
		interrupted bool
		dry         bool
		want        string
	}{
		{"one", tap.State{Controllers: []tap.ControllerState{running("job", 0), running("replicaset", 2)}}, true, false,
			"stopping: replicaset is still writing, up to 10s; Ctrl-C again stops at once"},
		{"several", tap.State{Controllers: []tap.ControllerState{running("job", 1), running("replicaset", 2)}}, true, false,
			"stopping: job, replicaset are still writing, up to 10s; Ctrl-C again stops at once"},
		{"a request, or work for no key", tap.State{Controllers: []tap.ControllerState{{Name: "job", Requests: 1}, {Name: "podgc", Held: 1}}}, true, false,
			"stopping: job, podgc are still writing, up to 10s; Ctrl-C again stops at once"},
		{"no interrupt", tap.State{Controllers: []tap.ControllerState{running("job", 1)}}, false, false, "stopping: job is still writing, up to 10s"},
		{"a dry run writes nothing", tap.State{Controllers: []tap.ControllerState{running("job", 1)}}, true, true, "stopping: job is still at work, up to 10s; Ctrl-C again stops at once"},
		{"no controller is at work", tap.State{}, true, false, "stopping, up to 10s; Ctrl-C again stops at once"},
	} {
		if got := stoppingText(tt.state, tt.interrupted, tt.dry); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}

func TestWhileStopping(t *testing.T) {
	broke := errors.New("broke")
	for _, tt := range []struct {
		reason string
		takes  time.Duration
		want   []string
	}{
		{"at once", 0, nil},
		{"before anybody wonders", silentStop - time.Millisecond, nil},
		{"long", 7 * time.Second, []string{"stopping"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var told []string
			stop := func() error {
				<-time.After(tt.takes)
				return broke
			}
			if err := whileStopping(stop, func() { told = append(told, "stopping") }); !errors.Is(err, broke) {
				t.Errorf("%s: the error of the end is %v", tt.reason, err)
			}
			if diff := cmp.Diff(tt.want, told); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// TestElapsed: a run that is ended lasts until its controllers have; one that has reached its goal has done so then.
func TestElapsed(t *testing.T) {
	for outcome, want := range map[string]time.Duration{
		string(untilInterrupted): 9 * time.Second, string(untilElapsed): 9 * time.Second, broken: 9 * time.Second,
		string(untilReady): 2 * time.Second, string(untilSettled): 2 * time.Second, timedOut: 2 * time.Second, stuck: 2 * time.Second, lapsed: 2 * time.Second,
	} {
		r := result{outcome: outcome, elapsed: 2 * time.Second}
		if r.ended(9 * time.Second); r.elapsed != want {
			t.Errorf("%s: %s, want %s", outcome, r.elapsed, want)
		}
	}
}
