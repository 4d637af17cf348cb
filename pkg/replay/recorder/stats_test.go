package recorder

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

func TestCountGaps(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	gap := func(stream int, reason replay.GapReason, since, till int, complete bool) *replay.Record {
		return &replay.Record{
			Type: replay.TypeGap, Stream: stream, Time: at(till), Gap: &replay.Gap{Reason: reason, Since: at(since), Complete: complete},
		}
	}
	for _, row := range []struct {
		reason string
		gaps   []*replay.Record
		want   []GapSpan
	}{
		{"two streams in one outage", []*replay.Record{
			gap(1, replay.GapUnreachable, 10, 20, true), gap(2, replay.GapUnreachable, 9, 22, true),
		}, []GapSpan{{replay.GapUnreachable, at(9), at(22), true, 2}}},
		{"one of which has lost events", []*replay.Record{
			gap(1, replay.GapWatchExpired, 10, 20, false), gap(2, replay.GapUnreachable, 10, 19, true),
		}, []GapSpan{{replay.GapUnreachable, at(10), at(20), false, 2}}},
		{"one outage after the other", []*replay.Record{
			gap(1, replay.GapUnreachable, 10, 20, true), gap(1, replay.GapUnreachable, 21, 22, true),
		}, []GapSpan{{replay.GapUnreachable, at(10), at(20), true, 1}, {replay.GapUnreachable, at(21), at(22), true, 1}}},
		{"a sleep, of which the server no longer had all", []*replay.Record{
			gap(0, replay.GapSleep, 10, 20, true), gap(1, replay.GapWatchExpired, 15, 21, false),
		}, []GapSpan{{replay.GapSleep, at(10), at(20), false, 0}, {replay.GapWatchExpired, at(15), at(21), false, 1}}},
		{"a sleep, after which the server was away for a while", []*replay.Record{
			gap(0, replay.GapSleep, 10, 20, true), gap(1, replay.GapUnreachable, 9, 21, true),
		}, []GapSpan{{replay.GapSleep, at(10), at(20), true, 0}, {replay.GapUnreachable, at(9), at(21), true, 1}}},
		{"a sleep, and later another loss", []*replay.Record{
			gap(0, replay.GapSleep, 10, 20, true), gap(1, replay.GapWatchExpired, 30, 31, false),
		}, []GapSpan{{replay.GapSleep, at(10), at(20), true, 0}, {replay.GapWatchExpired, at(30), at(31), false, 1}}},
		{"a sleep since which two streams were not heard from", []*replay.Record{
			gap(0, replay.GapSleep, 10, 20, true), gap(1, replay.GapSleep, 10, 25, false), gap(3, replay.GapSleep, 10, 25, false),
		}, []GapSpan{{replay.GapSleep, at(10), at(25), false, 2}}},
	} {
		var stats Stats
		for _, one := range row.gaps {
			stats.count(one)
		}
		if diff := cmp.Diff(row.want, withLosses(stats.Gaps)); diff != "" {
			t.Errorf("%s:\n%s", row.reason, diff)
		}
	}
}
