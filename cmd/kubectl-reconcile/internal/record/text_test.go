package record

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/recorder"
)

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1.5 KiB", 10 << 20: "10 MiB", 1234 << 20: "1.21 GiB",
		1000 << 10: "1000 KiB", 99<<10 + 1000: "100 KiB", 999<<10 + 600: "1000 KiB", 1 << 60: "1048576 TiB",
	} {
		if got := sizeText(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestRateMeter(t *testing.T) {
	began := time.Unix(0, 0)
	m := rateMeter{at: began}
	for _, row := range []struct {
		reason string
		after  time.Duration
		count  int64
		want   float64
	}{
		{"no time has passed", 0, 5, 0},
		{"the first second", time.Second, 10, 10},
		{"too soon for another rate", 1250 * time.Millisecond, 1000, 10},
		{"the rate since", 3 * time.Second, 110, 50},
		{"nothing more", 5 * time.Second, 110, 0},
	} {
		if got := m.next(row.count, began.Add(row.after)); got != row.want {
			t.Errorf("%s: %g, want %g", row.reason, got, row.want)
		}
	}
}

func TestGapText(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local) //nolint:gosmopolitan // it is shown as local time
	for _, row := range []struct {
		gap  recorder.GapSpan
		want string
	}{
		{recorder.GapSpan{Reason: replay.GapUnreachable, Complete: true}, "gap at 03:04:05 for 2s: the server was not reached; nothing was lost"},
		{recorder.GapSpan{Reason: replay.GapRefused, Complete: true}, "gap at 03:04:05 for 2s: the server answered with errors; nothing was lost"},
		{recorder.GapSpan{Reason: replay.GapWatchExpired}, "gap at 03:04:05 for 2s: the server no longer had the events; what changed meanwhile is marked as relisted"},
		{recorder.GapSpan{Reason: replay.GapSleep, Complete: true},
			"gap at 03:04:05 for 2s: this machine slept, or the recording was stopped; what happened meanwhile was received afterwards"},
		{recorder.GapSpan{Reason: replay.GapSleep},
			"gap at 03:04:05 for 2s: this machine slept, or the recording was stopped; not all that happened meanwhile was received"},
		{recorder.GapSpan{Reason: replay.GapSleep, Streams: 2}, "gap at 03:04:05 for 2s: this machine slept, or the recording was stopped; " +
			"the server was not heard from again about 2 of 7 kinds: what happened meanwhile may be missing"},
	} {
		row.gap.Since, row.gap.Till = since, since.Add(2*time.Second)
		if diff := cmp.Diff(row.want, gapText(&row.gap, 7)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestTroubles: a server that is away is reported once, whatever the number of kinds.
func TestTroubles(t *testing.T) {
	trouble := func(resource, reason string, ended bool) recorder.Trouble {
		return recorder.Trouble{Incomplete: cluster.Incomplete{Resource: resource, Reason: reason, Message: "why"}, Listed: true, Ended: ended}
	}
	var out strings.Builder
	n := newNotes(&out)
	n.trouble(trouble("pods", cluster.ReasonForbidden, true)) // the line about the start has it
	n.begin()
	for _, one := range []recorder.Trouble{
		trouble("pods", cluster.ReasonUnavailable, false), trouble("nodes", cluster.ReasonTimeout, false),
		trouble("pods", "", false), trouble("nodes", "", false),
		trouble("pods", cluster.ReasonForbidden, false), trouble("pods", "", false),
		trouble("widgets\x1b", cluster.ReasonNotServed, true),
	} {
		n.trouble(one)
	}
	want := "warning: the server does not answer: why; retrying\nthe server answers again\n" +
		"warning: pods cannot be recorded any more: why; retrying\npods can be recorded again\n" +
		"warning: widgets^[ cannot be recorded: why\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
