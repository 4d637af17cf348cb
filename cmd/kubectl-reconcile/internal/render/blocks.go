package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// BlocksOptions say how a trace is shown.
type BlocksOptions struct {
	Palette Palette
	Detail  Detail
	// Events shows the API Events that controllers record.
	Events bool
	// Aside are controllers whose reconciles are shown only from Verbose on.
	Aside []string
	// Routine are messages, by controller, that are no decision: they are shown from Verbose on.
	Routine map[string][]string
	// Author is the field manager of the objects that the run itself applies: causes do not name it.
	Author string
	// Starting names what starts, such as "41 controllers": up to Normal, what it does before StartAt is told in one line. Empty
	// shows it like the rest.
	Starting string
	// Width is that of the terminal, where longer lines are broken; 0 breaks none.
	Width int
}

// Blocks is a trace.Sink that writes one block of lines a reconcile, when it ends: reconciles that run side by side do
// not mix. A block is stamped with that time, so that time does not run backwards from one to the next. Up to Normal a
// reconcile that wrote nothing and went well has none, and a conflict has one line.
type Blocks struct {
	o   BlocksOptions
	out io.Writer

	mu               sync.Mutex
	startAt          time.Time
	latest           time.Time    // when the last event happened
	lastUnattributed *trace.Event // the last that was written, if it belongs to no reconcile
	openBlocks       map[trace.ReconcileID]*block
	ended            recentMap[trace.ReconcileID, endedReconcile]
	putOff           recentMap[trace.ReconcileID, *trace.Start] // of reconciles without a block, until they are tried again
	notShown         NotShown
	startCounts      startTotals
	lastDryWrites    recentMap[string, uint64]   // fingerprints of the latest dry writes
	lastFailures     recentMap[string, uint64]   // fingerprints of the keys that failed when they were shown last
	loggedErrors     recentMap[uint64, struct{}] // fingerprints of errors outside of any reconcile
	lastWord         string                      // the word of the last line that was written
	err              error
}

// NewBlocks returns Blocks that write to out.
func NewBlocks(out io.Writer, o BlocksOptions) *Blocks {
	return &Blocks{
		o: o, out: out, openBlocks: map[trace.ReconcileID]*block{},
		ended:         recentMap[trace.ReconcileID, endedReconcile]{capacity: maxRecent},
		putOff:        recentMap[trace.ReconcileID, *trace.Start]{capacity: maxPutOff},
		lastDryWrites: recentMap[string, uint64]{capacity: maxRecent},
		lastFailures:  recentMap[string, uint64]{capacity: maxRecent},
		loggedErrors:  recentMap[uint64, struct{}]{capacity: maxRecent},
	}
}

// StartAt sets the time that blocks count from; until then they count from the first that is shown.
func (b *Blocks) StartAt(t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.startAt = t
}

// brief reports whether only what matters is shown.
func (b *Blocks) brief() bool { return b.o.Detail < Verbose }

// block is a reconcile that has not ended.
type block struct {
	start  *trace.Event
	why    *trace.Start // what start holds, with the causes that are shown
	events []*trace.Event
}

// Record implements trace.Sink.
func (b *Blocks) Record(e *trace.Event) {
	if b.o.Detail == Quiet || b.isHidden(e) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latest = e.Time
	open := b.openBlocks[e.Reconcile]
	switch d := e.Detail.(type) {
	case *trace.Start:
		b.openBlocks[e.Reconcile] = &block{start: e, why: b.originalStart(d)}
	case *trace.End:
		if open != nil {
			open.events = append(open.events, e)
			b.recordEnd(open, e, d)
			delete(b.openBlocks, e.Reconcile)
		}
	case *trace.Request:
		b.recordRequest(open, e, d)
	case *trace.Log:
		b.appendEvent(open, e, b.showsLog(open, e.Controller, d))
	case *trace.Dropped:
		b.appendEvent(open, e, true)
	}
}

// recordEnd shows a reconcile that has ended, as much of it as is worth it.
func (b *Blocks) recordEnd(open *block, e *trace.Event, end *trace.End) {
	if b.folds(open.start.Time) {
		b.foldReconcile(end)
		return
	}
	again := b.repeatsFailure(open, e, end)
	switch {
	case b.brief() && b.omits(open, e, end):
		b.ended.put(e.Reconcile, endedReconcile{e.Key, false})
		return
	case again:
		b.write(b.repeatedFailureLine(open, end))
	case b.brief() && !hasAcceptedWrite(open.events) && conflictOf(open.events, end) != nil:
		b.write(b.conflictLine(open, end))
	default:
		b.write(b.blockLines(open))
	}
	b.ended.put(e.Reconcile, endedReconcile{e.Key, true})
}

