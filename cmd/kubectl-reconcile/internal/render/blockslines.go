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
	b.alone = nil
	var text strings.Builder
	text.WriteString(b.startLine())
	for _, l := range lines {
		switch l.word {
		case headWord:
			fmt.Fprintf(&text, "\n%s\n", Wrap(l.text, b.o.Width, indent))
		case briefWord:
			if b.last != briefWord {
				fmt.Fprintln(&text)
			}
			fmt.Fprintln(&text, Wrap(l.text, b.o.Width, indent))
		default:
			word := b.o.Palette.Paint(l.tone, fmt.Sprintf("  %-9s", l.word))
			fmt.Fprintln(&text, Wrap(strings.TrimRight(word+l.text, " "), b.o.Width, indent))
		}
		b.last = l.word
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

// lines are those of a reconcile that has just ended, or is cut off.
func (b *Blocks) lines(open *block) []line {
	out := []line{b.head(open.start, b.latest)}
	out = append(out, b.causes(open.why)...)
	so := b.begin(open.events)
	for _, group := range groupWrites(b.worthShowing(open.events)) {
		out = append(out, b.eventLines(group, so)...)
		so = so.after(group)
	}
	return out
}

// begin is the course of a reconcile before its first event.
func (b *Blocks) begin(events []*trace.Event) course {
	if len(events) == 0 {
		return course{} // cut off before anything happened
	}
	end, ok := events[len(events)-1].Detail.(*trace.End)
	if !ok {
		return course{}
	}
	conflict := conflictOf(events, end)
	so := course{fails: end.Outcome != trace.Done && end.PutOff == "" && conflict == nil}
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
	text := fmt.Sprintf("%s  %s  %s  %s", p.Dim(b.seconds(at)), e.Controller, key, p.Dim(number(e.Reconcile)))
	return line{word: headWord, text: strings.TrimRight(text, " ")}
}

// keyText is a key, safe for a terminal, or "(by itself)" without one: at a turn of a loop, or outside of any reconcile.
func keyText(key string) string {
	if key == "" {
		return "(by itself)"
	}
	return Escape(key)
}

// together is how long what a controller does outside of reconciles is taken for one thing.
const together = time.Second

// writeLone writes an event that belongs to no open block, under the head of the one before if they go together.
func (b *Blocks) writeLone(e *trace.Event) {
	if b.folds(e.Time) {
		b.foldLone(e)
		return
	}
	lines := b.eventLines([]*trace.Event{e}, course{fails: failsLone(e)})
	if last := b.alone; last == nil || last.Controller != e.Controller || last.Key != e.Key || last.Reconcile != e.Reconcile ||
		e.Time.Sub(last.Time) > together {
		lines = append([]line{b.head(e, e.Time)}, lines...)
	}
	b.write(lines)
	b.alone = e
}

// failsLone reports whether an event that belongs to no reconcile is a failure: a write that came too late is none.
func failsLone(e *trace.Event) bool {
	r, ok := e.Detail.(*trace.Request)
	return !ok || r.Code != http.StatusConflict && r.Code != http.StatusNotFound
}

func number(id trace.ReconcileID) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("#%d", id)
}
