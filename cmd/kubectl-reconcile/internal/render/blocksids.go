package render

import "github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"

// endedReconcile is what is remembered of a reconcile that has ended.
type endedReconcile struct {
	key   string
	shown bool // it has a block, or a line
}

// shows reports whether a reconcile is known to have a block, so that others may point at it. b.mu must be held.
func (b *Blocks) shows(id trace.ReconcileID) bool {
	ended, _ := b.ids.get(id)
	return ended.shown || !b.brief()
}

// writerShown reports whether the reconcile that wrote what was watched has a block, or will have one: one that has
// written is shown when it ends. b.mu must be held.
func (b *Blocks) writerShown(w *trace.Watch) bool {
	open := b.open[w.WrittenBy]
	return w.WrittenBy != 0 && (b.shows(w.WrittenBy) || open != nil && !b.folds(open.start.Time))
}

// remember keeps why a reconcile was made that has no block and is tried again: the next try is made for that. As much is
// kept as is shown of one reconcile.
func (b *Blocks) remember(id trace.ReconcileID, why *trace.Start) {
	if more := len(why.Causes) - mostCauses; more > 0 {
		why.Causes, why.MoreCauses = why.Causes[:mostCauses:mostCauses], why.MoreCauses+more
	}
	b.putOff.put(id, why)
}

// origin is a start with the causes of reconciles without a block in the place of the retries that they led to.
func (b *Blocks) origin(s *trace.Start) *trace.Start {
	out := *s
	out.Causes = nil
	for _, c := range s.Causes {
		first, known := b.putOff.get(c.Reconcile)
		if c.Type != trace.CauseRetry || !known {
			out.Causes = append(out.Causes, c)
			continue
		}
		b.putOff.drop(c.Reconcile)
		out.Causes = append(out.Causes, first.Causes...)
		out.MoreCauses += first.MoreCauses
	}
	return &out
}
