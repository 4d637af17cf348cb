package tap

import (
	"slices"
	"time"
)

// HeldKey is a key that HoldKeys keeps from workers.
type HeldKey struct {
	Key string
	// Delayed is true if a delay or a retry added the key, and nothing else has since.
	Delayed bool
}

// holdState is whether a queued key is kept from workers.
type holdState int

const (
	notHeld        holdState = iota
	held                     // until it is released
	heldAfterDelay           // held, and added by the end of a delay only
	released                 // passed on to the workers, none of which has taken it yet
)

// HoldKeys sets whether all queues keep their keys from workers until ReleaseKey passes them on, one at a time: so the
// caller decides what is reconciled, and when. Additions to a key that is held become causes of its next reconcile.
// Work that a controller does without a queue is not held. If on is false, all held keys are passed on. Keys that were
// passed on before stay so: HoldKeys(true) is for a time when nothing is queued, such as before the controllers run.
func (t *Tap) HoldKeys(on bool) {
	t.holding.Store(on)
	if on {
		return
	}
	for _, q := range t.queues() {
		q.releaseAll()
	}
}

// ReleaseKey passes a held key on to the workers of the controller's queue of that name, and reports whether such a key
// was held.
func (t *Tap) ReleaseKey(controller, queue, key string) bool {
	return slices.ContainsFunc(t.queuesNamed(controller, queue), func(q observedQueue) bool { return q.release(key) })
}

// ReleaseDelayedKey passes a key whose delay is not over on to the workers, as if it were. It reports whether there is
// such a key, and returns a function that puts the delay back, for callers that find that it was too early.
func (t *Tap) ReleaseDelayedKey(controller, queue, key string) (putBack func(), ok bool) {
	for _, q := range t.queuesNamed(controller, queue) {
		if d, is := q.(interface{ releaseDelayed(key string) func() }); is {
			if putBack := d.releaseDelayed(key); putBack != nil {
				return putBack, true
			}
		}
	}
	return nil, false
}

// AddKey adds a key to the controller's queue of that name, as the controller does that goes through all its objects.
// It reports whether there is such a queue whose keys are texts.
func (t *Tap) AddKey(controller, queue, key string) bool {
	return slices.ContainsFunc(t.queuesNamed(controller, queue), func(q observedQueue) bool {
		adder, ok := q.(interface{ Add(key string) })
		if ok {
			adder.Add(key)
		}
		return ok
	})
}

// queuesNamed returns the queues of the controller that have that name.
func (t *Tap) queuesNamed(controller, queue string) []observedQueue {
	t.mu.Lock()
	defer t.mu.Unlock()
	var of []observedQueue
	if c := t.controllers[controller]; c != nil {
		for _, q := range c.queues {
			if named, ok := q.(interface{ queueName() string }); ok && named.queueName() == queue {
				of = append(of, q)
			}
		}
	}
	return of
}

