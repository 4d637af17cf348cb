package telemetry

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

const (
	// behind is how many events a reader of the trace may be late.
	behind = 1 << 13
	// mostReaders bounds the readers of one trace.
	mostReaders = 32
)

// errReaders is returned where one more reader would be too many.
var errReaders = errors.New("too many readers of the trace")

// Stream is a trace.Sink that hands events to any number of readers while they happen. It never waits for one: a reader
// that is too late is dropped. All its methods may be called concurrently.
type Stream struct {
	readers atomic.Int64 // their number: without any, Record costs next to nothing
	dropped prometheus.Counter

	mu     sync.Mutex
	closed bool
	subs   map[*subscription]bool
}

// subscription is one reader. Its channel is closed when nothing more comes.
type subscription struct {
	events      chan *trace.Event
	controllers map[string]bool // empty for all
	slow        bool            // why it was closed; read after the channel's end
}

// NewStream returns a Stream without readers.
func NewStream() *Stream {
	return &Stream{
		subs: map[*subscription]bool{},
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "trace_readers_dropped_total", Help: "Readers of /trace that were too slow for it.",
		}),
	}
}

// Record implements trace.Sink.
func (s *Stream) Record(e *trace.Event) {
	if s.readers.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.subs {
		if !sub.wants(e) {
			continue
		}
		select {
		case sub.events <- e:
		default:
			sub.slow = true
			s.dropped.Inc()
			s.remove(sub)
		}
	}
}

func (sub *subscription) wants(e *trace.Event) bool {
	return len(sub.controllers) == 0 || sub.controllers[e.Controller]
}

// subscribe adds a reader of the events from here on of the controllers, all if there are none.
func (s *Stream) subscribe(controllers []string) (*subscription, error) {
	sub := &subscription{events: make(chan *trace.Event, behind), controllers: map[string]bool{}}
	for _, c := range controllers {
		sub.controllers[c] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		close(sub.events)
		return sub, nil
	case len(s.subs) == mostReaders:
		return nil, errReaders
	}
	s.subs[sub] = true
	s.readers.Add(1)
	return sub, nil
}

// unsubscribe ends a reader, which may have ended already.
func (s *Stream) unsubscribe(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(sub)
}

// remove is unsubscribe with s.mu held.
func (s *Stream) remove(sub *subscription) {
	if s.subs[sub] {
		delete(s.subs, sub)
		s.readers.Add(-1)
		close(sub.events)
	}
}

// Close ends all readers once they have read what there is, and all later ones at once. It may be called again.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for sub := range s.subs {
		s.remove(sub)
	}
}
