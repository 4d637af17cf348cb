package compare

import (
	"context"
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// playEvents plays all events.
func (r *run) playEvents(ctx context.Context) error {
	if err := r.waitHeld(ctx, "handling what is there at the beginning"); err != nil {
		return err
	}
	if r.timed && !r.loaded.start.IsZero() {
		if err := r.waitUntil(ctx, r.timelineAt(r.loaded.start)); err != nil {
			return err
		}
	}
	r.noteHeld(r.loaded.start)
	for i, ev := range r.loaded.events {
		if r.options.Progress != nil {
			r.options.Progress(i, len(r.loaded.events))
		}
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
// The controller that was recorded may have looked at any moment since its last write. What they write may add others.
func (r *run) reconcileEarly(ctx context.Context) error {
	r.setMoment(early, nil)
	for range maxRounds {
		before := r.countPlayed()
		if err := r.reconcileEarlyOnce(ctx); err != nil || r.countPlayed() == before {
			return err
		}
	}
	return nil
}

func (r *run) reconcileEarlyOnce(ctx context.Context) error {
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
	for _, k := range r.timedKeys(horizon) {
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

func (r *run) countPlayed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.played
}

// maxEarly bounds how often in a row a key is reconciled too early.
const maxEarly = 20

func (r *run) isTooEarly(k heldKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if state := r.keys[keyID{k.controller, k.key}]; state != nil {
		return state.early >= maxEarly
	}
	// An audit log does not say of which key an effect is: it may be this one.
	return len(r.loaded.writes.audited) == 0 || r.keys[keyID{k.controller, ""}] == nil
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
	r.mu.Lock()
	r.due = then
	r.mu.Unlock()
	return r.waitHeld(ctx, "adding the keys whose timers have ended")
}

// held returns the keys that are held, or that have failed and wait to be tried again, in order: when they are is for
// the run to say. Those that are not compared any more are forgotten.
func (r *run) held() []heldKey {
	ended := r.ended()
	r.session.DropHeldKeys(func(controller, _, key string) bool { return ended[keyID{controller, key}] })
	state := r.state()
	var out []heldKey
	for _, c := range state.Controllers {
		for _, q := range c.Queues {
			for _, k := range q.Held {
				out = append(out, heldKey{c.Name, q.Queue, k.Key})
			}
		}
	}
	for _, k := range r.delayedIn(state) {
		if k.isRetry {
			out = append(out, k.heldKey)
		}
	}
	slices.SortFunc(out, heldKey.compare)
	return slices.Compact(out)
}

// state is what the controllers have to do, at a moment at which all keys that are queued are held: one whose delay has
// just ended is neither held nor delayed for a moment, and would not be found.
func (r *run) state() tap.State {
	for {
		state := r.session.State()
		if state.IdleButHeld() || r.waitHeld(r.ctx, "") != nil { // the caller finds it when it waits
			return state
		}
	}
}

// noteHeld notes the recorded time at which keys began to be held.
func (r *run) noteHeld(now time.Time) {
	for _, k := range r.held() {
		if _, known := r.since[k]; !known {
			r.since[k] = now
		}
	}
	r.noteTimers(now)
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
	r.releaseLoops(k)
	if err := r.waitHeld(ctx, "reconciling %q by %s", k.key, k.controller); err != nil {
		return err
	}
	return r.playError()
}

// releaseLoops lets the loops go on of the controller of a key that was released: podgc takes keys in its loop.
func (r *run) releaseLoops(k heldKey) {
	if k.queue != tap.LoopQueue {
		r.session.ReleaseKey(k.controller, tap.LoopQueue, "")
	}
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

// giveChance has the key of an effect reconciled, until the effect is written or there is nothing to reconcile. A key
// of which the trace says that it was reconciled is added if need be.
func (r *run) giveChance(ctx context.Context, ev *event) error {
	id := keyID{ev.effect.controller, ev.effect.key}
	if r.isEnded(id) {
		return nil
	}
	r.setMoment(due, ev)
	added := !ev.effect.isTraced // the recorded controller has looked, maybe at all of its objects
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
		if !found {
			var err error
			if found, err = r.reconcileBefore(ctx, id); err != nil {
				return err
			}
		}
		if found {
			continue
		}
		if err := r.tryTimed(ctx, id); err != nil || r.isPlayed(ev) {
			return err
		}
		due, waiting := r.dueOf(id)
		if !waiting && !added {
			if added = r.session.AddKey(id.controller, ev.effect.queue, id.key); added {
				continue
			}
		}
		if !waiting || due.Sub(r.clock.Now()) > horizon {
			return nil
		}
		if err := r.waitUntil(ctx, due); err != nil {
			return err
		}
	}
	return nil
}

// reconcileBefore has the other keys of a controller reconciled that are held, and that no effect follows soon: what
// they find may add the key that has an effect. It reports whether there were any.
func (r *run) reconcileBefore(ctx context.Context, id keyID) (found bool, err error) {
	r.mu.Lock()
	when, target := r.moment, r.target
	r.mu.Unlock()
	r.setMoment(early, nil)
	defer r.setMoment(when, target)
	for _, k := range r.held() {
		if k.controller != id.controller || r.hasEffectSoon(k, target.record.Time) {
			continue
		}
		found = true
		if err := r.release(ctx, k); err != nil {
			return found, err
		}
	}
	return found, nil
}

func (r *run) setMoment(m moment, target *event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moment, r.target = m, target
}

// playRest plays an event that no write has, and judges it if it is an effect.
func (r *run) playRest(ctx context.Context, ev *event) error {
	timed := false
	if ev.effect != nil {
		timed = r.isByTimer(ev)
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
	return r.waitHeld(ctx, "handling %s", ev)
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
