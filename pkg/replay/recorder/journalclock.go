package recorder

import (
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

const (
	// tickInterval is how often the journal is ticked: what was recorded is written at the latest after that time.
	tickInterval = time.Second
	// aliveInterval is how long nothing may be recorded before a record says that there was nothing.
	aliveInterval = 5 * time.Second
	// sleepTolerance is how long a tick may be late before the process is taken to have slept.
	sleepTolerance = 10 * time.Second
)

// now returns the time of the next record: in UTC, to the microsecond, and never before that of the last one, though
// the clock of the machine may be set back. j.mu must be held.
func (j *journal) now() time.Time {
	// Without the reading of the monotonic clock, which stands still while a machine sleeps.
	now := j.clock.Now().Round(0).UTC().Truncate(time.Microsecond)
	if now.Before(j.last) {
		return j.last
	}
	return now
}

// watchSleep makes the journal notice, from now on, when the process was stopped; it must be ticked then.
func (j *journal) watchSleep(on bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.awake = time.Time{}
	if on {
		j.awake = j.now()
	}
}

// recordSleep writes a gap if the process did not run for a while before now: its machine slept, or it was stopped, or
// the clock was set forward. The gap itself loses nothing: if the server does not have the events since, a gap of the
// streams that are listed again follows, and if a stream ends before the server is heard from again, a gap of this
// stream: see stream.endSleep. j.mu must be held.
func (j *journal) recordSleep(now time.Time) error {
	since := j.awake
	if since.IsZero() || now.Sub(since) < tickInterval+sleepTolerance {
		return nil
	}
	j.awake, j.slept = now, span{since, now}
	r := &replay.Record{Type: replay.TypeGap, Time: now, Gap: &replay.Gap{
		Reason: replay.GapSleep, Since: since, Complete: true,
	}}
	j.last = now
	j.stats.count(r)
	return j.pass(r)
}

// present returns the time, at which the process runs.
func (j *journal) present() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	if j.err == nil && !j.ended {
		_ = j.recordSleep(now) // the journal keeps the error
	}
	if !j.awake.IsZero() {
		j.awake = now
	}
	return now
}

// lastSleep returns when the process last did not run; zero if it always did.
func (j *journal) lastSleep() span {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.slept
}
