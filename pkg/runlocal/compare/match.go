package compare

import (
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// keyID names a key of a controller's queue. Key is empty for effects of which the key is not known.
type keyID struct{ controller, key string }

// write is a write that a controller has sent.
type write struct {
	keyID
	verb    Verb
	object  trace.Object // without a name if that is to be generated
	content fields
	// generated is true for the creation of an object whose name the API is to make.
	generated bool
	reconcile trace.ReconcileID
}

// keyState is what is left to compare of a key.
type keyState struct {
	result Key
	// effects are those that were not played yet, in their order.
	effects []*event
	// ended is true when nothing of the key is compared any more. Its effects are inputs.
	ended bool
}

// isLike reports whether the event is a write of the sort: of the same verb and resource, and unless it is a creation,
// of the same object.
func (w *write) isLike(ev *event) bool {
	id := ev.id()
	if ev.verb != w.verb || id.Group != w.object.Group || id.Resource != w.object.Resource ||
		id.Namespace != w.object.Namespace {
		return false
	}
	return w.verb == VerbCreate || id.Name == w.object.Name
}

// isSame reports whether the event shows what the write does.
func (w *write) isSame(ev *event) bool {
	switch {
	case w.verb == VerbDelete:
		return true // isLike compares the object
	case w.verb == VerbCreate && w.generated != ev.generated:
		return false
	case w.verb == VerbCreate && !w.generated && w.object.Name != ev.record.Name:
		return false
	}
	return contentText(w.content) == contentText(ev.content)
}

// outcome is what becomes of a write.
type outcome int

const (
	// unmatched means that no withheld effect is of its sort.
	unmatched outcome = iota
	// same means that an effect shows the same.
	same
	// merged means that the next status shows something else, and a later one the same: it depends on when the
	// controller looked.
	merged
	// premature means that a status is not the next one, though there is one, which it is too early for.
	premature
	// different means that the next effect of its sort shows something else.
	different
)

// match returns the effect that answers the write, or that it is different from; nil for none. Target is the effect that
// the key is reconciled for; nil if it is for none.
//
// Creations of one reconcile may be sent in any order, so all that are withheld count; of updates only the next does.
func match(w *write, effects []*event, target *event) (outcome, *event) {
	var like []*event
	for _, ev := range effects {
		if !ev.played && w.isLike(ev) {
			like = append(like, ev)
		}
	}
	if len(like) == 0 {
		return unmatched, nil
	}
	at := slices.IndexFunc(like, w.isSame)
	switch {
	case at == 0, at > 0 && w.verb == VerbCreate:
		return same, like[at]
	case w.verb == VerbUpdateStatus && at > 0:
		return merged, like[0]
	case w.verb == VerbUpdateStatus && like[0] != target:
		return premature, nil
	case w.verb == VerbDelete:
		return unmatched, nil
	}
	return different, nearest(w, like)
}

// nearest returns the effect that the write is described as different from: of creations the one with the same name, or
// the fewest differences.
func nearest(w *write, like []*event) *event {
	best, least := like[0], -1
	for _, ev := range like {
		if w.verb != VerbCreate {
			return ev
		}
		n := len(differences(ev.content, w.content))
		if ev.record.Name == w.object.Name {
			return ev
		}
		if least < 0 || n < least {
			best, least = ev, n
		}
	}
	return best
}

// recordedWrite describes an effect.
func recordedWrite(ev *event, changes bool) Write {
	out := Write{
		Verb: ev.verb, Object: ev.id(), Record: ev.record.Number, Time: ev.record.Time,
		Reconcile: ev.effect.reconcile, Causes: ev.effect.causes,
	}
	if changes {
		out.Changes = writtenChanges(ev.verb, ev.changes)
	}
	return out
}

// writtenChanges leaves out of the changes of an event what the API has set.
func writtenChanges(verb Verb, changes []inspect.Change) []inspect.Change {
	if verb == VerbDelete {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c inspect.Change) bool {
		return slices.ContainsFunc(volatile, func(name string) bool { return c.Path == "metadata."+name })
	})
}
