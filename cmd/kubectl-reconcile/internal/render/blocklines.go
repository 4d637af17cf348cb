package render

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// line is a line of a block: a word that classifies it, such as "because" or "create", and the rest.
type line struct {
	word, text string
	tone       Tone // of the word
}

// indent is as wide as the column of words.
const indent = "           "

// write writes lines, after the line that sums up the start if that is due, in one write. b.mu must be held.
func (b *Blocks) write(lines []line) {
	b.lastUnattributed = nil
	var text strings.Builder
	text.WriteString(b.startLine())
	for _, l := range lines {
		switch l.word {
		case headWord:
			fmt.Fprintf(&text, "\n%s\n", Wrap(l.text, b.o.Width, indent))
		case briefWord:
			if b.lastWord != briefWord {
				fmt.Fprintln(&text)
			}
			fmt.Fprintln(&text, Wrap(l.text, b.o.Width, indent))
		default:
			word := b.o.Palette.Paint(l.tone, fmt.Sprintf("  %-9s", l.word))
			fmt.Fprintln(&text, Wrap(strings.TrimRight(word+l.text, " "), b.o.Width, indent))
		}
		b.lastWord = l.word
	}
	if _, err := io.WriteString(b.out, text.String()); err != nil && b.err == nil {
		b.err = err
	}
}

// The words of lines that are written without their word: headWord of the first line of a block, briefWord of the only
// line of a reconcile without a block. Brief lines that follow each other have no blank line between them.
const (
	headWord  = "head"
	briefWord = "brief"
)

// blockLines returns the lines of a reconcile that has just ended, or has not ended when the session does.
func (b *Blocks) blockLines(open *block) []line {
	out := []line{b.head(open.start, b.latest)}
	out = append(out, b.causeLines(open.why)...)
	state := b.initialState(open.events)
	for _, group := range groupWrites(b.withoutRepeatedErrors(open.events)) {
		out = append(out, b.eventLines(group, state)...)
		state = state.after(group)
	}
	return out
}

// initialState returns the state of a block before its first event.
func (b *Blocks) initialState(events []*trace.Event) blockState {
	if len(events) == 0 {
		return blockState{} // the session ended before anything happened
	}
	end, ok := events[len(events)-1].Detail.(*trace.End)
	if !ok {
		return blockState{}
	}
	conflict := conflictOf(events, end)
	state := blockState{fails: end.Outcome != trace.Done && end.PutOff == "" && conflict == nil}
	if b.brief() {
		state.conflict = conflict
	}
	return state
}

// seconds returns the time since the start, which is the time of the first call if StartAt was not called. b.mu must be
// held.
func (b *Blocks) seconds(at time.Time) string {
	if b.startAt.IsZero() {
		b.startAt = at
	}
	return fmt.Sprintf("%+.3fs", max(at.Sub(b.startAt), 0).Seconds())
}

// head returns the first line of a block: when, which controller, which key, and the number of the reconcile.
func (b *Blocks) head(e *trace.Event, at time.Time) line {
	p := b.o.Palette
	key := keyText(e.Key)
	if e.Key != "" {
		key = p.Strong(key)
	}
	text := fmt.Sprintf("%s  %s  %s  %s", p.Dim(b.seconds(at)), e.Controller, key, p.Dim(reconcileNumber(e.Reconcile)))
	return line{word: headWord, text: strings.TrimRight(text, " ")}
}

// keyText returns a key, safe for a terminal, or "(by itself)" if it is empty: as in an iteration of a timer loop, or
// outside of any reconcile.
func keyText(key string) string {
	if key == "" {
		return "(by itself)"
	}
	return Escape(key)
}

// unattributedGap is how close events of a controller outside of reconciles must be to share a head.
const unattributedGap = time.Second

// writeUnattributed writes an event that belongs to no open block, under the head of the event before it if that is
// of the same controller and close in time. b.mu must be held.
func (b *Blocks) writeUnattributed(e *trace.Event) {
	if b.folds(e.Time) {
		b.foldUnattributed(e)
		return
	}
	lines := b.eventLines([]*trace.Event{e}, blockState{fails: isUnattributedFailure(e)})
	if last := b.lastUnattributed; last == nil || last.Controller != e.Controller || last.Key != e.Key ||
		last.Reconcile != e.Reconcile || e.Time.Sub(last.Time) > unattributedGap {
		lines = append([]line{b.head(e, e.Time)}, lines...)
	}
	b.write(lines)
	b.lastUnattributed = e
}

// isUnattributedFailure reports whether an event that belongs to no reconcile is marked as a failure. A write that
// came too late, to an object that has changed or is gone, is not: the controller looks again anyway.
func isUnattributedFailure(e *trace.Event) bool {
	r, ok := e.Detail.(*trace.Request)
	return !ok || r.Code != http.StatusConflict && r.Code != http.StatusNotFound
}

// reconcileNumber returns the number by which blocks name a reconcile; empty outside of reconciles.
func reconcileNumber(id trace.ReconcileID) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("#%d", id)
}

// blockState is what the lines of a block depend on besides their own event: what the reconcile has done before it, and
// how it ends.
type blockState struct {
	// dry, refused and unsent count the writes so far that were dry, were refused, or were not sent to any server.
	dry, refused, unsent int
	// fails reports whether the reconcile ends with an error other than the conflict.
	fails bool
	// conflict is the write whose conflict it ends with; nil if there is none, or if it is shown like any failure.
	conflict *trace.Request
}

