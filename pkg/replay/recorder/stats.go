package recorder

import (
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Stats is what was recorded.
type Stats struct {
	// Records counts all records but those that a rotation repeats, Events the watch events, changes that a new list
	// has shown included, and Traces the events of a trace.
	Records, Events, Traces int64
	// Objects is how many objects exist, by what was recorded.
	Objects int
	// Dropped counts objects that were not recorded because they could not be redacted.
	Dropped int64
	// Streams is how many were listed, Watching how many are being watched.
	Streams, Watching int
	// Gaps are the times without the server, in the order of their first ends. Gaps of several streams at the same time
	// are one, but for a sleep.
	Gaps []GapSpan
	// Last is the time of the last record.
	Last time.Time
}

// GapSpan is a gap of one or several streams.
type GapSpan struct {
	// Reason is GapUnreachable if that is the reason of any stream.
	Reason      replay.GapReason
	Since, Till time.Time
	// Complete is true if no event of any stream was lost: of what happened while this machine slept, all was received
	// afterwards.
	Complete bool
	// Streams is how many streams have the gap; of a sleep, which all have, how many were not heard from again.
	Streams int
}

// maxGapSpans bounds the gaps that are remembered.
const maxGapSpans = 1000

// count counts a record.
func (s *Stats) count(r *replay.Record) {
	s.Records++
	switch r.Type {
	case replay.TypeAdded, replay.TypeModified, replay.TypeDeleted:
		s.Events++
	case replay.TypeTrace:
		s.Traces++
	case replay.TypeGap:
		s.countGap(r)
	case replay.TypeStream, replay.TypeListBegin, replay.TypeListItem, replay.TypeListEnd, replay.TypeBookmark,
		replay.TypeError, replay.TypeAlive, replay.TypeEnd:
	}
}

// countGap adds a gap to an earlier one if they overlap.
func (s *Stats) countGap(r *replay.Record) {
	span := GapSpan{r.Gap.Reason, r.Gap.Since, r.Time, r.Gap.Complete, min(r.Stream, 1)}
	for i := len(s.Gaps) - 1; i >= 0; i-- {
		if s.Gaps[i].overlaps(&span) {
			s.Gaps[i].add(&span)
			return
		}
	}
	if len(s.Gaps) < maxGapSpans {
		s.Gaps = append(s.Gaps, span)
	}
}

// withLosses returns a copy of gaps in which no sleep is complete of which the server no longer had the events.
func withLosses(gaps []GapSpan) []GapSpan {
	out := slices.Clone(gaps)
	for i := range out {
		for j := range gaps {
			sleeps := gaps[i].Reason == replay.GapSleep && gaps[j].Reason != replay.GapSleep
			if sleeps && !gaps[j].Complete && gaps[i].meets(&gaps[j]) {
				out[i].Complete = false
			}
		}
	}
	return out
}

// overlaps reports whether two gaps are of the same outage. A sleep is one by itself.
func (g *GapSpan) overlaps(other *GapSpan) bool {
	sleeps := (g.Reason == replay.GapSleep) != (other.Reason == replay.GapSleep)
	return !sleeps && g.meets(other)
}

// meets reports whether two gaps have a moment in common.
func (g *GapSpan) meets(other *GapSpan) bool {
	return !other.Since.After(g.Till) && !g.Since.After(other.Till)
}

// add makes g a gap that has the other in it.
func (g *GapSpan) add(other *GapSpan) {
	if other.Reason == replay.GapUnreachable {
		g.Reason = replay.GapUnreachable
	}
	g.Complete = g.Complete && other.Complete
	g.Streams += other.Streams
	if other.Since.Before(g.Since) {
		g.Since = other.Since
	}
	if other.Till.After(g.Till) {
		g.Till = other.Till
	}
}
