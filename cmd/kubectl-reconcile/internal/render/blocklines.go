package render

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// line is a word that says what it is, and the rest.
type line struct {
	word, text string
	tone       Tone // of the word
}

// indent is how far the text of a line stands behind its word.
const indent = "           "

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

// headWord marks the first line of a block, briefWord the only line of a reconcile that has no block.
const (
	headWord  = "head"
	briefWord = "brief"
)

// blockLines are those of a reconcile that has just ended, or is cut off.
func (b *Blocks) blockLines(open *block) []line {
	out := []line{b.head(open.start, b.latest)}
	out = append(out, b.causeLines(open.why)...)
	so := b.initialState(open.events)
	for _, group := range groupWrites(b.withoutRepeatedErrors(open.events)) {
		out = append(out, b.eventLines(group, so)...)
		so = so.after(group)
	}
	return out
}

// initialState is the course of a reconcile before its first event.
func (b *Blocks) initialState(events []*trace.Event) blockState {
	if len(events) == 0 {
		return blockState{} // cut off before anything happened
	}
	end, ok := events[len(events)-1].Detail.(*trace.End)
	if !ok {
		return blockState{}
	}
	conflict := conflictOf(events, end)
	so := blockState{fails: end.Outcome != trace.Done && end.PutOff == "" && conflict == nil}
	if b.brief() {
		so.conflict = conflict
	}
	return so
}

// seconds is the time since the start, in seconds.
func (b *Blocks) seconds(at time.Time) string {
	if b.startAt.IsZero() {
		b.startAt = at
	}
	return fmt.Sprintf("%+.3fs", max(at.Sub(b.startAt), 0).Seconds())
}

// head is the first line of the event's reconcile, at that time.
func (b *Blocks) head(e *trace.Event, at time.Time) line {
	p := b.o.Palette
	key := keyText(e.Key)
	if e.Key != "" {
		key = p.Strong(key)
	}
	text := fmt.Sprintf("%s  %s  %s  %s", p.Dim(b.seconds(at)), e.Controller, key, p.Dim(reconcileNumber(e.Reconcile)))
	return line{word: headWord, text: strings.TrimRight(text, " ")}
}

// keyText is a key, safe for a terminal, or "(by itself)" without one: at a turn of a loop, or outside of any reconcile.
func keyText(key string) string {
	if key == "" {
		return "(by itself)"
	}
	return Escape(key)
}

// unattributedGap is how long what a controller does outside of reconciles is taken for one thing.
const unattributedGap = time.Second

// writeUnattributed writes an event that belongs to no open block, under the head of the one before if they go together.
func (b *Blocks) writeUnattributed(e *trace.Event) {
	if b.folds(e.Time) {
		b.foldUnattributed(e)
		return
	}
	lines := b.eventLines([]*trace.Event{e}, blockState{fails: isUnattributedFailure(e)})
	if last := b.lastUnattributed; last == nil || last.Controller != e.Controller || last.Key != e.Key || last.Reconcile != e.Reconcile ||
		e.Time.Sub(last.Time) > unattributedGap {
		lines = append([]line{b.head(e, e.Time)}, lines...)
	}
	b.write(lines)
	b.lastUnattributed = e
}

// isUnattributedFailure reports whether an event that belongs to no reconcile is a failure: a write that came too late is none.
func isUnattributedFailure(e *trace.Event) bool {
	r, ok := e.Detail.(*trace.Request)
	return !ok || r.Code != http.StatusConflict && r.Code != http.StatusNotFound
}

func reconcileNumber(id trace.ReconcileID) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("#%d", id)
}

// blockState is what a reconcile has come to so far.
type blockState struct {
	// dry are its dry writes, refused those of its writes that were refused, and unsent those that no server got.
	dry, refused, unsent int
	// fails is known from the start: whether it ends with an error, other than the conflict.
	fails bool
	// conflict is the write that it ends with; nil if there is none, or if it is shown like any failure.
	conflict *trace.Request
}

// after is the course after a group of events.
func (c blockState) after(group []*trace.Event) blockState {
	r, ok := group[0].Detail.(*trace.Request)
	if !ok || !r.IsWrite() || r.Recorded != nil {
		return c
	}
	n := len(group)
	if r.DryRun {
		c.dry += n
	}
	if r.NotSent {
		c.unsent += n
	}
	if r.Failed() {
		c.refused += n
	}
	return c
}

