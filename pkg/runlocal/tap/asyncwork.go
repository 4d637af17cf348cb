package tap

import (
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// BeginAsyncWork keeps the reconcile open that the calling goroutine works on, beyond its queue's Done: for work that the
// controller leaves to a goroutine, started from here on, that ends later. Until release is called State counts it as
// held. The key itself may be taken again meanwhile. release may be called more than once, from any goroutine.
// Outside of a reconcile of the controller there is nothing to hold.
func (c *Controller) BeginAsyncWork() (release func()) {
	r := currentActivity().reconcile
	if r == nil || r.c != c {
		return func() {}
	}
	c.asyncWork.Add(1)
	r.beginAsyncWork()
	return sync.OnceFunc(func() {
		if end := r.endAsyncWork(); end != nil {
			end(c.tap.clock.Now())
		}
		c.asyncWork.Add(-1)
	})
}

// async is a reconcile's account of what is left to goroutines. It is guarded by the reconcile's lock.
type asyncWork struct {
	pending int
	end     func(at time.Time) // what is to be done after the last release; nil before Done
}

func (r *reconcile) beginAsyncWork() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.async.pending++
}

// endAsyncWork returns how the reconcile ends, if nothing holds it any more and its key is done.
func (r *reconcile) endAsyncWork() func(time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.async.pending--
	if r.async.pending > 0 {
		return nil
	}
	return r.async.end
}

// endsLater leaves the end to the last release, and reports whether there will be one.
func (r *reconcile) endsLater(end func(at time.Time)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.async.pending == 0 {
		return false
	}
	r.async.end = end
	return true
}

// handoffs are the keys of a controller that one goroutine has taken for another, by their text. Its zero value is empty;
// it may be used concurrently.
type handoffs struct {
	mu   sync.Mutex
	keys map[string]handoff
}

// handoff is a reconcile that is yet to begin.
type handoff struct {
	run   *takenReconcile
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

// begin begins the reconcile of the key on the calling goroutine, if it is yet to begin.
func (h *handoffs) begin(key string) {
	h.mu.Lock()
	o, ok := h.keys[key]
	delete(h.keys, key)
	h.mu.Unlock()
	if ok {
		o.run.begin(o.start)
	}
}
