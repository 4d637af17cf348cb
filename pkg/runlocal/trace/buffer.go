package trace

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

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
