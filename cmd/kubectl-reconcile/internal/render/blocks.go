package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/recent"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Detail is how much of a trace is shown.
type Detail int

// The levels of detail. Each shows all that the one before it shows.
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

// LogLevel returns the highest klog level that is shown.
func (d Detail) LogLevel() int {
	switch {
	case d >= Everything:
		return 10
	case d == Verbose:
		return 4
	}
	return 2
}

// BlocksOptions are the options of Blocks.
type BlocksOptions struct {
	Palette Palette
	Detail  Detail
	// Events shows the API Events that controllers record.
	Events bool
	// VerboseOnly are the controllers whose reconciles are shown only from Verbose on, such as the simulated kubelet.
	VerboseOnly []string
	// NoisyLogMessages are log messages, by controller, that report no decision: they are shown only from Verbose on.
	NoisyLogMessages map[string][]string
	// FieldManager is the field manager that the run itself applies objects with: causes do not name it.
	FieldManager string
	// Starting names what starts, such as "41 controllers": up to Normal, what it does before the time of StartAt is
	// summed up in one line. If it is empty, that is shown like the rest.
	Starting string
	// Width is the width of the terminal, at which lines are wrapped; 0 wraps none.
	Width int
}

// Blocks is a trace.Sink that writes a block of lines for each reconcile when it ends, so that reconciles that run
// concurrently do not mix. A block is stamped with the time of its end, so that times do not run backwards from one
// block to the next. Up to Normal a reconcile that wrote nothing and succeeded has no block, and a conflict has one
// line.
//
// Its methods may be called concurrently.
type Blocks struct {
	o   BlocksOptions
	out io.Writer

	mu               sync.Mutex   // guards all below, and writing to out
	startAt          time.Time    // that blocks count from; zero until it is known
	latest           time.Time    // of the last event
	lastUnattributed *trace.Event // what was written last, if it belongs to no reconcile; else nil
	openBlocks       map[trace.ReconcileID]*block
	ended            recent.Map[trace.ReconcileID, endedReconcile]
	putOff           recent.Map[trace.ReconcileID, *trace.Start] // why reconciles without a block began, until retried
	notShown         NotShown
	startCounts      startTotals
	lastDryWrites    recent.Map[string, uint64]   // by key: the fingerprint of its last dry writes
	lastFailures     recent.Map[string, uint64]   // by key: the fingerprint of its last failure that was shown
	loggedErrors     recent.Map[uint64, struct{}] // fingerprints of errors logged outside of any reconcile
	lastWord         string                       // the word of the last line that was written
	err              error                        // the first of out
}

// NewBlocks returns a Blocks that writes to out. It must be closed.
func NewBlocks(out io.Writer, o BlocksOptions) *Blocks {
	return &Blocks{
		o: o, out: out, openBlocks: map[trace.ReconcileID]*block{},
		ended:         recent.Map[trace.ReconcileID, endedReconcile]{Capacity: maxRecent},
		putOff:        recent.Map[trace.ReconcileID, *trace.Start]{Capacity: maxPutOff},
		lastDryWrites: recent.Map[string, uint64]{Capacity: maxRecent},
		lastFailures:  recent.Map[string, uint64]{Capacity: maxRecent},
		loggedErrors:  recent.Map[uint64, struct{}]{Capacity: maxRecent},
	}
}

// StartAt sets the time that blocks count from. Until it is called they count from the first that is shown.
func (b *Blocks) StartAt(t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.startAt = t
}

// brief reports whether reads, routine log lines and reconciles without effect are left out.
func (b *Blocks) brief() bool { return b.o.Detail < Verbose }

