package tap

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// maxCauses bounds the causes that are kept for a key; those beyond are counted.
const maxCauses = 16

// queueTracker tracks one queue: which keys are queued, running and delayed, and why. It must be told of additions and
// taken keys in the queue's own order. Its methods may be called concurrently.
type queueTracker[K comparable] struct {
	mu      *sync.Mutex // Tap.mu, so that Tap.State is of one moment for all queues
	keyText func(K) string
	keys    map[K]*keyState[K]
}

// keyState is what is tracked of one key. The tracker's mu guards it.
type keyState[K comparable] struct {
	queued  bool        // added, and not taken since
	held    holdState   // of a key that is queued
	since   time.Time   // when it was queued
	causes  causes      // of all additions since the key was last taken
	running int         // workers that have taken it and not finished
	free    time.Time   // when the last of them finished
	delays  []*delay[K] // those that the delaying queue waits for; at most one of them is not over
}

// delay is a delayed addition of a key: the earliest of all that were requested before it is over, into which later
// ones are merged, as client-go's delaying queue does it with its entries. It mirrors insert of
// k8s.io/client-go/util/workqueue/delaying_queue.go.
type delay[K comparable] struct {
	key       K
	since     time.Time // when it was requested that is due then
	due       time.Time
	retry     int
	handler   string
	requested []requestedDelay
	more      int // watch events left out of requested
}

// requestedDelay is the delay of one call of AddAfter or AddRateLimited.
type requestedDelay struct {
	due   time.Time
	cause *trace.Cause
}

// fromWatch reports whether a watch event led to the request.
func (a requestedDelay) fromWatch() bool { return a.cause != nil && a.cause.Watch != nil }

// merge adds a request. When there are more than maxCauses, the request that is due first is always among those that
// are kept.
func (d *delay[K]) merge(a requestedDelay) {
	if len(d.requested) < maxCauses {
		d.requested = append(d.requested, a)
		return
	}
	if last := &d.requested[maxCauses-1]; a.due.Equal(d.due) {
		a, *last = *last, a
	}
	if a.fromWatch() {
		d.more++
	}
}

// causesAt returns the causes of the requests that are due, and of those that a watch event led to, since the reconcile
// sees the state after all events up to then. Other requests were dropped when the delaying queue merged them.
func (d *delay[K]) causesAt(now time.Time) causes {
	out := causes{more: d.more}
	for _, w := range d.requested {
		if !w.due.After(now) || w.due.Equal(d.due) || w.fromWatch() {
			out.add(w.cause)
		}
	}
	return out
}

// takenKey is what is known of a key when it is taken.
type takenKey struct {
	causes []trace.Cause
	more   int           // causes that were left out
	wait   time.Duration // how long it could have been taken and was not
}

// start returns the start of the reconcile of the key.
func (k takenKey) start(queue string) *trace.Start {
	return &trace.Start{Queue: queue, Causes: k.causes, MoreCauses: k.more, QueueWait: trace.Duration(k.wait)}
}

func newQueueTracker[K comparable](mu *sync.Mutex, keyText func(K) string) *queueTracker[K] {
	return &queueTracker[K]{mu: mu, keyText: keyText, keys: map[K]*keyState[K]{}}
}

// key returns the state of the key, an empty one if there is none. t.mu must be held.
func (t *queueTracker[K]) key(k K) *keyState[K] {
	e := t.keys[k]
	if e == nil {
		e = &keyState[K]{}
		t.keys[k] = e
	}
	return e
}

// add records that the key is about to be added. cause may be nil.
func (t *queueTracker[K]) add(k K, now time.Time, cause *trace.Cause) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.key(k)
	if !e.queued {
		e.queued, e.since = true, now
	}
	e.causes.add(cause)
}

