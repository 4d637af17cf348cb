package get

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/kubernetes/pkg/apis/core"
	clocktesting "k8s.io/utils/clock/testing"
)

var (
	recordedAt = time.Date(2026, 1, 1, 10, 0, 0, 999e6, time.UTC)
	realTime   = time.Date(2030, 5, 5, 5, 5, 5, 123456789, time.UTC)
)

// TestMovedTimes: times in an object are as long before the clock's as they were before the moment, in whole seconds.
func TestMovedTimes(t *testing.T) {
	at := func(text string) metav1.Time {
		parsed, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return metav1.NewTime(parsed)
	}
	started, deleting := at("2026-01-01T09:59:00Z"), at("2026-01-01T10:00:30Z")
	pod := &core.Pod{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at("2026-01-01T08:00:00Z"), DeletionTimestamp: &deleting},
		Status: core.PodStatus{
			StartTime: &started,
			ContainerStatuses: []core.ContainerStatus{{
				LastTerminationState: core.ContainerState{Terminated: &core.ContainerStateTerminated{FinishedAt: started}},
			}},
		},
	}
	event := &core.Event{EventTime: metav1.NewMicroTime(at("2026-01-01T09:59:58.999999Z").Time)}
	clock := clocktesting.NewFakePassiveClock(realTime)
	err := asOf(clock, recordedAt, func(move func(time.Time) time.Time) error {
		moveTimes(pod, move)
		moveTimes(event, move)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		reason string
		got    time.Time
		want   string
	}{
		{"a field of an embedded struct", pod.CreationTimestamp.Time, "120m"},
		{"a pointer", pod.Status.StartTime.Time, "60s"},
		{"an element of a list", pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.FinishedAt.Time, "60s"},
		{"parts of seconds would make ages depend on when they are told", event.EventTime.Time, "2s"},
	} {
		if got := duration.HumanDuration(realTime.Sub(row.got)); got != row.want {
			t.Errorf("%s: %s ago, want %s", row.reason, got, row.want)
		}
	}
	if !pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.StartedAt.IsZero() {
		t.Error("a time that is not set was moved")
	}
	if pod.DeletionTimestamp.Sub(realTime) != 30*time.Second {
		t.Error("a time after the moment is not after the clock's")
	}
}

// slowClock is a clock by which each call takes long for the first rounds.
type slowClock struct {
	*clocktesting.FakePassiveClock
	slow int
}

func (c *slowClock) Since(t time.Time) time.Duration {
	if c.slow--; c.slow >= 0 {
		return 2 * slowest
	}
	return c.FakePassiveClock.Since(t)
}

// TestSlowColumns: columns that took so long that ages may be wrong are made again, but not for ever.
func TestSlowColumns(t *testing.T) {
	for _, row := range []struct {
		reason     string
		slow, want int
	}{
		{"in time", 0, 1},
		{"twice too late", 2, 3},
		{"a machine that stays slow", 100, attempts},
	} {
		calls := 0
		c := &slowClock{clocktesting.NewFakePassiveClock(realTime), row.slow}
		if err := asOf(c, recordedAt, func(func(time.Time) time.Time) error { calls++; return nil }); err != nil {
			t.Fatal(err)
		}
		if calls != row.want {
			t.Errorf("%s: made %d times, want %d", row.reason, calls, row.want)
		}
	}
}

// TestMovedTexts: only texts that are times are moved.
func TestMovedTexts(t *testing.T) {
	move := func(t time.Time) time.Time { return t.Add(time.Hour) }
	for _, row := range []struct{ reason, text, want string }{
		{"a time", "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"},
		{"a date", "2026-01-01", "2026-01-01"},
		{"another text", "ten o'clock", "ten o'clock"},
		{"nothing", "", ""},
	} {
		got, ok := moveTexts(map[string]any{"a": []any{row.text}}, move).(map[string]any)
		if list, isList := got["a"].([]any); !ok || !isList || list[0] != row.want {
			t.Errorf("%s: %v, want %s", row.reason, got, row.want)
		}
	}
}
