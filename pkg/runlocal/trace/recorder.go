package trace

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/utils/clock"
)

// Sink receives the events of a Recorder, one at a time and in order of Seq. Record must not call the Recorder, and
// what it does slows the controllers down: see Buffer for a sink that takes its time.
type Sink interface {
	Record(*Event)
}

// Recorder numbers events and hands them to sinks. All its methods may be called concurrently, and on a nil
// *Recorder, which records nothing and costs next to nothing.
type Recorder struct {
	clock clock.PassiveClock
	sinks []Sink
	ids   atomic.Uint64

	mu  sync.Mutex // held while sinks get an event, so that they all see one order
	seq uint64
}

// NewRecorder returns a Recorder that stamps events by clk.
func NewRecorder(clk clock.PassiveClock, sinks ...Sink) *Recorder {
	return &Recorder{clock: clk, sinks: sinks}
}

// NextReconcile returns an id that was not given out before; 0 on a nil Recorder.
func (r *Recorder) NextReconcile() ReconcileID {
	if r == nil {
		return 0
	}
	return ReconcileID(r.ids.Add(1))
}

// Emit records an event of the controller, reconcile and key, each of which may be its zero value, and returns its Seq,
// 0 on a nil Recorder. The Detail must not be changed afterwards.
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

// Buffer is a Sink that hands events to another one on a goroutine of its own, in order, so that the controllers do not
// wait for slow output. When its room is used up they do wait, and no event is lost, until Cut or Close says otherwise.
type Buffer struct {
	events  chan *Event
	cut     chan struct{} // closed by Cut: Record waits no more
	closing chan struct{} // closed by Close: the goroutine hands on what is there, and ends
	done    chan struct{}
	lost    atomic.Int64

	cutOnce, closeOnce sync.Once
}

// NewBuffer starts a Buffer with room for that many events before next. Close must be called.
func NewBuffer(room int, next Sink) *Buffer {
	b := &Buffer{
		events: make(chan *Event, room), cut: make(chan struct{}), closing: make(chan struct{}), done: make(chan struct{}),
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

// drain hands on what is left.
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

// Record implements Sink. After Close it does nothing: what comes later belongs to no session.
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
	case <-b.cut:
		b.lost.Add(1)
	}
}

// Cut lets nobody wait for room any more: events that find none are lost from then on, and Close tells how many. It is
// for the end of a session whose output nobody takes. It may be called again, and at any time.
func (b *Buffer) Cut() { b.cutOnce.Do(func() { close(b.cut) }) }

// Close waits until all events were handed on, or until ctx is done: then the goroutine ends when next returns. The error
// says how many events were not handed on. It may be called again.
func (b *Buffer) Close(ctx context.Context) error {
	b.closeOnce.Do(func() { close(b.closing) })
	select {
	case <-b.done:
	case <-ctx.Done():
		return fmt.Errorf("handing on the last events of the trace (%d or more are left): %w", int64(len(b.events))+b.lost.Load(), ctx.Err())
	}
	if n := b.lost.Load(); n > 0 {
		return fmt.Errorf("handing on the trace: %d events were lost, because its output was too slow", n)
	}
	return nil
}
