package trace

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/utils/clock"
)

// Sink receives the events of a Recorder, one at a time and in order of Seq. Record must not call the Recorder.
// Controllers wait for it: see Buffer for a slow sink.
type Sink interface {
	Record(*Event)
}

// Recorder numbers events and passes them to sinks. All its methods may be called concurrently, and on a nil *Recorder,
// which records nothing.
type Recorder struct {
	clock clock.PassiveClock
	sinks []Sink
	ids   atomic.Uint64

	mu  sync.Mutex // guards seq; held while sinks get an event, so that all see one order
	seq uint64
}

// NewRecorder returns a Recorder that stamps events by clk.
func NewRecorder(clk clock.PassiveClock, sinks ...Sink) *Recorder {
	return &Recorder{clock: clk, sinks: sinks}
}

// NextReconcile returns an id that was not returned before; 0 on a nil Recorder.
func (r *Recorder) NextReconcile() ReconcileID {
	if r == nil {
		return 0
	}
	return ReconcileID(r.ids.Add(1))
}

// Emit records an event of the controller, reconcile and key, each of which may be its zero value, and returns its Seq,
// 0 on a nil Recorder. The Detail must not be modified after that.
func (r *Recorder) Emit(controller string, id ReconcileID, key string, d Detail) uint64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	e := &Event{Seq: r.seq, Time: r.clock.Now(), Controller: controller, Reconcile: id, Key: key, Detail: d}
	for _, s := range r.sinks {
		s.Record(e)
	}
	return e.Seq
}

// Buffer is a Sink that passes events to another one on a separate goroutine, in order, so that controllers do not wait
// for slow output. When it is full they do wait, and no event is lost, until DropWhenFull or Close is called. All its
// methods may be called concurrently.
type Buffer struct {
	events   chan *Event
	dropping chan struct{} // closed by DropWhenFull: Record does not wait
	closing  chan struct{} // closed by Close: the goroutine passes on what is left and ends
	done     chan struct{} // closed when the goroutine has ended
	lost     atomic.Int64

	dropOnce, closeOnce sync.Once
}

// NewBuffer starts a Buffer for that many events before next. Close must be called; it ends the goroutine.
func NewBuffer(room int, next Sink) *Buffer {
	b := &Buffer{
		events:   make(chan *Event, room),
		dropping: make(chan struct{}), closing: make(chan struct{}), done: make(chan struct{}),
	}
	go b.run(next)
	return b
}

func (b *Buffer) run(next Sink) {
	defer close(b.done)
	for {
		select {
		case e := <-b.events:
			next.Record(e)
		case <-b.closing:
			b.drain(next)
			return
		}
	}
}

// drain passes on what is left.
func (b *Buffer) drain(next Sink) {
	for {
		select {
		case e := <-b.events:
			next.Record(e)
		default:
			return
		}
	}
}

// Record implements Sink. After Close it does nothing: later events belong to no session.
func (b *Buffer) Record(e *Event) {
	select {
	case <-b.closing:
		return
	default:
	}
	select {
	case b.events <- e:
		return
	default:
	}
	select {
	case b.events <- e:
	case <-b.closing:
		b.lost.Add(1)
	case <-b.dropping:
		b.lost.Add(1)
	}
}

// DropWhenFull makes Record drop events for which there is no room instead of waiting, and wakes those that wait. Close
// returns how many were dropped. It is for the end of a session whose output no one reads. It may be called again.
func (b *Buffer) DropWhenFull() { b.dropOnce.Do(func() { close(b.dropping) }) }

// Close waits until all events are passed on, or until ctx is done; then the goroutine ends when next returns. The
// error contains how many events were not passed on. It may be called again.
func (b *Buffer) Close(ctx context.Context) error {
	b.closeOnce.Do(func() { close(b.closing) })
	select {
	case <-b.done:
	case <-ctx.Done():
		left := int64(len(b.events)) + b.lost.Load()
		return fmt.Errorf("writing the last events of the trace (%d or more are left): %w", left, ctx.Err())
	}
	if n := b.lost.Load(); n > 0 {
		return fmt.Errorf("writing the trace: %d events were lost, because its output was too slow", n)
	}
	return nil
}
