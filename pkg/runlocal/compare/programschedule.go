package compare

import (
	"context"
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// playEvents plays all events. Inputs follow each other at once; where the program has written, its write is waited
// for.
func (r *programRun) playEvents(ctx context.Context) error {
	for _, ev := range r.loaded.events {
		if r.isPlayed(ev) {
			continue
		}
		pause := time.Duration(0)
		if !ev.record.Time.IsZero() && ev.record.Time.After(r.last) {
			pause = ev.record.Time.Sub(r.last)
		}
		r.skipTo(ev)
		var err error
		switch {
		case ev.effect == nil:
			err = r.letWrite(ctx, ev)
		case !r.isEnded(r.idOf(ev)):
			err = r.awaitWrite(ctx, ev, pause)
		}
		if err != nil {
			return err
		}
		r.mu.Lock()
		if !ev.played {
			if ev.effect != nil {
				r.conclude(ev, pause > r.options.MaxWait)
			}
			r.playEvent(ev)
		}
		err = r.err
		r.mu.Unlock()
		if err != nil {
			return err
		}
		r.last = ev.record.Time
	}
	return nil
}

func (r *programRun) idOf(ev *event) keyID { return keyID{ev.effect.controller, ev.effect.key} }

// skipTo makes the time of an event the present.
func (r *programRun) skipTo(ev *event) {
	if ev.record.Time.IsZero() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timeline.move(r.last, ev.record.Time, r.clock.Now())
}

// letWrite lets the program write the next status of a key before another event of the key is played, if the recorded
// one may have been written without having seen it: else the program would write what it has seen then.
func (r *programRun) letWrite(ctx context.Context, ev *event) error {
	r.mu.Lock()
	next := r.statusSoonAfter(ev)
	r.mu.Unlock()
	if next == nil {
		return nil
	}
	id := r.idOf(next)
	_, err := r.await(ctx, r.clock.Now().Add(viewTime), func(time.Time) (bool, time.Time) {
		return next.played || r.key(id).ended, time.Time{}
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.fresh, id)
	return err
}

// statusSoonAfter returns the next write of a key that the event is about, if it is a status that follows within a
// second, and the program has seen something since its last write for the key; nil if there is none. r.mu must be held.
func (r *programRun) statusSoonAfter(ev *event) *event {
	for id := range r.fresh {
		if !r.isOf(ev, id) || r.key(id).ended {
			continue
		}
		for _, next := range r.key(id).effects {
			if next.played {
				continue
			}
			if next.verb == VerbUpdateStatus && next.position > ev.position && next.soonAfter(ev) {
				return next
			}
			break
		}
	}
	return nil
}

// awaitWrite waits until the program has made a write that was recorded, or another in its place, for as long as it
// took then and some time more.
func (r *programRun) awaitWrite(ctx context.Context, ev *event, pause time.Duration) error {
	id := r.idOf(ev)
	r.mu.Lock()
	r.moment, r.target = due, ev
	patience := r.options.Patience
	passing := ev.effect.possible || ev.verb == VerbUpdateStatus && r.isPassing(r.key(id), ev)
	if len(r.refused[id]) > 0 {
		patience += min(r.clock.Since(r.failing[id]), r.options.Patience) // it may wait as long before it tries again
	}
	if pause <= r.options.MaxWait {
		patience += pause
	}
	enough := later(r.clock.Now(), r.answeredAt).Add(passingPatience)
	until := r.clock.Now().Add(patience)
	r.note("await %s for %s", ev, patience)
	r.mu.Unlock()
	_, err := r.await(ctx, until, func(now time.Time) (bool, time.Time) {
		if ev.played || r.key(id).ended {
			return true, time.Time{}
		}
		if !passing {
			return false, time.Time{}
		}
		one := r.dueRefused(id, ev)
		if ev.effect.possible || one == nil || one.write.objectID() != ev.objectID() || r.isGivenUp(id, one, now) ||
			now.Sub(one.last) > retryPatience {
			return !now.Before(enough), enough
		}
		if r.isConfirmed(one) {
			r.inBetween(id, one, ev)
			return true, time.Time{}
		}
		return false, now.Add(passingPatience)
	})
	r.setMoment(early, nil)
	return err
}

// inBetween takes note of a status that the program makes in the place of one that need not have been written. r.mu
// must be held.
func (r *programRun) inBetween(id keyID, one *refusedWrite, ev *event) {
	r.note("instead of %s", ev)
	r.dropRefused(id, one)
	switch {
	case r.acceptor != nil:
		r.acceptor.other(one.write, ev)
	case r.unsure[id] == nil:
		r.unsure[id] = func() { r.end(id, one.write, ev) }
	}
}

// conclude judges a write that was recorded and was not made. r.mu must be held.
func (r *programRun) conclude(ev *event, timed bool) {
	id := r.idOf(ev)
	k := r.key(id)
	if k.ended {
		r.judge(ev, false)
		return
	}
	if ev.effect.possible {
		r.result.Unattributed++
		return
	}
	if r.acceptor != nil && !timed {
		if other := r.dueRefused(id, ev); other != nil {
			r.dropRefused(id, other)
			r.acceptor.other(other.write, ev)
		}
		if !ev.played {
			r.acceptor.missing(ev)
		}
		return
	}
	if !timed && ev.verb == VerbUpdateStatus && r.isPassing(k, ev) {
		r.passed[id] = append(r.passed[id], ev)
		return
	}
	other := r.dueRefused(id, ev)
	if other != nil && !timed && other.write.isLike(ev) {
		r.end(id, other.write, ev)
		return
	}
	missing := r.firstPassed(id, ev)
	r.judgeMissing(id, missing, timed)
	if at := slices.Index(r.passed[id], missing); at >= 0 {
		r.passed[id][at] = ev // which is not compared, as the key has ended
	}
	if other != nil && k.ended {
		r.end(id, other.write, nil) // what it does in place of it
	}
}

// judgeMissing judges a write that was recorded and was not made: it ends the comparison of the key, unless it was made
// by a timer. r.mu must be held.
func (r *programRun) judgeMissing(id keyID, ev *event, timed bool) {
	k := r.key(id)
	before := len(k.result.Missing)
	if ev.verb == VerbUpdateStatus && !timed && !k.ended {
		k.result.Missing = append(k.result.Missing, recordedWrite(ev, true)) // no later one has made up for it
	} else {
		r.judge(ev, timed)
	}
	if len(k.result.Missing) > before {
		k.result.Missing[before].Causes = r.causeOf(id, ev)
		k.ended = true
	}
}

// firstPassed returns the first status in between that was not written, of the object of a status that was not written
// either; or the event itself. r.mu must be held.
func (r *programRun) firstPassed(id keyID, ev *event) *event {
	for _, earlier := range r.passed[id] {
		if ev.verb == VerbUpdateStatus && earlier.objectID() == ev.objectID() {
			return earlier
		}
	}
	return ev
}

// makeUp counts the statuses in between that a later one makes up for. r.mu must be held.
func (r *programRun) makeUp(id keyID, written *event) {
	k := r.key(id)
	r.passed[id] = slices.DeleteFunc(r.passed[id], func(earlier *event) bool {
		if written.verb != VerbUpdateStatus || earlier.objectID() != written.objectID() {
			return false
		}
		k.result.Same++
		k.result.Merged++
		return true
	})
}

// end ends the comparison of a key with a write that was not recorded, in the place of ev, which may be nil. r.mu must
// be held.
func (r *programRun) end(id keyID, w *write, ev *event) {
	k := r.key(id)
	k.ended = true
	delete(r.refused, id)
	if ev == nil || !w.isLike(ev) {
		k.result.Extra = append(k.result.Extra, r.programWrite(w, true))
		return
	}
	ev.compared = true
	difference := &Difference{Recorded: r.recordedProgramWrite(ev), Replayed: r.programWrite(w, false)}
	if w.verb == VerbDelete {
		difference.Fields = []fields.Change{r.nameChange(w, ev)}
	} else {
		difference.Fields = r.hiding.differences(w.objectID().resource, ev.content, w.content)
	}
	k.result.Other = difference
}

// finish waits for writes after the last event. What was refused and comes again was not recorded.
func (r *programRun) finish(ctx context.Context) error {
	r.setMoment(late, nil)
	r.mu.Lock()
	began := r.clock.Now()
	until := began.Add(r.options.Patience)
	for id, list := range r.refused {
		if len(list) > 0 {
			until = later(until, began.Add(r.options.Patience+r.clock.Since(r.failing[id])))
		}
	}
	r.mu.Unlock()
	_, err := r.await(ctx, until, func(now time.Time) (bool, time.Time) {
		if r.isUndecided(now) {
			return false, now.Add(settleTime / 4)
		}
		settled := later(later(r.playedAt, r.answeredAt), began).Add(settleTime)
		return !now.Before(settled), settled
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, list := range r.refused {
		for _, one := range slices.Clone(list) {
			r.judgeRefused(id, one)
		}
	}
	for id, passed := range r.passed {
		for _, ev := range passed {
			r.judgeMissing(id, ev, false) // nothing has made up for it
		}
		delete(r.passed, id)
	}
	for id, judge := range r.unsure {
		if k := r.key(id); k.result.IsSame() && r.acceptor == nil {
			judge()
			k.result.Unsure = true
		}
	}
	r.countRepeats(r.clock.Since(began))
	return err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// settleTime is how long a program must have written nothing at the end, and how long a recorded one must have seen the
// same for what it did not write to count.
const settleTime = 2 * time.Second
