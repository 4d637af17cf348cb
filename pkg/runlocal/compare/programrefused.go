package compare

import (
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// refusedWrite is a write that was refused and may come again.
type refusedWrite struct {
	text  string // by which writes are equal
	write *write
	// since is when it was tried first, and last when it was tried last.
	since, last time.Time
	// tries counts since an event of the key was played, total since a write of the object was answered.
	tries, total int
	due          bool // it was refused when the recording had come to the next write of the key
	insisted     bool // it was confirmed while the recorded program saw the same for a while
}

// refuse takes note of a write that is refused. r.mu must be held.
func (r *programRun) refuse(w *write, due bool) *refusedWrite {
	now := r.clock.Now()
	text := string(w.verb) + " " + w.object.Resource + " " + w.object.Name + " " + contentText(w.content)
	if r.failing[w.keyID].IsZero() {
		r.failing[w.keyID] = now
	}
	list := r.refused[w.keyID]
	at := slices.IndexFunc(list, func(one *refusedWrite) bool { return one.text == text })
	if at < 0 {
		at, list = len(list), append(list, &refusedWrite{text: text, since: now})
		r.refused[w.keyID] = list
	}
	one := list[at]
	if one.tries == 0 {
		one.since = now
	}
	one.write = w
	one.tries++
	one.total++
	one.last, one.due = now, one.due || due
	one.insisted = one.insisted || r.isConfirmed(one) && r.lasts(w)
	return one
}

// forget forgets the writes of an object that were refused, as one was answered. r.mu must be held.
func (r *programRun) forget(w *write) {
	r.refused[w.keyID] = slices.DeleteFunc(r.refused[w.keyID], func(one *refusedWrite) bool {
		return one.write.objectID() == w.objectID()
	})
	if len(r.refused[w.keyID]) == 0 {
		delete(r.failing, w.keyID)
	}
}

// dropRefused forgets a write that was refused. r.mu must be held.
func (r *programRun) dropRefused(id keyID, one *refusedWrite) {
	r.refused[id] = slices.DeleteFunc(r.refused[id], func(other *refusedWrite) bool { return other == one })
}

// dueRefused returns a write that was refused in the place of a recorded one that was due: of the same object, if there
// is one; nil for none. r.mu must be held.
func (r *programRun) dueRefused(id keyID, ev *event) *refusedWrite {
	var found *refusedWrite
	for _, one := range r.refused[id] {
		if one.due && (found == nil || one.write.objectID() == ev.objectID()) {
			found = one
		}
	}
	return found
}

// isConfirmed reports whether a write that was refused came again often enough, after all that was played has reached
// the program, to count. r.mu must be held.
func (r *programRun) isConfirmed(one *refusedWrite) bool {
	now := r.clock.Now()
	return one.tries > confirmTries && now.Sub(one.since) >= confirmTime && now.Sub(r.playedAt) >= confirmTime
}

// isGivenUp reports whether the program would have tried a write again, at a pause that is twice as long each time.
// r.mu must be held.
func (r *programRun) isGivenUp(id keyID, one *refusedWrite, now time.Time) bool {
	return now.Sub(one.last) > 3*one.last.Sub(r.failing[id])+settleTime
}

// isUndecided reports whether a write that was refused may still be taken back, or come often enough to count. r.mu
// must be held.
func (r *programRun) isUndecided(now time.Time) bool {
	for id, list := range r.refused {
		for _, one := range list {
			tries := one.total
			if one.write.verb == VerbUpdateStatus { // what was played since may be what it is about
				tries = one.tries
			}
			if tries > 0 && tries <= confirmTries && !r.isGivenUp(id, one, now) ||
				tries > confirmTries && now.Sub(one.since) < confirmTime {
				return true
			}
		}
	}
	return false
}

// lasts reports whether the recorded program saw for a while what has been played of the key of a status, so that it
// would have written what it makes of it. One that wrote for the key, and never a status of the object, would have.
// r.mu must be held.
func (r *programRun) lasts(w *write) bool {
	if effects := r.key(w.keyID).effects; len(effects) > 0 && !slices.ContainsFunc(effects, func(ev *event) bool {
		return ev.verb == VerbUpdateStatus && ev.objectID() == w.objectID()
	}) {
		return true
	}
	seen, end := r.loaded.start, r.loaded.end
	for _, ev := range r.loaded.events {
		switch {
		case !r.isOf(ev, w.keyID):
		case ev.played:
			seen = later(seen, ev.record.Time)
		default:
			return ev.record.Time.IsZero() || ev.record.Time.Sub(seen) > settleTime
		}
	}
	return end.IsZero() || end.Sub(seen) > settleTime
}

// judgeRefused judges a write that was refused, when all has been played. If it came often it counts; if not, it may
// have been made for what the program saw at the moment, so that it counts only if it is so each time. A status that
// did not come often is one in between, which need not have been written. One that did may have been written after the
// end of the recording. r.mu must be held.
func (r *programRun) judgeRefused(id keyID, one *refusedWrite) {
	k, isStatus := r.key(id), one.write.verb == VerbUpdateStatus
	switch {
	case k.ended:
	case isStatus && !one.insisted && !r.goesOn(id, one):
		if r.isConfirmed(one) {
			k.result.AfterEnd = append(k.result.AfterEnd, r.programWrite(one.write, true))
		}
	case !isStatus && one.total <= confirmTries:
		if r.unsure[id] == nil {
			r.unsure[id] = func() { r.end(id, one.write, nil) }
		}
	case r.acceptor != nil:
		r.acceptor.other(one.write, nil)
	default:
		r.end(id, one.write, nil)
	}
}

// goesOn reports whether a status is one of many contents that the program writes in turn, though it sees nothing else.
// r.mu must be held.
func (r *programRun) goesOn(id keyID, one *refusedWrite) bool {
	contents, again, ended := 0, 0, true
	for _, other := range r.refused[id] {
		if other.tries == 0 || other.write.verb != one.write.verb || other.write.objectID() != one.write.objectID() {
			continue
		}
		contents++
		if other.tries > confirmTries {
			again++
		}
		ended = ended && r.isGivenUp(id, other, r.clock.Now())
	}
	return !ended && (contents > confirmTries || again > 1)
}

// manyRepeats is how many writes that change nothing, within a few seconds in which nothing happens, are too many.
const manyRepeats = 10

// countRepeats takes down which keys have been written at the end, though nothing happened. r.mu must be held.
func (r *programRun) countRepeats(within time.Duration) {
	for _, k := range r.keys {
		if k.repeats >= manyRepeats {
			k.result.Repeats = &Repeats{Writes: k.repeats, Within: trace.Duration(within)}
		}
	}
}