// appendEvent adds the event to its block, or writes it alone if there is none.
func (b *Blocks) appendEvent(open *block, e *trace.Event, shown bool) {
	switch {
	case !shown:
	case open != nil:
		open.events = append(open.events, e)
	default:
		b.writeUnattributed(e)
	}
}

func (b *Blocks) recordRequest(open *block, e *trace.Event, r *trace.Request) {
	switch {
	case r.Recorded != nil:
		b.appendEvent(nil, e, b.o.Events && !isFailedEventCount(r)) // sent later than its reconcile ends
	case r.IsWrite():
		b.appendEvent(open, e, open != nil || !b.repeatsUnattributedWrite(e, r))
	default:
		b.appendEvent(open, e, !b.brief())
	}
}

// Close writes the reconciles that have not ended, and returns the first error of a write.
func (b *Blocks) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	unfinished := make([]*block, 0, len(b.openBlocks))
	for _, open := range b.openBlocks {
		unfinished = append(unfinished, open)
	}
	slices.SortFunc(unfinished, func(x, y *block) int { return x.start.Time.Compare(y.start.Time) })
	for _, open := range unfinished {
		b.write(append(b.blockLines(open), line{word: "cut off", text: "the session ended before this reconcile did"}))
	}
	clear(b.openBlocks)
	b.write(nil) // of the start, if nothing came after it
	return b.err
}

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

// endedReconcile is what is remembered of a reconcile that has ended.
type endedReconcile struct {
	key   string
	shown bool // it has a block, or a line
}

// shows reports whether a reconcile is known to have a block, so that others may point at it. b.mu must be held.
func (b *Blocks) shows(id trace.ReconcileID) bool {
	ended, _ := b.ended.get(id)
	return ended.shown || !b.brief()
}

// writerShown reports whether the reconcile that wrote what was watched has a block, or will have one: one that has
// written is shown when it ends. b.mu must be held.
func (b *Blocks) writerShown(w *trace.Watch) bool {
	open := b.openBlocks[w.WrittenBy]
	return w.WrittenBy != 0 && (b.shows(w.WrittenBy) || open != nil && !b.folds(open.start.Time))
}

// rememberCauses keeps why a reconcile was made that has no block and is tried again: the next try is made for that. As much is
// kept as is shown of one reconcile.
func (b *Blocks) rememberCauses(id trace.ReconcileID, why *trace.Start) {
	if more := len(why.Causes) - maxCauses; more > 0 {
		why.Causes, why.MoreCauses = why.Causes[:maxCauses:maxCauses], why.MoreCauses+more
	}
	b.putOff.put(id, why)
}

// originalStart is a start with the causes of reconciles without a block in the place of the retries that they led to.
func (b *Blocks) originalStart(s *trace.Start) *trace.Start {
	out := *s
	out.Causes = nil
	for _, c := range s.Causes {
		first, known := b.putOff.get(c.Reconcile)
		if c.Type != trace.CauseRetry || !known {
			out.Causes = append(out.Causes, c)
			continue
		}
		b.putOff.delete(c.Reconcile)
		out.Causes = append(out.Causes, first.Causes...)
		out.MoreCauses += first.MoreCauses
	}
	return &out
}

// startTotals counts what BlocksOptions.Starting folds into one line.
type startTotals struct{ reconciles, failed, writes int }

// folds reports whether what happened then is part of the start. b.mu must be held.
func (b *Blocks) folds(at time.Time) bool {
	return b.o.Starting != "" && b.brief() && (b.startAt.IsZero() || at.Before(b.startAt))
}

// foldReconcile counts a reconcile that has ended.
func (b *Blocks) foldReconcile(end *trace.End) {
	b.startCounts.reconciles++
	b.startCounts.writes += end.Writes
	if end.Outcome != trace.Done && end.PutOff == "" {
		b.startCounts.failed++
	}
}

// foldUnattributed counts what belongs to no reconcile.
func (b *Blocks) foldUnattributed(e *trace.Event) {
	if r, ok := e.Detail.(*trace.Request); ok && r.IsWrite() && r.Recorded == nil && !r.Failed() {
		b.startCounts.writes++
	}
}

// startLine tells of the start, once it is over; empty if there is nothing to tell.
func (b *Blocks) startLine() string {
	if b.startCounts == (startTotals{}) || b.startAt.IsZero() {
		return ""
	}
	parts := []string{counted(b.startCounts.reconciles, "reconcile")}
	if b.startCounts.failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", b.startCounts.failed))
	}
	parts = append(parts, counted(b.startCounts.writes, "write"))
	b.startCounts = startTotals{}
	line := fmt.Sprintf("%s started: %s; -v shows them", b.o.Starting, strings.Join(parts, ", "))
	return "\n" + Wrap(line, b.o.Width, indent) + "\n"
}
