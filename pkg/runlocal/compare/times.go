package compare

import (
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
)

// timeline turns recorded times into times of the run. They pass as they were recorded while a controller waits for a
// timer; what else there is to wait for is skipped. Then later times have another offset, and what was recorded in
// between comes to lie at one moment: the order of times stays.
type timeline struct {
	marks []mark
}

// mark begins a part of the timeline.
type mark struct {
	from   time.Time     // recorded
	offset time.Duration // to be added to recorded times, in whole seconds: the API writes no parts of them
	least  time.Time     // the result is not before it: the end of the part before
}

// newTimeline returns one in which start is now.
func newTimeline(start, now time.Time) *timeline {
	return &timeline{marks: []mark{{offset: wholeOffset(start, now)}}}
}

// wholeOffset returns the offset by which recorded comes to lie at now, or less than a second before.
func wholeOffset(recorded, now time.Time) time.Duration {
	d := now.Sub(recorded)
	whole := d.Truncate(time.Second)
	if whole > d { // d is below zero
		whole -= time.Second
	}
	return whole
}

// at returns the time of the run for a recorded one.
func (t *timeline) at(recorded time.Time) time.Time {
	i := len(t.marks) - 1
	for i > 0 && !recorded.After(t.marks[i].from) {
		i--
	}
	out := recorded.Add(t.marks[i].offset)
	if out.Before(t.marks[i].least) {
		return t.marks[i].least
	}
	return out
}

// move makes what was recorded after last, and up to recorded, lie so that recorded is now. It does nothing if that is
// so already.
func (t *timeline) move(last, recorded, now time.Time) {
	offset := wholeOffset(recorded, now)
	if offset == t.marks[len(t.marks)-1].offset || !recorded.After(last) {
		return
	}
	t.marks = append(t.marks, mark{from: last, offset: offset, least: t.at(last)})
}

// shift returns an object with the times in it that the API and controllers write as times of the run.
func (t *timeline) shift(data []byte) []byte {
	return snapshot.Retime(data, snapshot.WrittenTimes, t.at)
}
