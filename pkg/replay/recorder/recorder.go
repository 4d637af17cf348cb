package recorder

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/internal/apijson"
)

// Flusher is a Sink that buffers. It is flushed about every second while there are records.
type Flusher interface {
	Flush() error
}

// Rotator is a Sink that consists of several recordings. When Full reports that the current one has grown too long,
// Next begins another one, which then gets the definitions of all streams and the state of their objects as lists.
type Rotator interface {
	replay.Sink
	Full() bool
	Next() error
}

// Redactor removes what must not be recorded from objects. It may be called concurrently.
type Redactor interface {
	// Redact returns the object without what must not be recorded; object itself if there is nothing of it. It must
	// not change object. After an error the object is not recorded.
	Redact(stream *replay.Stream, object []byte) ([]byte, error)
}

// Options are what a Recorder needs.
type Options struct {
	// Sink gets the records, one at a time. They are not changed any more. An error ends the recording, but for a
	// *replay.LimitError: that record is left out.
	Sink  replay.Sink
	Clock clock.WithTickerAndDelayedExecution
	// Redactor is nil if all is recorded as it is.
	Redactor Redactor
	// Random returns a number between 0 and 1, by which the times between attempts differ: many recorders must not ask
	// a server that comes back all at once. Nil is as if it always returned 1.
	Random func() float64
	// Rediscover returns what else is to be recorded of the kinds that are served at the time. It is called after
	// CustomResourceDefinitions have changed; selections that are recorded already are left out. Nil adds none.
	Rediscover func(context.Context) ([]Selection, error)
	// Trouble is called when a selection cannot be recorded, and when it can be again. It is not called concurrently,
	// must not call the Recorder, and may be nil.
	Trouble func(Trouble)
}

// Recorder records. Run is to be called once; the other methods may be called concurrently, at any time.
type Recorder struct {
	options  Options
	journal  *journal
	watching atomic.Int64 // streams whose watch is established
	heard    atomic.Int64 // when the server last sent something, in microseconds

	back     signal        // the server has accepted a watch of a stream whose last attempt it had not
	failure  chan error    // buffered: the first error of the sink
	newKinds chan struct{} // buffered: CustomResourceDefinitions have changed
	started  chan struct{} // closed when all first selections were tried
	starting sync.WaitGroup
	troubles troubles

	running sync.WaitGroup // streams
	mu      sync.Mutex     // guards streams, and adding to running
	streams map[selectionKey]*stream
}

// New returns a Recorder. It writes nothing before Run, but what Trace is called with.
func New(o Options) (*Recorder, error) {
	packer, err := newPacker()
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		options: o, failure: make(chan error, 1), newKinds: make(chan struct{}, 1), started: make(chan struct{}),
		streams: map[selectionKey]*stream{},
	}
	r.troubles.notify = o.Trouble
	r.journal = &journal{
		clock: o.Clock, sink: o.Sink, packer: packer, failed: func(err error) { r.failure <- err },
	}
	return r, nil
}

// ErrNothingRecorded means that not one of the selections can be recorded: see Recorder.Troubles.
var ErrNothingRecorded = errors.New("nothing can be recorded")

// Run records the selections until ctx ends, then returns nil. It returns an error if the sink fails, and
// ErrNothingRecorded if no selection can ever be recorded. The API is that of config, at its rate.
func (r *Recorder) Run(ctx context.Context, config *rest.Config, selections []Selection) error {
	api, err := newAPI(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer r.running.Wait()
	defer cancel()
	r.starting.Add(len(selections))
	for _, s := range selections {
		if !r.add(ctx, api, s, r.starting.Done) {
			r.starting.Done()
		}
	}
	r.running.Go(func() {
		r.starting.Wait()
		close(r.started)
	})
	if r.options.Rediscover != nil {
		r.running.Go(func() { r.rediscover(ctx, api) })
	}
	r.journal.watchSleep(true)
	defer r.journal.watchSleep(false)
	return r.tick(ctx)
}

// tick ticks the journal until ctx ends or something fails.
func (r *Recorder) tick(ctx context.Context) error {
	ticker := r.options.Clock.NewTicker(tickInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-r.failure:
			return err
		case <-ticker.C():
		}
		if err := r.journal.tick(r.watching.Load() > 0); err != nil {
			return err
		}
		if r.hopeless() {
			return ErrNothingRecorded
		}
	}
}

// hopeless reports whether all streams have ended because they cannot be recorded.
func (r *Recorder) hopeless() bool {
	select {
	case <-r.started:
	default:
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.troubles.ended() == len(r.streams)
}

// add records a selection until ctx ends, unless it is recorded already: then it returns false. It calls tried when the
// first attempt to list it is over.
func (r *Recorder) add(ctx context.Context, a *apiClient, s Selection, tried func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.streams[s.key()] != nil || ctx.Err() != nil {
		return false
	}
	one := &stream{recorder: r, api: a, selection: s, definition: s.stream(), tried: sync.OnceFunc(tried)}
	r.streams[s.key()] = one
	r.running.Go(func() { one.run(ctx) })
	return true
}

// Started returns a channel that is closed when every selection that Run was called with was listed, or could not be.
func (r *Recorder) Started() <-chan struct{} { return r.started }

// Trace records an event of a trace, a line of NDJSON without its end, which is not changed any more.
func (r *Recorder) Trace(line []byte) error {
	return r.journal.write(&replay.Record{Type: replay.TypeTrace, Object: line})
}

// End writes the end of a recording that ends in order, and flushes the sink. It must be called after Run has returned,
// and nothing else after it. message says why it ends; it may be empty.
func (r *Recorder) End(message string) error {
	return r.journal.end(message)
}

// Stats returns what was recorded so far.
func (r *Recorder) Stats() Stats {
	out := r.journal.statistics()
	out.Watching = int(r.watching.Load())
	return out
}

// Troubles returns what cannot be recorded at the time, sorted.
func (r *Recorder) Troubles() []Trouble { return r.troubles.all() }

// hear remembers that the server has sent something.
func (r *Recorder) hear() { r.heard.Store(r.options.Clock.Now().UnixMicro()) }

// lastHeard returns when the server last sent something; zero if it never did.
func (r *Recorder) lastHeard() time.Time {
	at := r.heard.Load()
	if at == 0 {
		return time.Time{}
	}
	return time.UnixMicro(at).UTC()
}

// The reasons for which objects are left out. Why one cannot be redacted is not in them: that may quote the object.
const (
	notRedacted = "it could not be redacted"
	nameless    = "it has no name"
)

// leftOut counts an object that is not recorded, and returns a record that says so.
func (r *Recorder) leftOut(stream int, i *apijson.Item, why string) *replay.Record {
	r.journal.drop()
	name := i.Name
	if i.Namespace != "" {
		name = i.Namespace + "/" + i.Name
	}
	return &replay.Record{
		Type: replay.TypeError, Stream: stream, ResourceVersion: i.ResourceVersion,
		Message: name + " at resource version " + i.ResourceVersion + " was left out: " + why,
	}
}