// writesText counts the writes of a reconcile that ends: those that were taken, and those that were refused.
func (c blockState) writesText(end *trace.End) string {
	text := counted(end.Writes, "write")
	switch {
	case c.dry == 0 || end.Writes == 0:
	case c.unsent >= end.Writes+end.Refused:
		text += " not sent"
	default:
		text = counted(end.Writes, "dry write")
	}
	if end.Refused > 0 {
		text += fmt.Sprintf(", %d refused", end.Refused)
	}
	return text
}

// groupWrites puts creations in a row of the same kind, with the same answer, together: a burst of pods is one line.
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

func sameWrite(a, b *trace.Event) bool {
	x, ok := a.Detail.(*trace.Request)
	if !ok {
		return false
	}
	y, ok := b.Detail.(*trace.Request)
	return ok && x.Verb == y.Verb && (x.Verb == "create" || x.Verb == "delete") && x.Recorded == nil && y.Recorded == nil &&
		x.Group == y.Group && x.Resource == y.Resource && x.Subresource == y.Subresource &&
		x.Namespace == y.Namespace && x.Code == y.Code && x.Message == y.Message
}

// eventLines are those of a group. so is what the reconcile came to before it.
func (b *Blocks) eventLines(group []*trace.Event, so blockState) []line {
	switch d := group[0].Detail.(type) {
	case *trace.Request:
		return b.requestLines(group, d, so)
	case *trace.Log:
		return []line{b.logLine(group[0].Reconcile, d, so)}
	case *trace.End:
		return []line{b.endLine(d, so)}
	case *trace.Dropped:
		return []line{{"gave up", fmt.Sprintf("after %d retries: %s", d.Retries, b.errorText(d.Error)), ToneTrouble}}
	}
	return nil
}

func (b *Blocks) logLine(reconcile trace.ReconcileID, l *trace.Log, so blockState) line {
	text := Escape(l.Message)
	var values []string
	for _, v := range l.Values {
		values = append(values, Escape(v.Key+" "+Cut(quotedIfEmpty(v.Value), 2*maxValue)))
	}
	if len(values) > 0 {
		text += ": " + strings.Join(values, ", ")
	}
	if l.Error != "" {
		return line{word: "error", text: text + ": " + b.markTrouble(b.errorText(l.Error), so)}
	}
	if l.Level > Normal.LogLevel() || reconcile == 0 || isThrottling(l) {
		return line{word: "logged", text: b.o.Palette.Dim(text)}
	}
	return line{word: "decided", text: text}
}

// markTrouble marks a text if the reconcile that it is of has failed.
func (b *Blocks) markTrouble(text string, so blockState) string {
	if so.fails {
		return b.o.Palette.Trouble(text)
	}
	return text
}

// errorText is an error, safe for a terminal; unless all is asked for, without what an API server says each time.
func (b *Blocks) errorText(text string) string {
	if b.brief() {
		text = Reason(text)
	}
	return Escape(text)
}

func (b *Blocks) endLine(d *trace.End, so blockState) line {
	if so.conflict != nil {
		return line{"conflict", b.o.Palette.Dim(conflictText(so.conflict, d)), ToneDim}
	}
	text := fmt.Sprintf("%s, %s", so.writesText(d), Round(d.Duration)) + nextText(d.Next)
	if d.Outcome == trace.Done {
		return line{"done", b.o.Palette.Dim(text), ToneDim}
	}
	if d.PutOff != "" && b.brief() {
		text += ": its cache of " + Escape(d.PutOff) + " does not show yet what it wrote"
		return line{word: "put off", text: text}
	}
	tone := TonePlain
	if so.fails {
		tone = ToneTrouble
	}
	if d.Error != "" {
		text += ": " + b.markTrouble(b.errorText(d.Error), so)
	}
	switch d.Outcome {
	case trace.GaveUp:
		return line{"gave up", text, tone}
	case trace.Panicked:
		return line{"failed", "panicked; " + text, tone}
	}
	return line{"failed", text, tone}
}

// nextText is the end of a sentence about when a key comes back; empty if it does not by itself.
func nextText(n *trace.Next) string {
	switch {
	case n == nil:
		return ""
	case n.Retry > 0:
		return fmt.Sprintf("; retry %d in %s", n.Retry, Round(n.After))
	}
	return "; again in " + Round(n.After)
}

func counted(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
