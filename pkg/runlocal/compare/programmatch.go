package compare

import (
	"context"
	"maps"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// answer compares a write of the program.
func (r *programRun) answer(_ context.Context, w *write) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.wake()
	r.complete(w)
	if w.verb == "" {
		r.forget(w) // the object is as it wants it
		if r.moment == late {
			r.key(w.keyID).repeats++
		}
		return answer{response: w.response}
	}
	r.answeredAt = r.clock.Now()
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
	found, ev := r.match(w, k.effects, when, target)
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
	return r.refuseWrite(w, when, found, ev)
}

// refuseWrite answers a write that is not the one that was recorded, and judges it if it has come often enough. r.mu
// must be held.
func (r *programRun) refuseWrite(w *write, when moment, found outcome, ev *event) answer {
	k := r.key(w.keyID)
	refused := r.refuse(w, when == due)
	if when == late && w.verb == VerbUpdateStatus && !r.lasts(w) {
		return conflict(refusedEarly) // it may have been written later: see judgeRefused
	}
	if r.acceptor != nil && (found != premature || r.moment == due && r.isUnknown(w)) && r.isConfirmed(refused) {
		r.dropRefused(w.keyID, refused)
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
	if found == premature || !r.isConfirmed(refused) || ev != nil && ev.verb == VerbUpdateStatus && r.isPassing(k, ev) {
		return conflict(refusedEarly) // of a status in between the one who waits for it decides
	}
	if found == otherChoice || found == unmatched {
		ev = nil
	}
	r.end(w.keyID, w, ev)
	return forbidden(refusedDifferent)
}

// match is match for a program: a status is answered by a recorded one that shows the same, and by that only once all
// has been played that it may depend on.
func (r *programRun) match(w *write, effects []*event, when moment, target *event) (outcome, *event) {
	found, ev := match(w, effects, when, target, func(_, _ *event) bool { return false }) // all is played in turn
	switch {
	case found == merged && when == due && ev != target:
		return premature, nil
	case found == merged:
		return different, ev
	case found == same && ev.verb == VerbUpdateStatus && r.isAhead(w, ev):
		if when == due && target != nil && w.isLike(target) {
			return different, target
		}
		return premature, nil
	}
	return found, ev
}

// isAhead reports whether a status was recorded after something of the same key that was not played yet, and that it
// may depend on: what the program wrote, other than earlier versions of the status, and what others did, but for the
// last second before the next status, which the program need not have seen. r.mu must be held.
func (r *programRun) isAhead(w *write, ev *event) bool {
	next := true
	for _, earlier := range r.loaded.events[:ev.position] {
		switch {
		case earlier.played || !r.isOf(earlier, w.keyID):
		case earlier.effect == nil:
			if !next || !ev.soonAfter(earlier) {
				return true
			}
		case w.isLike(earlier):
			next = false
		case !earlier.effect.possible:
			return true
		}
	}
	return false
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
		if isDeleting(current) {
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
		var before untyped.Map
		if current != nil && stream != nil {
			before = withDefaults(current, stream)
		}
		mask := r.hiding.mask(w.objectID().resource)
		c := newChange(mask, w.object.Namespace, w.object.Name, withoutType(before), withoutType(after))
		if w.verb = c.verb; c.verb != "" {
			sent := after
			if c.verb == VerbCreate && stream != nil { // as those of the recording, see load.go
				sent = withDefaults(requested(after), stream)
			}
			w.content, w.changes = contentOf(sent, c.verb), c.changes()
			if w.verb != VerbCreate && r.differsNowhere(w, before) {
				w.verb = ""
			}
		}
	}
	if owner := controllerOwner(after); owner != nil {
		w.key = keyName(owner.Text("kind"), w.object.Namespace, owner.Text("name"))
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
func (r *programRun) differsNowhere(w *write, before untyped.Map) bool {
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

// withoutType returns an object without its version and kind, which are those of the request.
func withoutType(obj untyped.Map) untyped.Map {
	obj = maps.Clone(obj)
	delete(obj, "apiVersion")
	delete(obj, "kind")
	return obj
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