// after returns the state after a group of events.
func (s blockState) after(group []*trace.Event) blockState {
	r, ok := group[0].Detail.(*trace.Request)
	if !ok || !r.IsWrite() || r.Recorded != nil {
		return s
	}
	n := len(group)
	if r.DryRun {
		s.dry += n
	}
	if r.NotSent {
		s.unsent += n
	}
	if r.Failed() {
		s.refused += n
	}
	return s
}

// writesText spells how many writes of a reconcile were accepted, and how many refused.
func (s blockState) writesText(end *trace.End) string {
	text := counted(end.Writes, "write")
	switch {
	case s.dry == 0 || end.Writes == 0:
	case s.unsent >= end.Writes+end.Refused:
		text += " not sent"
	default:
		text = counted(end.Writes, "dry write")
	}
	if end.Refused > 0 {
		text += fmt.Sprintf(", %d refused", end.Refused)
	}
	return text
}

// groupWrites groups consecutive creations or deletions of the same kind with the same answer: a burst of pods is one
// line.
func groupWrites(events []*trace.Event) [][]*trace.Event {
	var out [][]*trace.Event
	for _, e := range events {
		if last := len(out) - 1; last >= 0 && sameWrite(out[last][0], e) {
			out[last] = append(out[last], e)
			continue
		}
		out = append(out, []*trace.Event{e})
	}
	return out
}

// sameWrite reports whether two events are creations, or deletions, of the same resource with the same answer.
func sameWrite(a, b *trace.Event) bool {
	x, ok := a.Detail.(*trace.Request)
	if !ok {
		return false
	}
	y, ok := b.Detail.(*trace.Request)
	return ok && x.Verb == y.Verb && (x.Verb == "create" || x.Verb == "delete") &&
		x.Recorded == nil && y.Recorded == nil &&
		x.Group == y.Group && x.Resource == y.Resource && x.Subresource == y.Subresource &&
		x.Namespace == y.Namespace && x.Code == y.Code && x.Message == y.Message
}

// eventLines returns the lines of a group of events; state is that before the group.
func (b *Blocks) eventLines(group []*trace.Event, state blockState) []line {
	switch d := group[0].Detail.(type) {
	case *trace.Request:
		return b.requestLines(group, d, state)
	case *trace.Log:
		return []line{b.logLine(group[0].Reconcile, d, state)}
	case *trace.End:
		return []line{b.endLine(d, state)}
	case *trace.Dropped:
		return []line{{"gave up", fmt.Sprintf("after %d retries: %s", d.Retries, b.errorText(d.Error)), ToneTrouble}}
	}
	return nil
}

// logLine returns a log line: "error", "decided" for what the controller logs at its usual levels while it
// reconciles, or "logged" for all else.
func (b *Blocks) logLine(reconcile trace.ReconcileID, l *trace.Log, state blockState) line {
	text := Escape(l.Message)
	var values []string
	for _, v := range l.Values {
		values = append(values, Escape(v.Key+" "+Cut(quotedIfEmpty(v.Value), 2*maxValue)))
	}
	if len(values) > 0 {
		text += ": " + strings.Join(values, ", ")
	}
	if l.Error != "" {
		return line{word: "error", text: text + ": " + b.markTrouble(b.errorText(l.Error), state)}
	}
	if l.Level > Normal.LogLevel() || reconcile == 0 || isThrottling(l) {
		return line{word: "logged", text: b.o.Palette.Dim(text)}
	}
	return line{word: "decided", text: text}
}

// markTrouble colours a text if the reconcile that it belongs to fails.
func (b *Blocks) markTrouble(text string, state blockState) string {
	if state.fails {
		return b.o.Palette.Trouble(text)
	}
	return text
}

// errorText returns an error, safe for a terminal and, up to Normal, without the phrases that an API server adds to
// each.
func (b *Blocks) errorText(text string) string {
	if b.brief() {
		text = TrimAPIError(text)
	}
	return Escape(text)
}

// endLine returns the last line of a block: the outcome, the counts of writes, how long it took and what is next.
func (b *Blocks) endLine(d *trace.End, state blockState) line {
	if state.conflict != nil {
		return line{"conflict", b.o.Palette.Dim(conflictText(state.conflict, d)), ToneDim}
	}
	text := fmt.Sprintf("%s, %s", state.writesText(d), FormatDuration(d.Duration)) + nextText(d.Next)
	if d.Outcome == trace.Done {
		return line{"done", b.o.Palette.Dim(text), ToneDim}
	}
	if d.PutOff != "" && b.brief() {
		text += ": its cache of " + Escape(d.PutOff) + " does not show yet what it wrote"
		return line{word: "put off", text: text}
	}
	tone := TonePlain
	if state.fails {
		tone = ToneTrouble
	}
	if d.Error != "" {
		text += ": " + b.markTrouble(b.errorText(d.Error), state)
	}
	switch d.Outcome {
	case trace.GaveUp:
		return line{"gave up", text, tone}
	case trace.Panicked:
		return line{"failed", "panicked; " + text, tone}
	}
	return line{"failed", text, tone}
}

// nextText spells when a key is reconciled again, as the end of a sentence; it is empty if nothing is scheduled.
func nextText(n *trace.Next) string {
	switch {
	case n == nil:
		return ""
	case n.Retry > 0:
		return fmt.Sprintf("; retry %d in %s", n.Retry, FormatDuration(n.After))
	}
	return "; again in " + FormatDuration(n.After)
}

// counted spells a number of things: "no writes", "1 write", "2 writes".
func counted(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
