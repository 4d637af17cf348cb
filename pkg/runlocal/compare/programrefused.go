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
	// tries counts since an event of the key was played, or another write of the object was answered; total since the
	// latter. Superseded is true if there was such a write.
	tries, total int
	superseded   bool
	due          bool // it was refused when the recording had come to the next write of the key
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
	return one
}

// forget forgets a write that was refused, as it was answered. Others of the same object are taken back, if they do not
// come again. r.mu must be held.
func (r *programRun) forget(w *write) {
	text := contentText(w.content)
	r.refused[w.keyID] = slices.DeleteFunc(r.refused[w.keyID], func(one *refusedWrite) bool {
		if one.write.objectID() != w.objectID() {
			return false
		}
		if one.write.verb == w.verb && contentText(one.write.content) == text {
			return true
		}
		one.tries, one.total, one.due, one.superseded = 0, 0, false, true
		return false
	})
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
			if one.total > 0 && one.total <= confirmTries && !r.isGivenUp(id, one, now) ||
				one.total > confirmTries && now.Sub(one.since) < confirmTime {
				return true
			}
		}
	}
	return false
}

// judgeRefused judges a write that was refused, when all has been played. If it came often it counts; if not, it may
// have been made for what the program saw at the moment, so that it counts only if it is so each time. r.mu must be
// held.
func (r *programRun) judgeRefused(id keyID, one *refusedWrite) {
	switch {
	case one.total == 0: // another write of the object was answered, and this one did not come again
	case one.total <= confirmTries:
		if r.unsure[id] == nil {
			r.unsure[id] = func() { r.end(id, one.write, nil) }
		}
	case r.acceptor != nil:
		r.acceptor.other(one.write, nil)
	case !r.key(id).ended:
		r.end(id, one.write, nil)
	}
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
