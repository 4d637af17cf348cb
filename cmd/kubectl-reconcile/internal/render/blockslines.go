package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// line is a word that says what it is, and the rest.
type line struct{ word, text string }

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
		case againWord:
			if b.last != againWord {
				fmt.Fprintln(&text)
			}
			fmt.Fprintln(&text, Wrap(l.text, b.o.Width, indent))
		default:
			word := fmt.Sprintf("  %-9s", l.word)
			if l.word == "failed" || l.word == "gave up" || l.word == "cut off" {
				word = b.o.Palette.Trouble(word)
			}
			fmt.Fprintln(&text, Wrap(strings.TrimRight(word+l.text, " "), b.o.Width, indent))
		}
		b.last = l.word
	}
	if _, err := io.WriteString(b.out, text.String()); err != nil && b.err == nil {
		b.err = err
	}
}

// headWord marks the first line of a block; no other line has it.
const headWord = "head"

// lines are those of a reconcile that has just ended, or is cut off.
func (b *Blocks) lines(open *block) []line {
	out := []line{b.head(open.start, b.latest)}
	out = append(out, b.causes(open.start.Detail.(*trace.Start))...)
	var so course
	for _, group := range groupWrites(b.worthShowing(open.events)) {
		out = append(out, b.eventLines(group, so)...)
		so = so.after(group)
	}
	return out
}

// stamp is the time since the start, in seconds.
func (b *Blocks) stamp(at time.Time) string {
	if b.startAt.IsZero() {
		b.startAt = at
	}
	return b.o.Palette.Dim(fmt.Sprintf("%+.3fs", max(at.Sub(b.startAt), 0).Seconds()))
}

// head is the first line of what is told of the event's reconcile, at that time.
func (b *Blocks) head(e *trace.Event, at time.Time) line {
	p := b.o.Palette
	key := p.Strong(Escape(e.Key))
	if e.Key == "" {
		key = byItself
	}
	text := fmt.Sprintf("%s  %s  %s  %s", b.stamp(at), e.Controller, key, p.Dim(number(e.Reconcile)))
	return line{headWord, strings.TrimRight(text, " ")}
}

// byItself stands for the key of what a controller does by no key: at a turn of its own, or outside of any reconcile.
const byItself = "(by itself)"

// together is how long what a controller does outside of reconciles is taken for one thing.
const together = time.Second

// writeLone writes an event that belongs to no open block, under the head of the one before if they go together.
func (b *Blocks) writeLone(e *trace.Event) {
	if b.folds(e.Time) {
		b.foldLone(e)
		return
	}
	lines := b.eventLines([]*trace.Event{e}, course{})
	if last := b.alone; last == nil || last.Controller != e.Controller || last.Key != e.Key || last.Reconcile != e.Reconcile ||
		e.Time.Sub(last.Time) > together {
		lines = append([]line{b.head(e, e.Time)}, lines...)
	}
	b.write(lines)
	b.alone = e
}

func number(id trace.ReconcileID) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("#%d", id)
}
