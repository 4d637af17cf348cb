package compare

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// who returns who has sent a request, by the goroutine that serves it: it was started by the one that works on a key.
func (r *run) who(*http.Request) (caller, bool) {
	controller, key, reconcile := tap.Current()
	if !slices.Contains(r.result.Controllers, controller) {
		return caller{}, false
	}
	return caller{keyID{controller, key}, reconcile}, true
}

// judge notes an effect that the controller did not write. r.mu must be held.
func (r *run) judge(ev *event, timed bool) {
	k := r.key(keyID{ev.effect.controller, ev.effect.key})
	switch {
	case k.ended && !ev.compared:
		k.result.Uncompared++
	case k.ended:
	case ev.otherChoice:
		k.result.Same++
		k.result.Merged++
	case k.ahead[sortOf(ev)] > 0:
		k.ahead[sortOf(ev)]--
		k.result.Same++
		k.result.Merged++
	case ev.refused != nil && k.isRefusedElse(ev):
		k.result.Same++
		k.result.Merged++
	case timed:
		k.result.ByTimer = append(k.result.ByTimer, recordedWrite(ev, true))
	case ev.verb == VerbUpdateStatus && (r.isPassing(k, ev) || r.isGoneSoon(ev)):
		k.result.Same++
		k.result.Merged++
	case ev.effect.before:
		r.result.Before++
	default:
		r.noteBehind()
		k.result.Missing = append(k.result.Missing, recordedWrite(ev, true))
	}
}

// isRefusedElse reports whether the key makes a write of the sort that is refused at another time: how often a
// controller tries depends on how long it waits.
func (k *keyState) isRefusedElse(ev *event) bool {
	return slices.ContainsFunc(k.effects, func(other *event) bool {
		return other != ev && other.refused != nil && (other.made || !other.played) && other.verb == ev.verb &&
			other.objectID().resource == ev.objectID().resource
	})
}

// isPassing reports whether a status is one in between: another one follows soon, a later one is what the object has at
// this moment, or a later one was made instead after an event that was recorded between: so the controller could not
// make the first. r.mu must be held.
func (r *run) isPassing(k *keyState, ev *event) bool {
	current := contentText(contentOf(r.object(ev.objectID()).current, VerbUpdateStatus))
	return slices.ContainsFunc(k.effects, func(later *event) bool {
		return later != ev && !later.played && later.verb == VerbUpdateStatus && later.objectID() == ev.objectID() &&
			(later.soonAfter(ev) || later.made && r.playedBetween(ev, later) || contentText(later.content) == current)
	})
}

// playedBetween reports whether something that was recorded between two events has been played. r.mu must be held.
func (r *run) playedBetween(a, b *event) bool {
	events := r.loaded.events
	return slices.ContainsFunc(events[min(a.position+1, len(events)):min(b.position, len(events))],
		func(ev *event) bool { return ev.played })
}

// isGoneSoon reports whether the object of a status is deleted soon after it: so the status is one in between, without
// a last one. r.mu must be held.
func (r *run) isGoneSoon(ev *event) bool {
	return slices.ContainsFunc(r.object(ev.objectID()).coming, func(later *event) bool {
		return later.position > ev.position && later.isDeletion() && later.soonAfter(ev)
	})
}

// playEvent has clients see an event. r.mu must be held.
func (r *run) playEvent(ev *event) {
	if ev.played {
		return
	}
	ev.played = true
	r.played++
	if ev.refused != nil {
		return
	}
	if r.rebase != nil {
		there, err := r.rebase(ev)
		if err != nil && r.err == nil {
			r.err = err
		}
		if !there {
			r.drop(ev)
			return
		}
	}
	r.note("play %s", ev)
	object := r.object(ev.objectID())
	r.drop(ev)
	data, obj, err := r.shifted(ev)
	if err == nil {
		err = r.deliver(ev, data)
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("playing record %d: %w", ev.record.Number, err)
	}
	if object.current = obj; ev.isDeletion() {
		object.current = nil
	}
}

// drop takes an event from those that are to come. r.mu must be held.
func (r *run) drop(ev *event) {
	object := r.object(ev.objectID())
	object.coming = slices.DeleteFunc(object.coming, func(one *event) bool { return one == ev })
}

// The texts of refusals.
const (
	refusedGone      = "not found"
	refusedOutside   = "what this is about is in a namespace that was not recorded"
	refusedEnded     = "this key is not compared any more"
	refusedDifferent = "this write is not in the recording"
	refusedEarly     = "this write is too early for the recording; try again"
	refusedChoice    = "another object was deleted in the recording, which is as good"
	refusedNode      = "the pod was made on another node in the recording, which is as good"
)

func conflict(text string) answer {
	return answer{refused: text, code: http.StatusConflict, reason: metav1.StatusReasonConflict}
}

func forbidden(text string) answer {
	return answer{refused: text, code: http.StatusForbidden, reason: metav1.StatusReasonForbidden}
}

