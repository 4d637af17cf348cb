package trace

import (
	"fmt"
	"slices"
	"time"
)

// origin is what a reconcile reacts to: the first of its fields that is not zero, or nothing that is known. A change
// from outside makes a step only when there is something to be told of what it led to.
type origin struct {
	step  *Step
	id    ReconcileID // of another reconcile
	watch *Watch      // from outside, at a time
	at    time.Time
}

// originOf returns what a reconcile reacts to: rather a reconcile than a change from outside.
func originOf(e *Event, start *Start) origin {
	for _, c := range start.Causes {
		switch {
		case c.Watch != nil && c.Watch.WrittenBy != 0:
			return origin{id: c.Watch.WrittenBy}
		case c.Reconcile != 0:
			return origin{id: c.Reconcile}
		}
	}
	for _, c := range start.Causes {
		if w := c.Watch; w != nil && !w.Initial && w.Event != Resync {
			return origin{watch: w, at: e.Time}
		}
	}
	return origin{}
}

// stepOf returns the step that something reacts to; nil if there is none. A reconcile that has not ended gets its step
// now: others may see what it wrote before it has an answer.
func (s *Story) stepOf(o origin) *Step {
	switch {
	case o.step != nil:
		return o.step
	case o.watch != nil:
		return s.outside(o.at, o.watch)
	case o.id == 0:
		return nil
	}
	open := s.open[o.id]
	if open == nil {
		before, _ := s.ended.Get(o.id)
		return s.stepOf(before)
	}
	if open.step == nil && !s.isStarting(open.start.Time) {
		open.step = s.enter(open, open.start)
	}
	return open.step
}

// flat returns an origin that does not lead over another reconcile, and keeps no objects.
func (s *Story) flat(o origin) origin {
	if before, ended := s.ended.Get(o.id); ended && s.open[o.id] == nil {
		return before
	}
	if o.watch != nil {
		w := *o.watch
		w.Change = nil
		o.watch = &w
	}
	return o
}

// outside returns the step of who changed something from outside, which has led to a reconcile.
func (s *Story) outside(at time.Time, w *Watch) *Step {
	by := w.Manager.Writer()
	manager := by.Manager
	i := slices.IndexFunc(s.roots, func(r *Step) bool { return r.Controller == "" && r.Manager == manager })
	if i < 0 {
		i, s.roots = len(s.roots), append(s.roots, &Step{Manager: manager})
	}
	key := fmt.Sprint(w.Event, objectKey(w.Object, w.Namespace, w.Name), w.ResourceVersion)
	seen, _ := s.seen.Get(key)
	if seen && len(s.roots[i].Acts) > 0 {
		return s.roots[i]
	}
	s.seen.Put(key, true)
	act := &Act{
		Type: ActSeen, Of: w.Object, Subresource: by.Subresource, Operation: by.Operation, First: at,
		Changes: w.Change.Fields(), Again: seen,
	}
	act.Verb = map[WatchType]string{Added: "create", Modified: "update", Deleted: "delete"}[w.Event]
	s.roots[i].add(act, Named{Namespace: w.Namespace, Name: w.Name}, "", false)
	return s.roots[i]
}
