package compare

import (
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// keyID names a key of a controller's queue. Key is empty for effects of which the key is not known.
type keyID struct{ controller, key string }

// write is a write that a controller has sent.
type write struct {
	keyID
	verb    Verb
	object  trace.Object // without a name if that is to be generated
	content untyped.Map
	// scale is true for a write of the subresource scale, which sets the number of replicas; content is then not set.
	scale    bool
	replicas int64
	// generated is true for the creation of an object whose name the API is to make.
	generated bool
	reconcile trace.ReconcileID
	// after is the object that the write of a program makes, changes what it changes, and response what the API answers
	// to a trial of it. They are not set for controllers.
	after    untyped.Map
	changes  []fields.Change
	response *memoryResponse
}

// keyState is what is left to compare of a key.
type keyState struct {
	result Key
	// effects are those that were not played yet, in their order.
	effects []*event
	// ahead counts, by verb and resource, the creations and deletions that were made before others of their sort that
	// were recorded earlier: controllers go through some objects in no order. As many of those others are not missing.
	ahead map[string]int
	// early counts the reconciles in a row that came too early.
	early int
	// repeats counts the writes of a program at the end that change nothing.
	repeats int
	// ended is true when nothing of the key is compared any more. Its effects are inputs.
	ended bool
}

// isLike reports whether the event is a write of the sort: of the same verb and resource, and if it is an update, of
// the same object.
func (w *write) isLike(ev *event) bool {
	id := ev.id()
	if ev.verb != w.verb || id.Group != w.object.Group || id.Resource != w.object.Resource ||
		id.Namespace != w.object.Namespace {
		return false
	}
	return w.verb == VerbCreate || w.verb == VerbDelete || id.Name == w.object.Name
}

// isSame reports whether the event shows what the write does.
func (w *write) isSame(ev *event) bool {
	switch {
	case ev.refused != nil: // what was sent was not recorded
		return w.generated == ev.generated && (w.generated || w.object.Name == ev.record.Name)
	case w.verb == VerbDelete:
		return w.object.Name == ev.record.Name
	case w.verb == VerbCreate && w.generated && !ev.generated:
		return false
	case w.verb == VerbCreate && !w.generated && w.object.Name != ev.record.Name:
		return false
	}
	return ev.shows(w.content)
}

// outcome is what becomes of a write.
type outcome int

const (
	// unmatched means that no withheld effect is of its sort.
	unmatched outcome = iota
	// same means that an effect shows the same.
	same
	// merged means that the next status shows something else, and that a later one is the same, or follows soon, or
	// follows what has been played before: what it shows depends on what the controller's caches had at the moment.
	merged
	// premature means that what the write does may come later, or that it would not have been made later.
	premature
	// different means that the next effect of its sort shows something else.
	different
	// otherChoice means that another object was deleted in the recording.
	otherChoice
)

// moment is why a key is reconciled.
type moment int

const (
	// early means that an effect of the key follows soon. The recorded controller may have looked at this moment, or
	// later: what the key writes counts only if it is the same.
	early moment = iota
	// due means that the recording has come to the next effect of the key.
	due
	// late means that no effect follows soon.
	late
)

// match returns the effect that answers the write, or that it is different from; nil for none. Target is the effect
// that the recording has come to, if the moment is due. Between reports whether something that was recorded between
// two events has been played.
//
// Of updates only the next counts, and of statuses that follow each other soon any. Of creations and deletions all
// count that the key made one after the other, without other writes between: controllers send them at once.
func match(
	w *write, effects []*event, when moment, target *event, between func(a, b *event) bool,
) (outcome, *event) {
	like, run := w.candidates(effects)
	if at := slices.IndexFunc(run, w.isSame); at >= 0 {
		return same, run[at]
	}
	if ev := w.inRow(effects, when == due); ev != nil {
		return same, ev
	}
	switch {
	case when == early:
		return premature, nil
	case w.verb == VerbUpdateStatus && slices.ContainsFunc(like, w.isSame):
		return merged, like[0]
	case len(like) == 0:
		return unmatched, nil
	case when == due && !slices.Contains(run, target), when == late && w.verb == VerbUpdateStatus:
		return premature, nil
	case w.verb == VerbUpdateStatus && len(like) > 1 && (like[1].soonAfter(like[0]) || between(like[0], like[1])):
		return merged, like[0]
	case w.verb == VerbDelete && when == due:
		return otherChoice, target
	case w.verb == VerbDelete:
		return unmatched, nil
	}
	return different, nearest(w, run)
}

// burst is how soon after a status another one must follow for the first to count as one in between.
const burst = time.Second

func (e *event) soonAfter(other *event) bool { return e.record.Time.Sub(other.record.Time) <= burst }

// inRow returns the status that shows what the write does, among those that the key wrote one after the other, without
// other writes between: the controller has looked less often than when it was recorded. Unless long is set, each must
// follow soon. The result is nil if there is none.
func (w *write) inRow(effects []*event, long bool) *event {
	var last *event
	for _, ev := range effects {
		switch {
		case ev.played || w.verb != VerbUpdateStatus:
		case last == nil && !w.isLike(ev):
		case last != nil && (!w.isLike(ev) || !long && !ev.soonAfter(last)):
			return nil
		case w.isSame(ev):
			return ev
		default:
			last = ev
		}
	}
	return nil
}

// lastRefusal returns the last effect of the sort of the write that was played, if it is one that was refused and like
// the write; nil otherwise.
func (w *write) lastRefusal(effects []*event) *event {
	var last *event
	for _, ev := range effects {
		if ev.played && w.isLike(ev) {
			last = ev
		}
	}
	if last == nil || last.refused == nil || !w.isSame(last) {
		return nil
	}
	return last
}

// candidates returns the effects that were not played of the sort of the write, and those of them that come next.
func (w *write) candidates(effects []*event) (like, run []*event) {
	several := w.verb == VerbCreate || w.verb == VerbDelete
	ended := false
	for _, ev := range effects {
		switch {
		case ev.played:
		case w.isLike(ev):
			like = append(like, ev)
			if !ended {
				run = append(run, ev)
			}
			ended = ended || !several
		default:
			ended = ended || len(run) > 0
		}
	}
	return like, run
}

// nearest returns the effect that the write is described as different from: of creations the one with the same name, or
// the fewest differences.
func nearest(w *write, like []*event) *event {
	best, least := like[0], -1
	for _, ev := range like {
		if w.verb != VerbCreate {
			return ev
		}
		n := len(ev.hiding.differences(ev.stream.GroupResource(), ev.content, w.content))
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
	if ev.refused != nil {
		out.Refused = ev.refused.message
	}
	if changes {
		out.Changes = writtenChanges(ev.verb, ev.changes)
	}
	return out
}

// writtenChanges leaves out of the changes of an event what the API has set.
func writtenChanges(verb Verb, changes []fields.Change) []fields.Change {
	if verb == VerbDelete {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c fields.Change) bool {
		return slices.ContainsFunc(volatile, func(name string) bool { return c.Path == "metadata."+name })
	})
}

// sortOf is a text of the sort of effects of which controllers make several in any order; empty for other effects.
func sortOf(ev *event) string {
	if ev.verb != VerbCreate && ev.verb != VerbDelete {
		return ""
	}
	return string(ev.verb) + " " + ev.stream.GroupResource().String()
}

// isAhead reports whether an effect that was made is not the first of its sort.
func (k *keyState) isAhead(ev *event) bool {
	sort := sortOf(ev)
	for _, other := range k.effects {
		switch {
		case other == ev:
			return false
		case sort != "" && !other.played && sortOf(other) == sort:
			return true
		}
	}
	return false
}
