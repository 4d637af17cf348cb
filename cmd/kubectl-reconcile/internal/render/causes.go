package render

import (
	"fmt"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// maxCauses bounds the causes that are shown of one reconcile up to Normal.
const maxCauses = 3

// causeLines returns a line for each cause of a reconcile, and one that counts those that are not shown. b.mu must be
// held.
func (b *Blocks) causeLines(s *trace.Start) []line {
	var out []line
	causes, more := s.Causes, s.MoreCauses
	if b.brief() && len(causes) > maxCauses {
		causes, more = causes[:maxCauses], more+len(causes)-maxCauses
	}
	for _, c := range causes {
		out = append(out, line{text: b.causeLine(c)})
	}
	if more > 0 {
		out = append(out, line{text: fmt.Sprintf("and %d more", more)})
	}
	if len(out) == 0 {
		out = append(out, line{text: "its cause was not seen"})
	}
	out[0].word = "because"
	return out
}

// causeLine returns a cause, who added the key for it, and who wrote what was watched.
func (b *Blocks) causeLine(c trace.Cause) string {
	text := b.causeText(c)
	if c.Handler != "" {
		text += ", " + handlerVerb(c) + Escape(c.Handler)
	}
	if c.Type == trace.CauseTimer && c.Watch != nil {
		text += ", delayed by " + FormatDuration(c.Delay)
	}
	if by := b.writer(c.Watch); by != "" {
		text += b.o.Palette.Dim("   written by " + by)
	}
	return text
}

// writer names the controller that wrote what was watched, and its reconcile if that has a block; it is empty if the
// write was none of this run.
func (b *Blocks) writer(w *trace.Watch) string {
	switch {
	case w == nil || w.WrittenBy == 0:
		return ""
	case b.writerShown(w):
		return strings.TrimSpace(w.Writer + " " + reconcileNumber(w.WrittenBy))
	}
	return w.Writer
}

// handlerVerb returns how a handler is named: one that was called with a watch event saw it, others added the key.
func handlerVerb(c trace.Cause) string {
	if c.Type == trace.CauseWatch || c.Watch != nil {
		return "seen by "
	}
	return "added by "
}

// causeText returns what happened, without who reacted to it.
func (b *Blocks) causeText(c trace.Cause) string {
	switch c.Type {
	case trace.CauseWatch:
		return b.watch(c.Watch)
	case trace.CauseRetry:
		return fmt.Sprintf("retry %d%s, after %s", c.Retry, b.ifShown(" of ", c.Reconcile), FormatDuration(c.Delay))
	case trace.CauseTimer:
		if c.Watch != nil {
			return b.watch(c.Watch)
		}
		if c.Delay == 0 {
			return "its own timer" // a loop of the controller; no reconcile set it
		}
		return fmt.Sprintf("timer of %s%s", FormatDuration(c.Delay), b.ifShown(" set by ", c.Reconcile))
	case trace.CauseReconcile:
		return b.reconcile(c.Reconcile)
	}
	return "the controller itself"
}

// ifShown returns a word and the number of a reconcile; empty if that has no block.
func (b *Blocks) ifShown(word string, id trace.ReconcileID) string {
	if id == 0 || !b.shows(id) {
		return ""
	}
	return word + reconcileNumber(id)
}

// reconcile names a reconcile by its number, or by its key if it has no block.
func (b *Blocks) reconcile(id trace.ReconcileID) string {
	ended, known := b.ended.Get(id)
	open := b.openBlocks[id]
	switch {
	case b.shows(id):
		return "reconcile " + reconcileNumber(id)
	case open != nil:
		return "reconcile of " + keyText(open.start.Key)
	case known:
		return "reconcile of " + keyText(ended.key)
	}
	return "another reconcile"
}

// watch spells a watch event: its object, and what changed unless the block of the writer shows that.
func (b *Blocks) watch(w *trace.Watch) string {
	if w == nil {
		return "a watch event"
	}
	text := fmt.Sprintf("%s %s %s v%s", w.Event, w.Kind, Escape(w.Name), w.ResourceVersion)
	if w.Initial {
		text += " (there before the start)"
	}
	o := ChangesOptions{Limit: 3}
	if !b.brief() {
		o = ChangesOptions{All: true}
	}
	var changes string
	if !b.brief() || !b.writerShown(w) { // else the block of the writer shows them
		changes = Changes(w.Change.Fields(), o)
	}
	by := ""
	if m := w.Manager.Writer(); m.Manager != "" && m.Manager != b.o.FieldManager {
		by = " by " + Escape(m.Manager) + howText(m.Operation, m.Subresource)
	}
	if changes != "" {
		return text + " (" + b.o.Palette.Change(changes) + by + ")"
	}
	return text + by
}
