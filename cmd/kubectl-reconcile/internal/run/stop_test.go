package run

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStopping(t *testing.T) {
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
		{"what is simulated does not count", []string{"kubelet", "job"}, false, false, "stopping: job is still writing, up to 10s"},
		{"no controller is at work", nil, true, false, "stopping, up to 10s; Ctrl-C again stops at once"},
	} {
		if got := stoppingText(tt.busy, tt.interrupted, tt.dry); got != tt.want {
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
		string(UntilInterrupted): 9 * time.Second, string(untilElapsed): 9 * time.Second, broken: 9 * time.Second,
		string(untilReady): 2 * time.Second, string(untilSettled): 2 * time.Second, timedOut: 2 * time.Second, stuck: 2 * time.Second, lapsed: 2 * time.Second,
	} {
		r := result{outcome: outcome, elapsed: 2 * time.Second}
		if r.ended(9 * time.Second); r.elapsed != want {
			t.Errorf("%s: %s, want %s", outcome, r.elapsed, want)
		}
	}
}
