package tap

import (
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// BeginAsyncWork keeps the reconcile that the calling goroutine works on open beyond its queue's Done, for work that
// the controller leaves to a goroutine that it starts after this call. Until end is called, State counts the work as
// AsyncWork. The key itself may be taken again before that. end may be called more than once, by any goroutine. Outside
// of a reconcile of the controller BeginAsyncWork does nothing, and end is not nil.
func (c *Controller) BeginAsyncWork() (end func()) {
	r := currentActivity().reconcile
	if r == nil || r.c != c {
		return func() {}
	}
	c.asyncWork.Add(1)
	r.beginAsyncWork()
	return sync.OnceFunc(func() {
		if endReconcile := r.endAsyncWork(); endReconcile != nil {
			endReconcile(c.tap.clock.Now())
		}
		c.asyncWork.Add(-1)
	})
}

// asyncWork counts the work of a reconcile that is left to goroutines. The reconcile's mu guards it.
type asyncWork struct {
	pending int
	end     func(at time.Time) // ends the reconcile; nil before the queue's Done
}

func (r *reconcile) beginAsyncWork() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.async.pending++
}

// endAsyncWork returns the function that ends the reconcile, if its key is done and no asynchronous work is left; nil
// otherwise.
func (r *reconcile) endAsyncWork() func(time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.async.pending--
	if r.async.pending > 0 {
		return nil
	}
	return r.async.end
}

// endsLater leaves calling end to the end of the last asynchronous work; it reports false if none is under way.
func (r *reconcile) endsLater(end func(at time.Time)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.async.pending == 0 {
		return false
	}
	r.async.end = end
	return true
}

// handoffs are the keys of a controller that one goroutine has taken for another, by their text: see
// ControllerTraits.BegunKey. The zero value is empty. Its methods may be called concurrently.
type handoffs struct {
	mu   sync.Mutex
	keys map[string]handoff
}

// handoff is a reconcile that has not begun.
type handoff struct {
	taken *takenReconcile
	start *trace.Start
}

func (h *handoffs) put(key string, o handoff) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keys == nil {
		h.keys = map[string]handoff{}
	}
	h.keys[key] = o
}

// begin begins the reconcile of the key on the calling goroutine, if it has not begun.
func (h *handoffs) begin(key string) {
	h.mu.Lock()
	o, ok := h.keys[key]
	delete(h.keys, key)
	h.mu.Unlock()
	if ok {
		o.taken.begin(o.start)
	}
}
