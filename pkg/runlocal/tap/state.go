package tap

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// State is what the observed controllers have to do, at one moment.
type State struct {
	// Controllers are sorted by name.
	Controllers []ControllerState
	// Handled is, for each resource that an informer of the tap watches, the latest resourceVersion of an object of which
	// every handler has finished handling the event; 0 if there is none yet.
	Handled map[schema.GroupResource]uint64
	// Unsynced are those of the resources of which an informer has not listed all yet.
	Unsynced map[schema.GroupResource]bool
}

// ControllerState is what one controller has to do.
type ControllerState struct {
	Name   string
	Queues []QueueState
	// Requests counts the requests that have no answer yet; a watch is answered when it is opened.
	Requests int
	// SetPreparing says that it does not see all yet that it is to act on, although it runs.
	Preparing bool
	// AsyncWork counts the reconciles whose keys are done and whose work is not: see Hold.
	AsyncWork int
}

// QueueState is what one queue holds.
type QueueState struct {
	// Queue is as in trace.Enqueue.
	Queue string
	// Queued counts the keys that can be taken or are about to, delayed ones whose time has come included.
	Queued int
	// Running counts the keys that workers have taken and not finished.
	Running int
	// Delayed are the keys that come back by themselves, by time.
	Delayed []DelayedKey
}

// DelayedKey is a key that waits for its time.
type DelayedKey struct {
	Key string
	Due time.Time
	// Retry counts the failures in a row; 0 for a timer.
	Retry int
	// Handler names what asked for it, as in trace.Enqueue; empty when nothing is recorded.
	Handler string
}

// Idle says that nothing is queued, running or in flight, and that no controller is still preparing. Delayed keys may be left.
func (s State) Idle() bool {
	for _, c := range s.Controllers {
		if c.Requests > 0 || c.Preparing || c.AsyncWork > 0 {
			return false
		}
		for _, q := range c.Queues {
			if q.Queued > 0 || q.Running > 0 {
				return false
			}
		}
	}
	return true
}

// Busy returns the names of the controllers that work on a key, for none, or wait for an answer.
func (s State) Busy() []string {
	var out []string
	for _, c := range s.Controllers {
		running := c.Requests + c.AsyncWork
		for _, q := range c.Queues {
			running += q.Running
		}
		if running > 0 {
			out = append(out, c.Name)
		}
	}
	return out
}

// Load counts the keys that can be taken, or are about to, and what is worked on, for keys or for none.
func (s State) Load() (queued, running int) {
	for _, c := range s.Controllers {
		running += c.AsyncWork
		for _, q := range c.Queues {
			queued, running = queued+q.Queued, running+q.Running
		}
	}
	return queued, running
}

// observedQueue is a queue's side of State.
type observedQueue interface {
	// state is called with the Tap's lock held.
	state(now time.Time) QueueState
	// drain is called without it, when Tap.draining is set.
	drain()
	// gateOpened is called without it, when the controller's gate may be open.
	gateOpened()
}

// State looks at all controllers at one moment. It takes time in proportion to what is queued and delayed.
func (t *Tap) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	s := State{Handled: map[schema.GroupResource]uint64{}, Unsynced: map[schema.GroupResource]bool{}}
	for _, c := range t.byName() {
		cs := ControllerState{Name: c.name, Requests: int(c.calls.Load()), Preparing: c.preparing.Load(), AsyncWork: int(c.asyncWork.Load())}
		for _, a := range c.queues {
			cs.Queues = append(cs.Queues, a.state(now))
		}
		s.Controllers = append(s.Controllers, cs)
	}
	for _, i := range t.informers {
		gr, handled := i.gvr.GroupResource(), i.handled()
		if before, ok := s.Handled[gr]; !ok || handled < before {
			s.Handled[gr] = handled
		}
		if !i.HasSynced() {
			s.Unsynced[gr] = true
		}
	}
	return s
}

// Delivered reports whether all that the session's informers have listed first has been handed to their handlers, and the
// controller has handed it on within itself: what is left is in its queues. Informers that have not listed all yet do not count.
func (c *Controller) Delivered() bool {
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	for _, a := range c.queues {
		if r, ok := a.(interface{ empty() bool }); ok && !r.empty() {
			return false
		}
	}
	for _, i := range c.tap.informers {
		if !i.HasSynced() {
			continue
		}
		for registration := range i.handlers {
			if !registration.HasSynced() {
				return false
			}
		}
	}
	return true
}

// drainPollInterval is how often Drain looks whether all is done.
const drainPollInterval = 2 * time.Millisecond

// Drain lets no controller take another key, and returns when those that were taken are finished and no request is without
// an answer, or with the error of ctx, which says who was not done. Keys that are queued are left. Controllers whose work
// is not done by keys go on until their own context ends. It may be called again.
func (t *Tap) Drain(ctx context.Context) error {
	t.draining.Store(true)
	for _, a := range t.queues() {
		a.drain()
	}
	ticker := t.clock.NewTicker(drainPollInterval)
	defer ticker.Stop()
	for {
		busy := t.State().Busy()
		if len(busy) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to finish: %w", strings.Join(busy, ", "), ctx.Err())
		case <-ticker.C():
		}
	}
}

// queues are those of all queues.
func (t *Tap) queues() []observedQueue {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []observedQueue
	for _, c := range t.byName() {
		out = append(out, c.queues...)
	}
	return out
}