// DropHeldKeys forgets the held keys for which drop reports true, as if they had been reconciled: for keys of objects
// that were there when the controllers started, and that nothing has changed since. drop is called with the controller,
// the queue and the key, under locks of the Tap, whose methods it must not call.
func (t *Tap) DropHeldKeys(drop func(controller, queue, key string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.controllers {
		for _, q := range c.queues {
			if d, ok := q.(interface {
				queueName() string
				dropHeld(drop func(string) bool)
			}); ok {
				d.dropHeld(func(key string) bool { return drop(c.name, d.queueName(), key) })
			}
		}
	}
}

// dropHeld is DropHeldKeys for one queue. Tap.mu must be held.
func (q *queue[K]) dropHeld(drop func(key string) bool) {
	for k, e := range q.tracker.keys {
		if (e.held == held || e.held == heldAfterDelay) && drop(q.keyText(k)) {
			e.queued, e.held, e.causes = false, notHeld, causes{}
			q.tracker.dropIfUnused(k, e)
		}
	}
}

// queueName is the name of the queue in the trace.
func (q *queue[K]) queueName() string { return q.name }

// hold keeps a key that the tracker knows as queued, if keys are held, and reports whether the caller must not pass it
// on. q.order must be held.
func (q *queue[K]) hold(k K, delayed bool) bool {
	if !q.c.tap.holding.Load() {
		return false
	}
	q.tracker.hold(k, delayed)
	return true
}

// release implements observedQueue.
func (q *queue[K]) release(key string) bool {
	q.order.Lock()
	defer q.order.Unlock()
	k, ok := q.tracker.release(key)
	if !ok {
		return false
	}
	q.TypedRateLimitingInterface.Add(k)
	q.ready.Signal()
	return true
}

// releaseDelayed is ReleaseDelayedKey for one queue; nil if there is no such key.
func (q *queue[K]) releaseDelayed(key string) (putBack func()) {
	q.order.Lock()
	defer q.order.Unlock()
	over := q.tracker.releaseDelayed(key, q.c.tap.clock.Now())
	if over == nil {
		return nil
	}
	q.TypedRateLimitingInterface.Add(over.key)
	q.ready.Signal()
	return func() {
		now := q.c.tap.clock.Now()
		if again := q.tracker.putBack(over, now); again != nil {
			q.delays.AddAfter(again, again.due.Sub(now))
		}
	}
}

// releaseAll implements observedQueue.
func (q *queue[K]) releaseAll() {
	q.order.Lock()
	defer q.order.Unlock()
	for _, k := range q.tracker.allHeld() {
		q.TypedRateLimitingInterface.Add(k)
		q.ready.Signal()
	}
}

// hold marks a queued key as held, unless it was released and not taken since: then the addition is part of that.
func (t *queueTracker[K]) hold(k K, delayed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.key(k)
	switch {
	case e.held == released || e.held == held:
	case delayed:
		e.held = heldAfterDelay
	default:
		e.held = held
	}
}

// release marks the held key of that text as released, and returns it; ok is false if there is none.
func (t *queueTracker[K]) release(text string) (k K, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, e := range t.keys {
		if (e.held == held || e.held == heldAfterDelay) && t.keyText(k) == text {
			e.held = released
			return k, true
		}
	}
	return k, false
}

// releaseDelayed marks the key of that text as released, if it is not queued and has a delay, which is over then, and
// returns that; nil if there is none.
func (t *queueTracker[K]) releaseDelayed(text string, now time.Time) *delay[K] {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, e := range t.keys {
		if e.queued || len(e.delays) == 0 || t.keyText(k) != text {
			continue
		}
		last := len(e.delays) - 1
		over := e.delays[last]
		e.delays = e.delays[:last]
		e.queued, e.since, e.held = true, now, released
		e.causes.addAll(over.causesAt(now))
		return over
	}
	return nil
}

// putBack adds a delay again that was over too early, and returns the one that the delaying queue must wait for; nil if
// the one that it waits for already ends sooner.
func (t *queueTracker[K]) putBack(over *delay[K], now time.Time) *delay[K] {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, again := t.key(over.key), *over
	if last := len(e.delays) - 1; last >= 0 && e.delays[last].due.After(now) {
		if !over.due.Before(e.delays[last].due) {
			return nil
		}
		e.delays = e.delays[:last]
	}
	again.requested = slices.Clone(over.requested)
	e.delays = append(e.delays, &again)
	return &again
}

// allHeld marks all held keys as released, and returns them.
func (t *queueTracker[K]) allHeld() []K {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []K
	for k, e := range t.keys {
		if e.held == held || e.held == heldAfterDelay {
			e.held = released
			out = append(out, k)
		}
	}
	return out
}

// work is state without keys, and without those that are held. Tap.mu must be held.
func (q *queue[K]) work(now time.Time) QueueState {
	s := QueueState{Queue: q.name, Running: q.tracker.running()}
	if !q.ShuttingDown() {
		s.Queued = q.tracker.takeable(now)
	}
	s.Queued = max(s.Queued, q.Len()) + int(q.adding.Load())
	return s
}

// takeable counts the keys that workers can take, or will in a moment. t.mu must be held.
func (t *queueTracker[K]) takeable(now time.Time) int {
	n := 0
	for _, e := range t.keys {
		ready := e.queued && e.held != held && e.held != heldAfterDelay
		for _, d := range e.delays {
			ready = ready || !d.due.After(now)
		}
		if ready {
			n++
		}
	}
	return n
}
