package tap

import (
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// historySize bounds the reconciles of a controller that are remembered after their end. API Events are sent within
// milliseconds of being recorded, a burst of them later.
const historySize = 1024

// past is a reconcile that is remembered for the API Events it recorded.
type past struct {
	id    trace.ReconcileID
	key   string
	start time.Time
}

// history remembers a controller's latest reconciles. Its zero value is empty; it may be used concurrently.
type history struct {
	mu   sync.Mutex
	ring []past
	last int // the index that was written last
}

func (h *history) began(r *reconcile) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := past{id: r.id, key: r.key, start: r.start}
	if len(h.ring) < historySize {
		h.ring = append(h.ring, p)
		h.last = len(h.ring) - 1
		return
	}
	h.last = (h.last + 1) % historySize
	h.ring[h.last] = p
}

// at returns the latest reconcile of the key that had begun then: the reconciles of a key do not overlap. A zero time,
// because it is not known, is that of the latest. It returns 0 if none is remembered.
func (h *history) at(key string, then time.Time) trace.ReconcileID {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.latest() {
		if p := h.ring[i]; p.key == key && (then.IsZero() || !p.start.After(then)) {
			return p.id
		}
	}
	return 0
}

// latest yields the indexes of the ring, the last begun first.
func (h *history) latest() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for n := range h.ring {
			if !yield((h.last - n + len(h.ring)) % len(h.ring)) {
				return
			}
		}
	}
}