// addAt records that the key is to be added at due; now is the present time. retry is 0 for a timer. It returns the
// delay that the delaying queue must wait for; nil if the one that it waits for already ends sooner.
func (t *queueTracker[K]) addAt(k K, now, due time.Time, cause *trace.Cause, retry int) *delay[K] {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.key(k)
	last := len(e.delays) - 1
	var merged []requestedDelay
	var more int
	if last >= 0 && e.delays[last].due.After(now) {
		d := e.delays[last]
		if !due.Before(d.due) {
			d.merge(requestedDelay{due, cause})
			return nil
		}
		merged, more = d.requested, d.more
		e.delays = e.delays[:last]
	}
	d := &delay[K]{
		key: k, since: now, due: due, retry: retry, handler: handlerOfCause(cause), requested: merged, more: more,
	}
	d.merge(requestedDelay{due, cause})
	e.delays = append(e.delays, d)
	return d
}

func handlerOfCause(cause *trace.Cause) string {
	if cause == nil {
		return ""
	}
	return cause.Handler
}

// expire records that a delay is over and its key about to be added. It reports false if the key must not be added,
// because another delay has replaced this one.
func (t *queueTracker[K]) expire(d *delay[K], now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.keys[d.key]
	if e == nil || !slices.Contains(e.delays, d) {
		return false
	}
	e.delays = slices.DeleteFunc(e.delays, func(other *delay[K]) bool { return other == d })
	e.causes.addAll(d.causesAt(now))
	if !e.queued {
		e.queued, e.since = true, d.due
	}
	return true
}

// take records that a worker has taken the key, and returns why it was queued. There is no cause for a key that was
// added without the tracker.
func (t *queueTracker[K]) take(k K, now time.Time) takenKey {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.key(k)
	got, ready := e.causes, e.since
	if !e.queued {
		ready = now
	}
	e.queued, e.causes, e.held = false, causes{}, notHeld
	e.running++
	if e.free.After(ready) {
		ready = e.free
	}
	return takenKey{causes: sortedBySeq(got.list), more: got.more, wait: max(now.Sub(ready), 0)}
}

// done records that a worker has finished with the key.
func (t *queueTracker[K]) done(k K, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.key(k)
	e.running = max(e.running-1, 0)
	e.free = now
	t.dropIfUnused(k, e)
}

// expireAll records that the delays of the key are over, if it has any.
func (t *queueTracker[K]) expireAll(k K, now time.Time) {
	t.mu.Lock()
	var over []*delay[K]
	if e := t.keys[k]; e != nil {
		over = slices.Clone(e.delays)
	}
	t.mu.Unlock()
	for _, d := range over {
		t.expire(d, now)
	}
}

// cancel drops the delays of the key.
func (t *queueTracker[K]) cancel(k K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.keys[k]; e != nil {
		e.delays = nil
		t.dropIfUnused(k, e)
	}
}

// dropIfUnused drops the state of a key that is neither queued nor running nor delayed. t.mu must be held.
func (t *queueTracker[K]) dropIfUnused(k K, e *keyState[K]) {
	if !e.queued && e.running == 0 && len(e.delays) == 0 {
		delete(t.keys, k)
	}
}

// state returns what is queued, running and delayed. A key whose delay is over counts as queued, though the delaying
// queue may not have added it yet. t.mu must be held.
func (t *queueTracker[K]) state(now time.Time) QueueState {
	s := QueueState{Running: t.running()}
	for k, e := range t.keys {
		ready := e.queued
		for _, d := range e.delays {
			if !d.due.After(now) {
				ready = true
				continue
			}
			s.Delayed = append(s.Delayed, DelayedKey{
				Key: t.keyText(k), Since: d.since, Due: d.due, Retry: d.retry, Handler: d.handler,
			})
		}
		if ready {
			s.Queued++
		}
		if e.held == held || e.held == heldAfterDelay {
			s.Held = append(s.Held, HeldKey{Key: t.keyText(k), Delayed: e.held == heldAfterDelay})
		}
	}
	slices.SortFunc(s.Held, func(a, b HeldKey) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortFunc(s.Delayed, func(a, b DelayedKey) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Key, b.Key))
	})
	return s
}

// running counts the keys that workers have taken, once for each worker. t.mu must be held.
func (t *queueTracker[K]) running() int {
	n := 0
	for _, e := range t.keys {
		n += e.running
	}
	return n
}