// block is a reconcile that has not ended.
type block struct {
	start  *trace.Event
	why    *trace.Start // the detail of start, with the causes that are shown
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

// recordEnd writes what is shown of a reconcile that has ended: a block, a line or nothing. b.mu must be held.
func (b *Blocks) recordEnd(open *block, e *trace.Event, end *trace.End) {
	if b.folds(open.start.Time) {
		b.foldReconcile(end)
		return
	}
	again := b.repeatsFailure(open, e, end)
	switch {
	case b.brief() && b.omits(open, e, end):
		b.ended.Put(e.Reconcile, endedReconcile{e.Key, false})
		return
	case again:
		b.write(b.repeatedFailureLine(open, end))
	case b.brief() && !hasAcceptedWrite(open.events) && conflictOf(open.events, end) != nil:
		b.write(b.conflictLine(open, end))
	default:
		b.write(b.blockLines(open))
	}
	b.ended.Put(e.Reconcile, endedReconcile{e.Key, true})
}

// appendEvent adds an event that is shown to its block; if open is nil it is written at once, under a head line that
// belongs to no reconcile.
func (b *Blocks) appendEvent(open *block, e *trace.Event, shown bool) {
	switch {
	case !shown:
	case open != nil:
		open.events = append(open.events, e)
	default:
		b.writeUnattributed(e)
	}
}

// recordRequest adds a write, or from Verbose on a read, to its block. Events are sent by a recorder, often after their
// reconcile has ended, and so belong to none. b.mu must be held.
func (b *Blocks) recordRequest(open *block, e *trace.Event, r *trace.Request) {
	switch {
	case r.Recorded != nil:
		b.appendEvent(nil, e, b.o.Events && !isFailedEventCount(r))
	case r.IsWrite():
		b.appendEvent(open, e, open != nil || !b.repeatsUnattributedWrite(e, r))
	default:
		b.appendEvent(open, e, !b.brief())
	}
}

// Close writes the reconciles that have not ended, in the order of their starts, and returns the first error of a
// write. It may be called again.
func (b *Blocks) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	byStart := func(x, y *block) int { return x.start.Time.Compare(y.start.Time) }
	for _, open := range slices.SortedFunc(maps.Values(b.openBlocks), byStart) {
		b.write(append(b.blockLines(open), line{word: "cut off", text: "the session ended before this reconcile did"}))
	}
	clear(b.openBlocks)
	b.write(nil) // the line of the start, if nothing was written after it
	return b.err
}

// endedReconcile is what is remembered of a reconcile that has ended.
type endedReconcile struct {
	key   string
	shown bool // in a block or a line
}

// shows reports whether a reconcile is known to have a block, so that causes may name it by its number. b.mu must be
// held.
func (b *Blocks) shows(id trace.ReconcileID) bool {
	ended, _ := b.ended.Get(id)
	return ended.shown || !b.brief()
}

// writerShown reports whether the reconcile whose write was watched has a block, or will have one: a reconcile that has
// written is shown when it ends. b.mu must be held.
func (b *Blocks) writerShown(w *trace.Watch) bool {
	open := b.openBlocks[w.WrittenBy]
	return w.WrittenBy != 0 && (b.shows(w.WrittenBy) || open != nil && !b.folds(open.start.Time))
}

// rememberCauses keeps the causes of a reconcile that has no block and is retried: they are shown as those of the
// retry. No more are kept than are shown of one reconcile. b.mu must be held.
func (b *Blocks) rememberCauses(id trace.ReconcileID, why *trace.Start) {
	if more := len(why.Causes) - maxCauses; more > 0 {
		why.Causes, why.MoreCauses = why.Causes[:maxCauses:maxCauses], why.MoreCauses+more
	}
	b.putOff.Put(id, why)
}

// originalStart returns a start in which each retry of a reconcile without a block is replaced by the causes of that
// reconcile. b.mu must be held.
func (b *Blocks) originalStart(s *trace.Start) *trace.Start {
	out := *s
	out.Causes = nil
	for _, c := range s.Causes {
		first, known := b.putOff.Get(c.Reconcile)
		if c.Type != trace.CauseRetry || !known {
			out.Causes = append(out.Causes, c)
			continue
		}
		b.putOff.Delete(c.Reconcile)
		out.Causes = append(out.Causes, first.Causes...)
		out.MoreCauses += first.MoreCauses
	}
	return &out
}

// startTotals counts what happened during the start, which BlocksOptions.Starting sums up in one line.
type startTotals struct{ reconciles, failed, writes int }

// folds reports whether what happened at that time is part of the start, and summed up with it. b.mu must be held.
func (b *Blocks) folds(at time.Time) bool {
	return b.o.Starting != "" && b.brief() && (b.startAt.IsZero() || at.Before(b.startAt))
}

// foldReconcile counts a reconcile of the start.
func (b *Blocks) foldReconcile(end *trace.End) {
	b.startCounts.reconciles++
	b.startCounts.writes += end.Writes
	if end.Outcome != trace.Done && end.PutOff == "" {
		b.startCounts.failed++
	}
}

// foldUnattributed counts a write of the start that belongs to no reconcile.
func (b *Blocks) foldUnattributed(e *trace.Event) {
	if r, ok := e.Detail.(*trace.Request); ok && r.IsWrite() && r.Recorded == nil && !r.Failed() {
		b.startCounts.writes++
	}
}

// startLine returns the line that sums up the start, once, after the start is over; else it is empty.
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