// tooEarly answers a write that is to be tried again.
func tooEarly(w *write) answer {
	if w.object.Resource == "namespaces" { // its controller tries again without end after a conflict
		return forbidden(refusedEarly)
	}
	return conflict(refusedEarly)
}

// answer compares a write of a controller.
func (r *run) answer(_ context.Context, w *write) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.key(w.keyID)
	if k.ended {
		return forbidden(refusedEnded)
	}
	if w.scale {
		w.content = r.scaled(w)
	}
	if w.verb != VerbCreate && r.changesNothing(w) {
		return answer{name: w.object.Name}
	}
	if o := r.object(w.objectID()); w.verb == VerbDelete && o.known && o.current == nil {
		return answer{refused: refusedGone, code: http.StatusNotFound, reason: metav1.StatusReasonNotFound}
	}
	end, later := r.endOf(w)
	if later {
		return tooEarly(w)
	}
	if end != nil {
		return answer{finish: func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if !end.played {
				r.playEvent(end)
			}
		}}
	}
	effects := k.effects
	if unknown := r.keys[keyID{w.controller, ""}]; unknown != nil && w.key != "" {
		effects = slices.Concat(effects, unknown.effects)
	}
	found, ev := match(w, effects, r.moment, r.target, r.playedBetween)
	r.note("write of %s %s: %s %s %s, moment %d, outcome %d of %s", w.controller, w.key, w.verb, w.object.Resource,
		w.object.Name, r.moment, found, ev)
	if last := w.lastRefusal(effects); last != nil && (found != same || ev.refused == nil && ev != r.target) {
		return last.refused.answer() // what has changed that was not recorded yet
	}
	return r.answerTo(w, k, found, ev)
}

// answerTo answers a write by its counterpart in the recording, if there is one, and how they compare. r.mu must be
// held.
func (r *run) answerTo(w *write, k *keyState, found outcome, ev *event) answer {
	switch found {
	case same, merged:
		return r.accept(w, ev, found == merged)
	case premature:
		k.early++
		return tooEarly(w)
	case otherChoice:
		if r.areAlike(w.objectID(), ev.objectID()) {
			ev.otherChoice = true
			return conflict(refusedChoice)
		}
		k.ended, ev.compared = true, true
		r.noteBehind()
		k.result.Other = &Difference{
			Recorded: recordedWrite(ev, false), Replayed: r.replayedWrite(w, false),
			Fields: []fields.Change{r.nameChange(w, ev)},
		}
	case different:
		if w.verb == VerbUpdateStatus && r.isGoneSoon(ev) {
			return r.accept(w, ev, true)
		}
		if r.moment == due && r.isOtherNode(w, ev) {
			ev.otherChoice = true
			return conflict(refusedNode)
		}
		k.ended, ev.compared = true, true
		r.noteBehind()
		k.result.Other = &Difference{
			Recorded: recordedWrite(ev, false), Replayed: r.replayedWrite(w, false),
			Fields: r.hiding.differences(w.objectID().resource, ev.content, w.content),
		}
	case unmatched:
		if r.isOutside(w) {
			r.result.Outside++
			k.ended = true
			return forbidden(refusedOutside)
		}
		r.noteBehind()
		extra := r.replayedWrite(w, true)
		if byTimer(extra.Causes) {
			k.result.ByTimer = append(k.result.ByTimer, extra)
		} else {
			k.result.Extra = append(k.result.Extra, extra)
		}
		k.ended = true
	}
	return forbidden(refusedDifferent)
}

// isOutside reports whether a volume that is written is that of a claim in a namespace that was not recorded: its
// controller takes the claim for gone. r.mu must be held.
func (r *run) isOutside(w *write) bool {
	namespace := r.object(w.objectID()).current.Text("spec", "claimRef", "namespace")
	if resourceOf(&w.object) != core("persistentvolumes") || namespace == "" {
		return false
	}
	return !slices.ContainsFunc(r.loaded.streams, func(s *replay.StreamState) bool {
		return s.GroupResource() == core("persistentvolumeclaims") && (s.Namespace == "" || s.Namespace == namespace)
	})
}

// endOf returns the recorded end of a deletion that a write leads to, as it takes the last finalizer; nil if it does
// not. Such an end is an input. It is later if something else is to happen to the object before. r.mu must be held.
func (r *run) endOf(w *write) (end *event, later bool) {
	object := r.object(w.objectID())
	isLast := w.verb == VerbUpdate && isDeleting(object.current) && w.content.At("metadata", "finalizers") == nil &&
		(w.object.Resource != "namespaces" || w.content.At("spec", "finalizers") == nil)
	at := slices.IndexFunc(object.coming, (*event).isDeletion)
	if !isLast || at < 0 || object.coming[at].effect != nil {
		return nil, false
	}
	if at > 0 {
		return nil, !slices.ContainsFunc(object.coming[:at], w.isLike)
	}
	return object.coming[0], false
}

