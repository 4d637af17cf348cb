package trace

import (
	"iter"
	"sync"
)

// History is a Sink that keeps all events. Its zero value has none. Its methods may be called concurrently.
type History struct {
	mu     sync.Mutex
	events []*Event
}

// Record implements Sink.
func (h *History) Record(e *Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// All returns the events in order of Seq. An iteration sees what is recorded while it goes on, and ends where the
// newest event is at that moment: it does not wait for others. No lock is held while the loop works on an event.
func (h *History) All() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for i := 0; ; i++ {
			h.mu.Lock()
			if i == len(h.events) {
				h.mu.Unlock()
				return
			}
			e := *h.events[i]
			h.mu.Unlock()
			if !yield(e) {
				return
			}
		}
	}
}
