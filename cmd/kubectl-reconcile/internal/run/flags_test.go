package run

import (
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

func TestUntilFlag(t *testing.T) {
	for _, tt := range []struct {
		in     string
		want   runlocal.Goal
		text   string
		reason string
	}{
		{"settled", runlocal.Goal{Type: runlocal.GoalSettled}, "settled", "a goal"},
		{"ready", runlocal.Goal{Type: runlocal.GoalReady}, "ready", "a goal"},
		{"30s", runlocal.Goal{Type: runlocal.GoalElapsed, After: 30 * time.Second}, "30s", "a time"},
		{"1h30m", runlocal.Goal{Type: runlocal.GoalElapsed, After: 90 * time.Minute}, "1h30m0s", "any that Go reads"},
		{"0", runlocal.Goal{}, "", "nothing runs in no time at all"},
		{"-1s", runlocal.Goal{}, "", "time does not run backwards"},
		{"30", runlocal.Goal{}, "", "30 of what?"},
		{"Ready", runlocal.Goal{}, "", "goals are lower case"},
		{"interrupted", runlocal.Goal{}, "", "that is what is meant if nothing is said"},
		{"", runlocal.Goal{}, "", "--until= says nothing"},
	} {
		var got untilFlag
		err := got.Set(tt.in)
		if (err == nil) != (tt.want != runlocal.Goal{}) || got.goal != tt.want || got.String() != tt.text {
			t.Errorf("Set(%q): %+v, %q, %v: %s", tt.in, got, got.String(), err, tt.reason)
		}
	}
}

func TestGoalOr(t *testing.T) {
	for _, tt := range []struct {
		given   runlocal.Goal
		objects bool
		want    runlocal.GoalType
		reason  string
	}{
		{runlocal.Goal{}, true, runlocal.GoalReady, "with objects, they are what one waits for"},
		{runlocal.Goal{}, false, runlocal.GoalInterrupted, "without, one watches until one has seen enough"},
		{runlocal.Goal{Type: runlocal.GoalSettled}, true, runlocal.GoalSettled, "what was asked for counts"},
		{runlocal.Goal{Type: runlocal.GoalElapsed, After: time.Second}, true, runlocal.GoalElapsed, "a time was asked for as well"},
	} {
		flag := untilFlag{tt.given}
		if got := flag.goalOr(tt.objects, time.Hour); got.Type != tt.want || got.Timeout != time.Hour {
			t.Errorf("%+v.goalOr(%t) = %+v, want %s: %s", tt.given, tt.objects, got, tt.want, tt.reason)
		}
	}
}

func TestShardFlag(t *testing.T) {
	var s shardFlag
	if err := s.Set("2/5"); err != nil || s.String() != "2/5" {
		t.Errorf("%q, %v", s.String(), err)
	}
	if err := s.Set("6/5"); err == nil || s.String() != "2/5" {
		t.Errorf("a shard that does not exist: %q, %v", s.String(), err)
	}
}