// scaled returns the content of an object with another number of replicas. r.mu must be held.
func (r *run) scaled(w *write) untyped.Map {
	content := contentOf(r.object(w.objectID()).current, VerbUpdate)
	spec, _ := content["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
		content["spec"] = spec
	}
	spec["replicas"] = w.replicas
	return content
}

// areAlike reports whether two pods are the same but for times, names and nodes, so that which of them a controller
// deletes is left to chance, or depends on fractions of seconds. r.mu must be held.
func (r *run) areAlike(a, b objectID) bool {
	x, y := r.object(a).current, r.object(b).current
	return x != nil && y != nil && a.resource == core("pods") && a.namespace == b.namespace &&
		rankText(x) == rankText(y)
}

// rankText is what decides which pods are deleted first, without times. It mirrors ActivePodsWithRanks.Less of
// k8s.io/kubernetes/pkg/controller/controller_utils.go.
func rankText(pod untyped.Map) string {
	ready := ""
	for _, condition := range pod.Maps("status", "conditions") {
		if condition.Text("type") == "Ready" {
			ready = condition.Text("status")
		}
	}
	return contentText(untyped.Map{
		"assigned": pod.Text("spec", "nodeName") != "", "phase": pod.Text("status", "phase"), "ready": ready,
		"deleting": isDeleting(pod), "labels": pod.At("metadata", "labels"),
		"cost": pod.Text("metadata", "annotations", "controller.kubernetes.io/pod-deletion-cost"),
	})
}

// byTimer reports whether nothing but timers has led to a reconcile.
func byTimer(causes []trace.Cause) bool {
	isOther := func(c trace.Cause) bool { return c.Type != trace.CauseTimer }
	return len(causes) > 0 && !slices.ContainsFunc(causes, isOther)
}

// changesNothing reports whether the object is already as a write wants it, which no event shows. r.mu must be held.
func (r *run) changesNothing(w *write) bool {
	current := r.object(w.objectID()).current
	switch {
	case current == nil:
		return false
	case w.verb == VerbDelete:
		return isDeleting(current)
	}
	return r.hiding.areAlike(w.objectID().resource, contentOf(current, w.verb), w.content)
}

func (w *write) objectID() objectID {
	return objectID{resourceOf(&w.object), w.object.Namespace, w.object.Name}
}

// accept answers a write by an effect: what comes before it in the history of its object is played first. r.mu must be
// held.
func (r *run) accept(w *write, ev *event, later bool) answer {
	object := r.object(ev.objectID())
	before := object.coming[:max(slices.Index(object.coming, ev), 0)]
	for _, earlier := range before {
		if e := earlier.effect; e != nil && !r.belongsTo(earlier, w.keyID) && !r.key(keyID{e.controller, e.key}).ended {
			r.note("refused, as before comes %s", earlier)
			return conflict(refusedEarly) // the object is changed by another controller before
		}
	}
	ev.made = true
	missing := len(r.key(w.keyID).result.Missing)
	for _, earlier := range slices.Clone(before) {
		if earlier.effect != nil {
			r.judge(earlier, false)
		}
		r.playEvent(earlier)
	}
	if r.err == nil && r.session != nil && !r.timed && len(r.key(w.keyID).result.Missing) > missing {
		r.err = errTimed // a timer may have ended by now that had not when the first was recorded
	}
	k := r.key(keyID{ev.effect.controller, ev.effect.key})
	k.result.Same++
	k.result.Redacted += r.hiding.learn(ev.stream.GroupResource(), ev.content, w.content)
	k.early = 0
	if k.isAhead(ev) {
		k.ahead[sortOf(ev)]++
	}
	if later {
		k.result.Merged++
	}
	r.playEvent(ev)
	if r.err != nil {
		return forbidden(r.err.Error())
	}
	switch {
	case ev.refused != nil:
		return ev.refused.answer()
	case w.verb == VerbDelete:
		return answer{}
	}
	return answer{name: ev.record.Name}
}

// belongsTo reports whether an effect is one of the key, or of its controller with an unknown key.
func (r *run) belongsTo(ev *event, id keyID) bool {
	return ev.effect.controller == id.controller && (ev.effect.key == id.key || ev.effect.key == "")
}

// replayedWrite describes a write of the run. r.mu must be held.
func (r *run) replayedWrite(w *write, changes bool) Write {
	out := Write{Verb: w.verb, Object: w.object, Reconcile: w.reconcile, Causes: r.causes.of(w.reconcile)}
	if !changes || w.verb == VerbDelete {
		return out
	}
	var before untyped.Map
	if current := r.object(w.objectID()).current; current != nil && w.verb != VerbCreate {
		before = contentOf(current, w.verb)
	}
	mask := r.hiding.mask(w.objectID().resource)
	out.Changes, _ = fields.Changes(object(before), object(w.content), mask) // no error: they are JSON values
	return out
}

// nameChange is how a write differs from an effect that is of an object with another name.
func (r *run) nameChange(w *write, ev *event) fields.Change {
	return r.hiding.mask(w.objectID().resource).Change("metadata.name", ev.record.Name, w.object.Name)
}
