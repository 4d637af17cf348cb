package render

import (
	"io"
	"slices"
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

	mu       sync.Mutex
	startAt  time.Time
	latest   time.Time    // when the last event happened
	alone    *trace.Event // the last that was written, if it belongs to no reconcile
	open     map[trace.ReconcileID]*block
	ids      recent[trace.ReconcileID, endedReconcile]
	putOff   recent[trace.ReconcileID, *trace.Start] // of reconciles without a block, until they are tried again
	notShown NotShown
	start    folded
	seen     recent[string, uint64]   // fingerprints of the latest dry writes
	failed   recent[string, uint64]   // fingerprints of the keys that failed when they were shown last
	said     recent[uint64, struct{}] // fingerprints of errors outside of any reconcile
	last     string                   // the word of the last line that was written
	err      error
}

// NewBlocks returns Blocks that write to out.
func NewBlocks(out io.Writer, o BlocksOptions) *Blocks {
	return &Blocks{
		o: o, out: out, open: map[trace.ReconcileID]*block{},
		ids:    recent[trace.ReconcileID, endedReconcile]{room: mostRecent},
		putOff: recent[trace.ReconcileID, *trace.Start]{room: mostPutOff},
		seen:   recent[string, uint64]{room: mostRecent},
		failed: recent[string, uint64]{room: mostRecent},
		said:   recent[uint64, struct{}]{room: mostRecent},
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
	if b.o.Detail == Quiet || b.isAside(e) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latest = e.Time
	open := b.open[e.Reconcile]
	switch d := e.Detail.(type) {
	case *trace.Start:
		b.open[e.Reconcile] = &block{start: e, why: b.origin(d)}
	case *trace.End:
		if open != nil {
			open.events = append(open.events, e)
			b.ended(open, e, d)
			delete(b.open, e.Reconcile)
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
	if b.folds(open.start.Time) {
		b.foldReconcile(end)
		return
	}
	again := b.failsAgain(open, e, end)
	switch {
	case b.brief() && b.leavesOut(open, e, end):
		b.ids.put(e.Reconcile, endedReconcile{e.Key, false})
		return
	case again:
		b.write(b.again(open, end))
	case b.brief() && !keeps(open.events) && conflictOf(open.events, end) != nil:
		b.write(b.conflictAlone(open, end))
	default:
		b.write(b.lines(open))
	}
	b.ids.put(e.Reconcile, endedReconcile{e.Key, true})
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
		b.append(open, e, open != nil || !b.repeatsLone(e, r))
	default:
		b.append(open, e, !b.brief())
	}
}

// Close writes the reconciles that have not ended, and returns the first error of a write.
func (b *Blocks) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	unfinished := make([]*block, 0, len(b.open))
	for _, open := range b.open {
		unfinished = append(unfinished, open)
	}
	slices.SortFunc(unfinished, func(x, y *block) int { return x.start.Time.Compare(y.start.Time) })
	for _, open := range unfinished {
		b.write(append(b.lines(open), line{word: "cut off", text: "the session ended before this reconcile did"}))
	}
	clear(b.open)
	b.write(nil) // of the start, if nothing came after it
	return b.err
}
