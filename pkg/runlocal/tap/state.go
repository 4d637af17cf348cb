package tap

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// State is what is left to do for the observed controllers at one moment.
type State struct {
	// Controllers are sorted by name.
	Controllers []ControllerState
	// Handled is, for each resource that an informer of the tap watches, the latest resourceVersion of an object whose
	// event all handlers have handled; 0 if there is none yet.
	Handled map[schema.GroupResource]uint64
	// Unsynced are those resources that an informer has not listed completely yet.
	Unsynced map[schema.GroupResource]bool
}

// ControllerState is what is left to do for one controller.
type ControllerState struct {
	Name   string
	Queues []QueueState
	// Requests counts the requests that have no answer yet; a watch is answered when it is opened.
	Requests int
	// Preparing means that the controller, although it runs, does not yet see all objects that it acts on: see
	// SetPreparing.
	Preparing bool
	// AsyncWork counts work outside of queues: reconciles whose keys are done while goroutines still work for them (see
	// BeginAsyncWork), and those of timer loops.
	AsyncWork int
}

// QueueState is what one queue contains.
type QueueState struct {
	// Queue is as in trace.Enqueue.
	Queue string
	// Queued counts the keys that can be taken, including those that are being added, those whose delay is over and
	// those that are held.
	Queued int
	// Held are the keys that Tap.HoldKeys keeps from workers, sorted.
	Held []HeldKey
	// Running counts the keys that workers have taken and have not finished.
	Running int
	// Delayed are the keys that a delay or a retry adds later, sorted by time.
	Delayed []DelayedKey
}

// DelayedKey is a key that is added to its queue when it is due.
type DelayedKey struct {
	Key string
	// Since is when the delay was requested, and Due when it ends.
	Since, Due time.Time
	// Retry counts the failures in a row; 0 for a timer.
	Retry int
	// Handler names the functions that added it, as in trace.Enqueue; empty if nothing is recorded.
	Handler string
}

// Idle reports whether nothing is queued, running or in flight, and no controller is preparing. Delayed keys may be
// left.
func (s State) Idle() bool {
	return s.IdleButHeld() && !slices.ContainsFunc(s.Controllers, func(c ControllerState) bool {
		return slices.ContainsFunc(c.Queues, func(q QueueState) bool { return len(q.Held) > 0 })
	})
}

// IdleButHeld is Idle for all keys but those that are held.
func (s State) IdleButHeld() bool {
	for _, c := range s.Controllers {
		if c.Requests > 0 || c.Preparing || c.AsyncWork > 0 {
			return false
		}
		for _, q := range c.Queues {
			if q.Queued > len(q.Held) || q.Running > 0 {
				return false
			}
		}
	}
	return true
}

// Busy returns the names of the controllers that work, or wait for the answer to a request. Queued keys do not count.
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

// Load returns the number of keys that can be taken, and of pieces of work that are under way.
func (s State) Load() (queued, running int) {
	for _, c := range s.Controllers {
		running += c.AsyncWork
		for _, q := range c.Queues {
			queued, running = queued+q.Queued, running+q.Running
		}
	}
	return queued, running
}

// observedQueue is what the tap needs of a queue, or of what acts as one.
type observedQueue interface {
	// state is called with Tap.mu held.
	state(now time.Time) QueueState
	// drain is called after Tap.draining was set, without Tap.mu.
	drain()
	// gateOpened is called when the controller's gate may have opened, without Tap.mu.
	gateOpened()
	// release is called without Tap.mu. It passes a held key to the workers, and reports whether there is such a key.
	release(key string) bool
	// releaseAll is called without Tap.mu after Tap.holding was unset.
	releaseAll()
}

// State returns the state of all controllers at one moment. It takes time in proportion to what is queued and delayed.
func (t *Tap) State() State {
	return t.stateBy(func(q observedQueue, now time.Time) QueueState { return q.state(now) })
}

// Work is State without keys: those that are held do not count as queued, and none is listed. It is for callers that
// ask often while many keys are held.
func (t *Tap) Work() State {
	return t.stateBy(func(q observedQueue, now time.Time) QueueState {
		if w, ok := q.(interface {
			work(now time.Time) QueueState
		}); ok {
			return w.work(now)
		}
		return q.state(now)
	})
}

func (t *Tap) stateBy(of func(observedQueue, time.Time) QueueState) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	s := State{Handled: map[schema.GroupResource]uint64{}, Unsynced: map[schema.GroupResource]bool{}}
	for _, c := range t.byName() {
		cs := ControllerState{
			Name: c.name, Requests: int(c.calls.Load()),
			Preparing: c.preparing.Load(), AsyncWork: int(c.asyncWork.Load()),
		}
		for _, q := range c.queues {
			cs.Queues = append(cs.Queues, of(q, now))
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

// Watches returns the kinds of which each controller has handlers of watch events, by its name, in no order.
func (t *Tap) Watches() map[string][]schema.GroupKind {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string][]schema.GroupKind{}
	for _, i := range t.informers {
		for _, h := range i.handlers {
			if kind := i.gvk.GroupKind(); h.controller != nil && !slices.Contains(out[h.controller.name], kind) {
				out[h.controller.name] = append(out[h.controller.name], kind)
			}
		}
	}
	return out
}

// Delivered reports whether the handlers have handled all that the session's informers listed when they started, and
// the controller has passed it on within itself, so that all that is left is in its queues. Informers that have not
// synced do not count.
func (c *Controller) Delivered() bool {
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	for _, q := range c.queues {
		if r, ok := q.(interface{ empty() bool }); ok && !r.empty() {
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

// drainPollInterval is how often Drain reads the state.
const drainPollInterval = 2 * time.Millisecond

// Drain stops queues from returning keys, and waits until all keys that were taken are done and all requests are
// answered. If ctx ends before that, the error names the controllers that still work. Queued keys are left. Timer loops
// continue until the context of their controller ends. Drain may be called again.
func (t *Tap) Drain(ctx context.Context) error {
	t.draining.Store(true)
	for _, q := range t.queues() {
		q.drain()
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

// queues returns the queues of all controllers.
func (t *Tap) queues() []observedQueue {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []observedQueue
	for _, c := range t.byName() {
		out = append(out, c.queues...)
	}
	return out
}
