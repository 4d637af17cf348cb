package telemetry

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

const (
	// readerBuffer is how many events are kept for a reader of the trace that has not read them.
	readerBuffer = 1 << 13
	// maxReaders bounds the readers of one trace.
	maxReaders = 32
)

// errTooManyReaders is returned by subscribe while there are maxReaders.
var errTooManyReaders = errors.New("too many readers of the trace")

// Stream is a trace.Sink that passes events to the readers of /trace as they happen. It never waits for a reader: one
// that is readerBuffer events behind is dropped. Its methods may be called concurrently.
type Stream struct {
	readers atomic.Int64 // their number: without any, Record costs next to nothing
	dropped prometheus.Counter

	mu     sync.Mutex
	closed bool
	subs   map[*subscription]bool
}

// subscription is one reader. Its channel is closed when no more events follow.
type subscription struct {
	events      chan *trace.Event
	controllers map[string]bool // empty for all
	slow        bool            // the reader was dropped; valid once events is closed
}

// NewStream returns a Stream without readers.
func NewStream() *Stream {
	return &Stream{
		subs: map[*subscription]bool{},
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "trace_readers_dropped_total",
			Help: "Readers of /trace that were too slow for it.",
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

// wants reports whether e is for the reader.
func (sub *subscription) wants(e *trace.Event) bool {
	return len(sub.controllers) == 0 || sub.controllers[e.Controller]
}

// subscribe adds a reader of the events from now on of the named controllers, of all if none are named.
func (s *Stream) subscribe(controllers []string) (*subscription, error) {
	sub := &subscription{events: make(chan *trace.Event, readerBuffer), controllers: map[string]bool{}}
	for _, c := range controllers {
		sub.controllers[c] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		close(sub.events)
		return sub, nil
	case len(s.subs) == maxReaders:
		return nil, errTooManyReaders
	}
	s.subs[sub] = true
	s.readers.Add(1)
	return sub, nil
}

// unsubscribe removes a reader, which may have been removed before.
func (s *Stream) unsubscribe(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(sub)
}

// remove is unsubscribe for a caller that holds s.mu.
func (s *Stream) remove(sub *subscription) {
	if s.subs[sub] {
		delete(s.subs, sub)
		s.readers.Add(-1)
		close(sub.events)
	}
}

// Close ends the stream: readers get the events that are kept for them and then the end, later readers get the end at
// once. It may be called again.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for sub := range s.subs {
		s.remove(sub)
	}
}

// writeTimeout is how long one write to a reader of the trace may take.
const writeTimeout = 10 * time.Second

// serveTrace serves the events from the time of the request on, until the client disconnects, the session ends, or the
// client is too slow: then the connection is aborted, so that the client does not take it for the end.
func serveTrace(o Options) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		controllers := requestedControllers(r)
		if err := checkControllers(o, controllers); err != nil {
			writeText(w, http.StatusBadRequest, err.Error()+"\n")
			return
		}
		sub, err := o.Stream.subscribe(controllers)
		if err != nil {
			writeText(w, http.StatusServiceUnavailable, err.Error()+"\n")
			return
		}
		defer o.Stream.unsubscribe(sub)
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Header().Set("Cache-Control", "no-store")
		out := newEventWriter(w)
		if out.flush() == nil && out.copy(sub, r.Context().Done()) == nil && !sub.slow {
			return
		}
		panic(http.ErrAbortHandler)
	}
}

// requestedControllers returns the controllers in ?controller=, which may be a comma-separated list and may be
// repeated.
func requestedControllers(r *http.Request) []string {
	var out []string
	for _, list := range r.URL.Query()["controller"] {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// checkControllers returns an error for a name that no running controller has, for which there would never be an event.
func checkControllers(o Options, requested []string) error {
	session := o.Session()
	if session == nil {
		return nil
	}
	var names []string
	for _, c := range session.State().Controllers {
		names = append(names, c.Name)
	}
	for _, name := range requested {
		if !slices.Contains(names, name) {
			return fmt.Errorf("no controller %q runs here; these do: %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// eventWriter writes events to a client that may be slow.
type eventWriter struct {
	*bufio.Writer
	trace *trace.Writer
	http  *http.ResponseController
}

func newEventWriter(w http.ResponseWriter) *eventWriter {
	buffered := bufio.NewWriterSize(w, 1<<16)
	return &eventWriter{buffered, trace.NewWriter(buffered), http.NewResponseController(w)}
}

// copy writes the events of sub, and flushes whenever there are no more at the moment. It returns nil at the end of the
// events and when gone is closed.
func (l *eventWriter) copy(sub *subscription, gone <-chan struct{}) error {
	for {
		select {
		case e, more := <-sub.events:
			if !more {
				return l.flush()
			}
			l.extend()
			l.trace.Record(e)
			if err := l.trace.Err(); err != nil {
				return err
			}
			if len(sub.events) == 0 {
				if err := l.flush(); err != nil {
					return err
				}
			}
		case <-gone:
			return nil
		}
	}
}

// extend gives the next write writeTimeout. Only writers of tests have no deadlines, so the error is ignored.
func (l *eventWriter) extend() { _ = l.http.SetWriteDeadline(time.Now().Add(writeTimeout)) }

func (l *eventWriter) flush() error {
	l.extend()
	return errors.Join(l.Flush(), l.http.Flush())
}
