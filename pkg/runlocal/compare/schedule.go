package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// playEvents plays all events.
func (r *run) playEvents(ctx context.Context) error {
	if err := r.session.WaitHeld(ctx); err != nil {
		return err
	}
	if r.timed && !r.loaded.start.IsZero() {
		if err := r.waitUntil(ctx, r.timelineAt(r.loaded.start)); err != nil {
			return err
		}
	}
	r.noteHeld(r.loaded.start)
	for _, ev := range r.loaded.events {
		if r.isPlayed(ev) {
			continue
		}
		clear(r.idle)
		if err := r.passTime(ctx, ev); err != nil {
			return err
		}
		if err := r.reconcileOverdue(ctx, ev.record.Time); err != nil {
			return err
		}
		if !r.isPlayed(ev) && ev.effect != nil {
			if err := r.giveChance(ctx, ev); err != nil {
				return err
			}
		}
		if err := r.playRest(ctx, ev); err != nil {
			return err
		}
		r.noteHeld(ev.record.Time)
		r.last = ev.record.Time
		if err := r.reconcileEarly(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reconcileEarly has the keys reconciled that are held, or that a timer will add soon, and that an effect follows soon.
// The controller that was recorded may have looked at any moment since its last write.
func (r *run) reconcileEarly(ctx context.Context) error {
	r.setMoment(early, nil)
	for _, k := range r.held() {
		if r.isTooEarly(k) || !r.hasEffectSoon(k, r.last) {
			continue
		}
		since := r.since[k]
		if err := r.release(ctx, k); err != nil {
			return err
		}
		r.noteHeldSince(k, since)
	}
	for _, k := range r.timedKeys() {
		due := r.last.Add(max(k.due.Sub(r.timelineAt(r.last)), 0))
		if r.isTooEarly(k.heldKey) || !r.hasEffectSoon(k.heldKey, due) {
			continue
		}
		if err := r.releaseTimed(ctx, k.heldKey); err != nil {
			return err
		}
	}
	return nil
}

// maxEarly bounds how often in a row a key is reconciled too early.
const maxEarly = 20

func (r *run) isTooEarly(k heldKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.keys[keyID{k.controller, k.key}]
	return state == nil || state.early >= maxEarly
}

// noteHeldSince notes a key again that was reconciled too early, as held since it was first added.
func (r *run) noteHeldSince(k heldKey, since time.Time) {
	if slices.Contains(r.held(), k) {
		r.since[k] = since
	}
}

func (r *run) isPlayed(ev *event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ev.played
}

// errTimed ends a run that skips pauses, because a controller has put off a key by a timer.
var errTimed = errors.New("a controller waits for a timer")

// startTime is how long a session takes to start, at most, on a machine that is not very busy.
const startTime = 2 * time.Second

// newTimedRun returns another run of a recording, in which the time between events is what was recorded, but for whole
// seconds in which nothing waits for a timer. So what controllers reckon from times in objects comes out the same:
// those have whole seconds only, and must be moved by as many.
func newTimedRun(o Options, l *recorded) *run {
	l.result.Inputs, l.result.Effects = 0, 0
	for _, ev := range l.events {
		ev.played, ev.otherChoice, ev.compared = false, false, false
	}
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
	if r.timed {
		r.result.Behind = max(r.result.Behind, trace.Duration(now.Sub(due)))
	}
	r.timeline.move(r.last, ev.record.Time, now)
	return nil
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
func (r *run) delayed() []delayedKey {
	ended := r.ended()
	var out []delayedKey
	for _, c := range r.session.State().Controllers {
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

// timedKeys returns the keys whose timer ends soon, and that are not held.
func (r *run) timedKeys() []delayedKey {
	held, latest := r.held(), r.clock.Now().Add(horizon)
	var out []delayedKey
	for _, k := range r.delayed() {
		if !k.isRetry && !k.due.After(latest) && !slices.Contains(held, k.heldKey) {
			out = append(out, k)
		}
	}
	return out
}

func (r *run) isEnded(id keyID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.keys[id]
	return k != nil && k.ended
}

// ended returns the keys that are not compared any more.
func (r *run) ended() map[keyID]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[keyID]bool{}
	for id, k := range r.keys {
		if k.ended {
			out[id] = true
		}
	}
	return out
}

// waitUntil waits for a time, and until what is due then is held.
func (r *run) waitUntil(ctx context.Context, then time.Time) error {
	timer := r.clock.NewTimer(then.Sub(r.clock.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
	}
	return r.session.WaitHeld(ctx)
}

// held returns the keys that are held, or that have failed and wait to be tried again, in order: when they are is for
// the run to say. Those that are not compared any more are forgotten.
func (r *run) held() []heldKey {
	ended := r.ended()
	r.session.DropHeldKeys(func(controller, _, key string) bool { return ended[keyID{controller, key}] })
	var out []heldKey
	for _, c := range r.session.State().Controllers {
		for _, q := range c.Queues {
			for _, k := range q.Held {
				out = append(out, heldKey{c.Name, q.Queue, k.Key})
			}
		}
	}
	for _, k := range r.delayed() {
		if k.isRetry {
			out = append(out, k.heldKey)
		}
	}
	slices.SortFunc(out, heldKey.compare)
	return slices.Compact(out)
}

// noteHeld notes the recorded time at which keys began to be held.
func (r *run) noteHeld(now time.Time) {
	held := r.held()
	for _, k := range held {
		if _, known := r.since[k]; !known {
			r.since[k] = now
		}
	}
}

// release has a key reconciled.
func (r *run) release(ctx context.Context, k heldKey) error {
	delete(r.since, k)
	r.note("release %s %s, moment %d", k.controller, k.key, r.moment)
	if !r.session.ReleaseKey(k.controller, k.queue, k.key) {
		if _, ok := r.session.ReleaseDelayedKey(k.controller, k.queue, k.key); !ok {
			return nil
		}
	}
	if err := r.session.WaitHeld(ctx); err != nil {
		return fmt.Errorf("waiting for %s to reconcile %q: %w", k.controller, k.key, err)
	}
	return r.playError()
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
	if err := r.session.WaitHeld(ctx); err != nil {
		return fmt.Errorf("waiting for %s to reconcile %q: %w", k.controller, k.key, err)
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

func (r *run) playError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// reconcileOverdue has the keys reconciled that were held for long, up to a recorded time, and that no effect follows
// soon.
func (r *run) reconcileOverdue(ctx context.Context, now time.Time) error {
	r.setMoment(late, nil)
	for range maxRounds {
		found := false
		for _, k := range r.held() {
			since, known := r.since[k]
			if !known {
				r.since[k] = now
				continue
			}
			if now.Sub(since) <= r.options.Patience || r.hasEffectSoon(k, now) {
				continue
			}
			found = true
			if err := r.release(ctx, k); err != nil {
				return err
			}
		}
		if !found {
			return nil
		}
	}
	return nil
}

// hasEffectSoon reports whether an effect of the key follows within the patience after a recorded time.
func (r *run) hasEffectSoon(k heldKey, since time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range []keyID{{k.controller, k.key}, {k.controller, ""}} {
		if state := r.keys[id]; state != nil {
			for _, ev := range state.effects {
				if !ev.played {
					if ev.record.Time.Sub(since) <= r.options.Patience {
						return true
					}
					break
				}
			}
		}
	}
	return false
}

// giveChance has the key of an effect reconciled, until the effect is written or there is nothing to reconcile.
func (r *run) giveChance(ctx context.Context, ev *event) error {
	id := keyID{ev.effect.controller, ev.effect.key}
	if r.isEnded(id) {
		return nil
	}
	r.setMoment(due, ev)
	for range maxRounds {
		found := false
		for _, k := range r.held() {
			if r.isPlayed(ev) {
				return nil
			}
			if k.names(id) {
				found = true
				if err := r.release(ctx, k); err != nil {
					return err
				}
			}
		}
		if r.isPlayed(ev) || r.isEnded(id) {
			return nil
		}
		if found {
			continue
		}
		due, waiting := r.dueOf(id)
		if !waiting || due.Sub(r.clock.Now()) > horizon {
			return nil
		}
		if err := r.tryTimed(ctx, id); err != nil || r.isPlayed(ev) {
			return err
		}
		if err := r.waitUntil(ctx, due); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) setMoment(m moment, target *event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moment, r.target = m, target
}

// tryTimed has a key reconciled whose timer ends soon, as the controller that was recorded may have looked earlier. If
// it writes something else, it is to look again when the timer ends.
func (r *run) tryTimed(ctx context.Context, id keyID) error {
	r.mu.Lock()
	when, target := r.moment, r.target
	r.mu.Unlock()
	r.setMoment(early, nil)
	defer r.setMoment(when, target)
	for _, k := range r.timedKeys() {
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

// playRest plays an event that no write has, and judges it if it is an effect.
func (r *run) playRest(ctx context.Context, ev *event) error {
	timed := false
	if ev.effect != nil {
		_, timed = r.dueOf(keyID{ev.effect.controller, ev.effect.key})
	}
	r.mu.Lock()
	if !ev.played {
		if ev.effect != nil {
			r.judge(ev, timed)
		}
		r.playEvent(ev)
	}
	err := r.err
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return r.session.WaitHeld(ctx)
}

// finish has all keys reconciled that are left: what they write was not recorded.
func (r *run) finish(ctx context.Context) error {
	r.setMoment(late, nil)
	for {
		found := false
		for _, k := range r.held() {
			if r.rounds[k] >= maxRounds {
				continue
			}
			r.rounds[k]++
			found = true
			if err := r.release(ctx, k); err != nil {
				return err
			}
		}
		if !found {
			return nil
		}
	}
}
