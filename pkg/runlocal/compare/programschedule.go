package compare

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
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
		if ev.effect != nil && !r.isEnded(r.idOf(ev)) {
			if err := r.awaitWrite(ctx, ev, pause); err != nil {
				return err
			}
		}
		r.mu.Lock()
		if !ev.played {
			if ev.effect != nil {
				r.conclude(ev, pause > r.options.MaxWait)
			}
			r.playEvent(ev)
		}
		err := r.err
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

// awaitWrite waits until the program has made a write that was recorded, or another in its place, for as long as it
// took then and some time more.
func (r *programRun) awaitWrite(ctx context.Context, ev *event, pause time.Duration) error {
	id := r.idOf(ev)
	r.mu.Lock()
	r.moment, r.target = due, ev
	patience := r.options.Patience
	switch {
	case ev.effect.possible, ev.verb == VerbUpdateStatus && r.isPassing(r.key(id), ev):
		patience = passingPatience
	case r.refused[id] != nil:
		patience += r.clock.Since(r.failing[id]) // it may wait as long before it tries again
	}
	if pause <= r.options.MaxWait {
		patience += pause
	}
	until := r.clock.Now().Add(patience)
	r.note("await %s for %s", ev, patience)
	r.mu.Unlock()
	_, err := r.await(ctx, until, func(time.Time) (bool, time.Time) {
		return ev.played || r.key(id).ended, time.Time{}
	})
	r.setMoment(early, nil)
	return err
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
		if other := r.refused[id]; other != nil && other.due {
			delete(r.refused, id)
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
	if other := r.refused[id]; other != nil && other.due && !timed {
		r.end(id, other.write, ev)
		return
	}
	missing := r.firstPassed(id, ev)
	r.judgeMissing(id, missing, timed)
	if at := slices.Index(r.passed[id], missing); at >= 0 {
		r.passed[id][at] = ev // which is not compared, as the key has ended
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
		difference.Fields = []inspect.Change{{Path: "metadata.name", Old: ev.record.Name, New: w.object.Name}}
	} else {
		difference.Fields = r.hiding.differences(w.objectID().resource, ev.content, w.content)
	}
	k.result.Other = difference
}

// finish waits for writes after the last event. What was refused and comes again was not recorded.
func (r *programRun) finish(ctx context.Context) error {
	r.setMoment(late, nil)
	r.mu.Lock()
	until := r.clock.Now().Add(r.options.Patience)
	for id := range r.refused {
		until = later(until, r.clock.Now().Add(r.options.Patience+r.clock.Since(r.failing[id])))
	}
	r.mu.Unlock()
	_, err := r.await(ctx, until, func(now time.Time) (bool, time.Time) {
		for id, one := range r.refused {
			if now.Sub(one.last) > 3*one.last.Sub(r.failing[id])+settleTime {
				// It would have come again, at a pause that is twice as long each time.
				delete(r.refused, id)
			}
		}
		settled := later(r.playedAt, r.answeredAt).Add(settleTime)
		if len(r.refused) > 0 {
			return false, now.Add(settleTime)
		}
		return !now.Before(settled), settled
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, one := range r.refused {
		if r.acceptor != nil {
			r.acceptor.other(one.write, nil)
			continue
		}
		r.end(id, one.write, nil)
	}
	for id, passed := range r.passed {
		for _, ev := range passed {
			r.judgeMissing(id, ev, false) // nothing has made up for it
		}
		delete(r.passed, id)
	}
	return err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// settleTime is how long a program must have written nothing at the end.
const settleTime = 2 * time.Second

// answer compares a write of the program.
func (r *programRun) answer(_ context.Context, w *write) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.wake()
	r.answeredAt = r.clock.Now()
	r.complete(w)
	if w.verb == "" {
		r.forget(w) // the object is as it wants it
		return answer{response: w.response}
	}
	if r.kept[w.objectID()] {
		return answer{pass: true}
	}
	k := r.key(w.keyID)
	if k.ended {
		return forbidden(refusedEnded)
	}
	when, target := r.moment, r.target
	if when == due && r.idOf(target) != w.keyID {
		when, target = early, nil
	}
	found, ev := match(w, k.effects, when, target)
	r.note("write for %s: %s %s %s, moment %d, outcome %d of %s", w.key, w.verb, w.object.Resource, w.object.Name, when,
		found, ev)
	if found == same || found == merged {
		out := r.accept(w, ev, found == merged)
		if out.refused != "" {
			r.refuse(w, when == due) // what another writes comes first
			return out
		}
		r.forget(w)
		r.makeUp(w.keyID, ev)
		if ev.isDeletion() && w.verb != VerbDelete {
			out = answer{response: w.response} // the object is gone
		}
		return out
	}
	refused := r.refuse(w, when == due)
	if r.acceptor != nil && (found != premature || r.moment == due && r.isUnknown(w)) && r.isConfirmed(refused) {
		delete(r.refused, w.keyID)
		if found != different {
			ev = nil
		}
		return r.acceptor.other(w, ev)
	}
	if w.verb == VerbCreate && r.isUnknown(w) && r.moment != early && r.isConfirmed(refused) {
		// Nothing that was recorded depends on it: so the program can go on.
		r.end(w.keyID, w, nil)
		r.kept[w.objectID()] = true
		return answer{pass: true}
	}
	if found == premature || !r.isConfirmed(refused) {
		return conflict(refusedEarly)
	}
	if found == otherChoice || found == unmatched {
		ev = nil
	}
	r.end(w.keyID, w, ev)
	return forbidden(refusedDifferent)
}

// complete sets what a write does, and which key it belongs to: that of a recorded write of the object which is to
// come, or that of its owner. r.mu must be held.
func (r *programRun) complete(w *write) {
	current, stream := r.object(w.objectID()).current, r.streams[w.objectID().resource]
	if w.object.Kind == "" && stream != nil {
		w.object.Kind = stream.Kind
	}
	w.keyID = keyID{r.program.Name, keyName(w.object.Kind, w.object.Namespace, w.object.Name)}
	after := w.after
	switch {
	case w.verb == VerbDelete:
		if current.isDeleting() {
			w.verb = ""
		}
		after = current
	case w.scale:
		w.scale = false
		w.verb, w.content = VerbUpdate, r.scaled(w)
		if r.changesNothing(w) {
			w.verb = ""
		}
		after = current
	default:
		var before fields
		if current != nil && stream != nil {
			before = withDefaults(current, stream)
		}
		c := newChange(w.objectID().resource, w.object.Namespace, w.object.Name, untyped(before), untyped(after))
		if w.verb = c.verb; c.verb != "" {
			w.content, w.changes = contentOf(after, c.verb), r.hiding.hide(w.objectID().resource, c.changes())
			if w.verb != VerbCreate && r.differsNowhere(w, before) {
				w.verb = ""
			}
		}
	}
	if owner := after.controllerOwner(); owner != nil {
		w.key = keyName(owner.text("kind"), w.object.Namespace, owner.text("name"))
	}
	for _, ev := range r.object(w.objectID()).coming {
		if ev.effect != nil && ev.verb == w.verb {
			w.keyID = r.idOf(ev)
			return
		}
	}
}

// differsNowhere reports whether an update changes only what is not compared, and is not a recorded one. r.mu must be
// held.
func (r *programRun) differsNowhere(w *write, before fields) bool {
	content := contentOf(before, w.verb)
	return contentText(content) != contentText(w.content) &&
		r.hiding.areAlike(w.objectID().resource, content, w.content) &&
		!slices.ContainsFunc(r.object(w.objectID()).coming, func(ev *event) bool {
			return ev.effect != nil && ev.verb == w.verb && ev.shows(w.content)
		})
}

// isUnknown reports whether nothing was recorded of the object of a write, and of the key. r.mu must be held.
func (r *programRun) isUnknown(w *write) bool {
	return !w.generated && r.objects[w.objectID()].isUnknown() && len(r.key(w.keyID).effects) == 0
}

// untyped returns an object without its version and kind, which are those of the request.
func untyped(obj fields) fields {
	obj = maps.Clone(obj)
	delete(obj, "apiVersion")
	delete(obj, "kind")
	return obj
}

// refuse takes note of a write that is refused. r.mu must be held.
func (r *programRun) refuse(w *write, due bool) *refusedWrite {
	now := r.clock.Now()
	text := string(w.verb) + " " + w.object.Resource + " " + w.object.Name + " " + contentText(w.content)
	if r.failing[w.keyID].IsZero() {
		r.failing[w.keyID] = now
	}
	one := r.refused[w.keyID]
	if one == nil || one.text != text {
		one = &refusedWrite{text: text, write: w, since: now}
		r.refused[w.keyID] = one
	}
	one.tries++
	one.last, one.due = now, one.due || due
	return one
}

// forget forgets a write of the same object that was refused. r.mu must be held.
func (r *programRun) forget(w *write) {
	if one := r.refused[w.keyID]; one != nil && one.write.objectID() == w.objectID() {
		delete(r.refused, w.keyID)
	}
}

// isConfirmed reports whether a write that was refused came again often enough, after all that was played has reached
// the program, to count. r.mu must be held.
func (r *programRun) isConfirmed(one *refusedWrite) bool {
	now := r.clock.Now()
	return one.tries > confirmTries && now.Sub(one.since) >= confirmTime && now.Sub(r.playedAt) >= confirmTime
}

// programWrite describes a write of the program. r.mu must be held.
func (r *programRun) programWrite(w *write, changes bool) Write {
	out := Write{Verb: w.verb, Object: w.object, Causes: r.causeOf(w.keyID, nil)}
	if changes && w.verb != VerbDelete {
		out.Changes = writtenChanges(w.verb, w.changes)
	}
	return out
}

// recordedProgramWrite describes a recorded write of the program.
func (r *programRun) recordedProgramWrite(ev *event) Write {
	out := recordedWrite(ev, false)
	out.Causes = r.causeOf(r.idOf(ev), ev)
	return out
}

// namedKey returns the object that a key of a program names.
func (r *programRun) namedKey(id keyID) trace.Object {
	for _, events := range [][]*event{r.loaded.objects, r.loaded.events} {
		for _, ev := range events {
			if keyName(ev.stream.Kind, ev.record.Namespace, ev.record.Name) == id.key {
				out := ev.id()
				out.UID = ""
				return out
			}
		}
	}
	return trace.Object{}
}
