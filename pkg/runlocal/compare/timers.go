package compare

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// errTimed ends a run that skips pauses, because a controller has put off a key by a timer, or writes what a timer may
// have led to: after a pause that was skipped it is up to a second later than in the recording.
var errTimed = errors.New("a controller waits for a timer")

// startTime is how long a session takes to start, at most, on a machine that is not very busy.
const startTime = 2 * time.Second

// newTimedRun returns another run of a recording, in which the time between events is what was recorded, but for whole
// seconds in which nothing waits for a timer. So what controllers reckon from times in objects comes out the same:
// those have whole seconds only, and must be moved by as many.
func newTimedRun(o Options, l *recorded) *run {
	r := newRun(o, l)
	r.timed, r.timeline = true, newTimeline(l.start, o.Clock.Now().Add(startTime))
	return r
}

// passTime skips the pause before an event. While a controller waits for a timer, and in a run that is timed, as much
// time passes as was recorded.
func (r *run) passTime(ctx context.Context, ev *event) error {
	if ev.record.Time.IsZero() {
		return nil
	}
	due := r.timelineAt(ev.record.Time)
	for {
		until := due
		next, waiting := r.nextTimer()
		waiting = waiting && next.Sub(r.clock.Now()) <= r.options.MaxWait
		if r.reckons && (!waiting || next.After(due)) {
			next, waiting = due, true
		}
		if waiting && !r.timed {
			return errTimed
		}
		if waiting && next.Before(due) {
			until = next
		}
		if found, err := r.reconcileIdle(ctx, ev, until); err != nil {
			return err
		} else if found {
			continue
		}
		if !waiting || !r.clock.Now().Before(until) && until.Equal(due) {
			break
		}
		if err := r.waitUntil(ctx, until); err != nil {
			return err
		}
		r.noteHeld(r.recordedNow(ev))
	}
	if left := due.Sub(r.clock.Now()); r.timed && left > 0 {
		if err := r.waitUntil(ctx, r.clock.Now().Add(left%time.Second)); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if r.due = now; r.timed && due.Before(now) {
		r.due = due
		r.noteBehind()
	}
	r.timeline.move(r.last, ev.record.Time, now)
	return nil
}

// noteBehind notes how late the run is. r.mu must be held.
func (r *run) noteBehind() {
	if !r.due.IsZero() {
		r.result.Behind = max(r.result.Behind, trace.Duration(r.clock.Now().Sub(r.due)))
	}
}

// recordedNow is the recorded time that is the present, between the last event and ev. If the run is not timed, that is
// the time of the last.
func (r *run) recordedNow(ev *event) time.Time {
	if !r.timed {
		return r.last
	}
	now := ev.record.Time.Add(r.clock.Now().Sub(r.timelineAt(ev.record.Time)))
	switch {
	case now.Before(r.last):
		return r.last
	case now.After(ev.record.Time):
		return ev.record.Time
	}
	return now
}

// reconcileIdle has the keys reconciled that are held while nothing happens for long, up to a time of the run before
// ev, and that no effect follows soon: the controller that was recorded has looked, and may have set a timer.
func (r *run) reconcileIdle(ctx context.Context, ev *event, until time.Time) (found bool, err error) {
	now := r.recordedNow(ev)
	pause := ev.record.Time.Sub(now)
	if r.timed {
		pause = until.Sub(r.clock.Now())
	}
	if pause <= r.options.Patience {
		return false, nil
	}
	r.setMoment(late, nil)
	for _, k := range r.held() {
		if r.hasEffectSoon(k, now) || r.idle[k] >= maxRounds {
			continue
		}
		found = true
		r.idle[k]++
		if err := r.release(ctx, k); err != nil {
			return found, err
		}
	}
	r.noteHeld(now)
	return found, nil
}

func (r *run) timelineAt(recorded time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.timeline.at(recorded)
}

// delayed are the keys that come back by themselves, soonest first, and that are compared.
func (r *run) delayed() []delayedKey { return r.delayedIn(r.state()) }

// delayedIn are those at the moment of a state.
func (r *run) delayedIn(state tap.State) []delayedKey {
	ended := r.ended()
	var out []delayedKey
	for _, c := range state.Controllers {
		for _, q := range c.Queues {
			for _, d := range q.Delayed {
				if !ended[keyID{c.Name, d.Key}] {
					out = append(out, delayedKey{heldKey{c.Name, q.Queue, d.Key}, d.Due, d.Retry > 0})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b delayedKey) int { return cmp.Or(a.due.Compare(b.due), a.compare(b.heldKey)) })
	return out
}

// delayedKey is a key that comes back by itself.
type delayedKey struct {
	heldKey
	due     time.Time
	isRetry bool
}

// nextTimer returns when the next timer of a key ends.
func (r *run) nextTimer() (time.Time, bool) {
	for _, k := range r.delayed() {
		if !k.isRetry {
			return k.due, true
		}
	}
	return time.Time{}, false
}

// timedKeys returns the keys whose timer ends within a time, and that are not held.
func (r *run) timedKeys(within time.Duration) []delayedKey {
	held, latest := r.held(), r.clock.Now().Add(within)
	return slices.DeleteFunc(r.delayed(), func(k delayedKey) bool {
		return k.isRetry || k.due.After(latest) || slices.Contains(held, k.heldKey)
	})
}

// timerEnd is when a timer ends: due in the run, and recorded in the recording, whose pauses the run may skip.
type timerEnd struct{ due, recorded time.Time }

// noteTimers notes the timers that were set since the last time, at a recorded time.
func (r *run) noteTimers(now time.Time) {
	for _, k := range r.delayed() {
		if !k.isRetry && !r.timers[k.heldKey].due.Equal(k.due) {
			r.timers[k.heldKey] = timerEnd{k.due, now.Add(k.due.Sub(r.clock.Now()))}
		}
	}
}

// isByTimer reports whether an effect may have been written when a timer ended that is still to end in the run.
func (r *run) isByTimer(ev *event) bool {
	id := keyID{ev.effect.controller, ev.effect.key}
	r.noteTimers(ev.record.Time)
	return slices.ContainsFunc(r.delayed(), func(k delayedKey) bool {
		isSoon := ev.record.Time.IsZero() || !r.timers[k.heldKey].recorded.After(ev.record.Time.Add(horizon))
		return !k.isRetry && k.names(id) && isSoon
	})
}

// releaseTimed has a key reconciled that waits for a timer, before that ends. If that was too early, as it writes
// nothing that was recorded, it waits on.
func (r *run) releaseTimed(ctx context.Context, k heldKey) error {
	r.note("release %s %s before its timer ends, moment %d", k.controller, k.key, r.moment)
	before := r.countSame(k)
	putBack, ok := r.session.ReleaseDelayedKey(k.controller, k.queue, k.key)
	if !ok {
		return nil
	}
	r.releaseLoops(k)
	if err := r.waitHeld(ctx, "reconciling %q by %s", k.key, k.controller); err != nil {
		return err
	}
	if r.countSame(k) == before {
		putBack()
	}
	return r.playError()
}

// countSame counts the recorded writes that were made for a key, and those of its controller of which the key is not
// known.
func (r *run) countSame(k heldKey) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, id := range []keyID{{k.controller, k.key}, {k.controller, ""}} {
		if state := r.keys[id]; state != nil {
			n += state.result.Same
		}
	}
	return n
}

// tryTimed has a key reconciled that waits for a timer, as the controller that was recorded may have looked earlier, or
// at other intervals. If it writes something else, it is to look again when the timer ends.
func (r *run) tryTimed(ctx context.Context, id keyID) error {
	r.mu.Lock()
	when, target := r.moment, r.target
	r.mu.Unlock()
	r.setMoment(early, nil)
	defer r.setMoment(when, target)
	for _, k := range r.timedKeys(math.MaxInt64) {
		if k.names(id) {
			if err := r.releaseTimed(ctx, k.heldKey); err != nil {
				return err
			}
		}
	}
	return nil
}

// dueOf returns when a timer of a key ends.
func (r *run) dueOf(id keyID) (time.Time, bool) {
	for _, k := range r.delayed() {
		if !k.isRetry && k.names(id) {
			return k.due, true
		}
	}
	return time.Time{}, false
}
