package render

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Detail says how much of a trace is shown.
type Detail int

// The details. Each shows all that the one before shows.
const (
	// Quiet shows no reconcile at all.
	Quiet Detail = iota
	// Normal shows causes, decisions, writes and outcomes.
	Normal
	// Verbose adds every line logged up to level 4, every read, and all names and fields.
	Verbose
	// Everything adds all that the controllers log.
	Everything
)

// LogLevel is the highest klog level that is shown.
func (d Detail) LogLevel() int {
	switch {
	case d >= Everything:
		return 10
	case d == Verbose:
		return 4
	}
	return 2
}

// BlocksOptions say how a trace is shown.
type BlocksOptions struct {
	Palette Palette
	Detail  Detail
	// Events shows the API Events that controllers record.
	Events bool
	// Aside are controllers whose reconciles are shown only from Verbose on.
	Aside []string
	// Routine are messages, by controller, that tell of no decision: they are shown from Verbose on. So are the reconciles
	// of these controllers that did nothing else and went well.
	Routine map[string][]string
	// Sparing leaves out, up to Normal, the reconciles that wrote nothing and went well, and those that came to the very same
	// dry writes as the last of their key: Blocks.Spared counts them.
	Sparing bool
	// Starting names what starts, such as "41 controllers": up to Normal, what it does before StartAt is told in one line. Empty
	// shows it like the rest.
	Starting string
	// Width is that of the terminal, where longer lines are broken; 0 breaks none.
	Width int
}

// Blocks is a trace.Sink that writes one block of lines a reconcile, when it ends: reconciles that run side by side do
// not mix. A block is stamped with that time, so that time does not run backwards from one to the next.
type Blocks struct {
	o   BlocksOptions
	out io.Writer

	mu      sync.Mutex
	startAt time.Time
	latest  time.Time    // when the last event happened
	alone   *trace.Event // the last that was written, if it belongs to no reconcile
	open    map[trace.ReconcileID]*block
	spared  Spared
	start   folded
	seen    map[string]uint64 // fingerprints of the latest dry writes, with Sparing
	failed  map[string]uint64 // fingerprints of the keys that failed when they were shown last
	said    map[uint64]bool   // fingerprints of errors outside of any reconcile
	last    string            // the word of the last line that was written
	err     error
}

// NewBlocks returns Blocks that write to out.
func NewBlocks(out io.Writer, o BlocksOptions) *Blocks {
	return &Blocks{o: o, out: out, open: map[trace.ReconcileID]*block{}, seen: map[string]uint64{}, failed: map[string]uint64{}, said: map[uint64]bool{}}
}

// StartAt sets the time that blocks count from; until then they count from the first that is shown.
func (b *Blocks) StartAt(t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.startAt = t
}

// block is a reconcile that has not ended.
type block struct {
	start  *trace.Event
	events []*trace.Event
}

// Record implements trace.Sink.
func (b *Blocks) Record(e *trace.Event) {
	if b.o.Detail == Quiet || b.isAside(e) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latest = e.Time
	open := b.open[e.Reconcile]
	switch d := e.Detail.(type) {
	case *trace.Start:
		b.open[e.Reconcile] = &block{start: e}
	case *trace.End:
		if open != nil {
			delete(b.open, e.Reconcile)
			open.events = append(open.events, e)
			if b.folds(open.start.Time) {
				b.foldReconcile(d)
			} else {
				b.ended(open, e, d)
			}
		}
	case *trace.Request:
		b.request(open, e, d)
	case *trace.Log:
		b.append(open, e, b.showsLog(open, e.Controller, d))
	case *trace.Dropped:
		b.append(open, e, true)
	}
}

// ended shows a reconcile that has ended, as much of it as is worth it.
func (b *Blocks) ended(open *block, e *trace.Event, end *trace.End) {
	switch {
	case b.spares(open, e, end) || b.isRoutine(e.Controller, open, end):
	case b.failsAgain(open, e, end):
		b.write(b.again(open, end))
	default:
		b.write(b.lines(open))
	}
}

// isAside says whether the event is of a controller that is not shown, and is none of the Events that are asked for.
func (b *Blocks) isAside(e *trace.Event) bool {
	if b.o.Detail >= Verbose || !slices.Contains(b.o.Aside, e.Controller) {
		return false
	}
	r, ok := e.Detail.(*trace.Request)
	return !ok || r.Recorded == nil
}

// showsLog says whether a line is shown, in its block if it has one.
func (b *Blocks) showsLog(open *block, controller string, l *trace.Log) bool {
	if l.Level > b.o.Detail.LogLevel() {
		return false
	}
	if open == nil {
		return b.showsLone(l) && !b.saidBefore(controller, l)
	}
	return !b.tellsNothing(controller, l)
}

// tellsNothing says whether a line is one of those that are shown only from Verbose on.
func (b *Blocks) tellsNothing(controller string, l *trace.Log) bool {
	return b.o.Detail < Verbose && l.Error == "" && slices.Contains(b.o.Routine[controller], l.Message)
}

// isRoutine says whether a reconcile that ends is left out: it is of a controller with routine, and nothing of it would
// be shown but that it was.
func (b *Blocks) isRoutine(controller string, open *block, end *trace.End) bool {
	if b.o.Detail >= Verbose || b.o.Routine[controller] == nil || len(b.worthShowing(open.events)) > 1 {
		return false
	}
	_, waits := lagging(end.Error)
	return end.Outcome == trace.Done || end.Outcome == trace.Failed && waits
}

// showsLone says whether a line is shown that belongs to no reconcile. Mostly it is "starting" and "shutting down"; errors of
// a start that is cut off come before the run has begun, and at its end those that say no more than that it has ended. What
// a controller tells of its machinery in detail would drown the reconciles.
func (b *Blocks) showsLone(l *trace.Log) bool {
	if b.o.Detail >= Everything || b.o.Detail == Verbose && l.Level <= Normal.LogLevel() {
		return true
	}
	return l.Error != "" && !b.startAt.IsZero() && !strings.HasSuffix(l.Error, context.Canceled.Error())
}

// append adds the event to its block, or writes it alone if there is none.
func (b *Blocks) append(open *block, e *trace.Event, shown bool) {
	switch {
	case !shown:
	case open != nil:
		open.events = append(open.events, e)
	default:
		b.writeLone(e)
	}
}

func (b *Blocks) request(open *block, e *trace.Event, r *trace.Request) {
	switch {
	case r.Recorded != nil:
		b.append(nil, e, b.o.Events && !uncounted(r)) // sent later than its reconcile ends
	case r.IsWrite():
		b.append(open, e, open != nil || !b.sparesLone(e, r))
	default:
		b.append(open, e, b.o.Detail >= Verbose)
	}
}

// uncounted says whether a repetition of an Event could not be counted only because a dry run kept none.
func uncounted(r *trace.Request) bool {
	return r.DryRun && r.Verb == "patch" && r.Code == http.StatusNotFound
}

// Close writes the reconciles that have not ended, and says whether all was written.
func (b *Blocks) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	unfinished := make([]*block, 0, len(b.open))
	for _, open := range b.open {
		unfinished = append(unfinished, open)
	}
	slices.SortFunc(unfinished, func(x, y *block) int { return x.start.Time.Compare(y.start.Time) })
	for _, open := range unfinished {
		b.write(append(b.lines(open), line{"cut off", b.o.Palette.Trouble("the session ended before this reconcile did")}))
	}
	clear(b.open)
	b.write(nil) // of the start, if nothing came after it
	return b.err
}

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

// worthShowing leaves out the lines that only log the error that the end tells too.
func (b *Blocks) worthShowing(events []*trace.Event) []*trace.Event {
	if len(events) == 0 {
		return nil // cut off before anything happened
	}
	end, ok := events[len(events)-1].Detail.(*trace.End)
	if !ok || end.Error == "" || b.o.Detail >= Verbose {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(e *trace.Event) bool {
		log, ok := e.Detail.(*trace.Log)
		return ok && (log.Error == end.Error || slices.ContainsFunc(log.Values, func(v trace.Value) bool { return v.Value == end.Error }))
	})
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
