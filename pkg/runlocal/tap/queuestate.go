package tap

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// maxCauses bounds the causes that are kept for a key; more are counted.
const maxCauses = 16

// queueTracker is the account of one queue: what is queued, running and delayed, and why. It is told of additions and takings in
// the queue's own order. Its lock is the Tap's, so that State sees all queues at one moment.
type queueTracker[K comparable] struct {
	mu      *sync.Mutex
	keyText func(K) string
	keys    map[K]*keyState[K]
}

// keyState is the account of one key.
type keyState[K comparable] struct {
	queued  bool        // added, and not taken since
	since   time.Time   // when it was added first
	causes  causes      // all that were added since the key was last taken
	running int         // workers that have taken it and are not done
	free    time.Time   // when the last of them was done
	delays  []*delay[K] // that the delaying queue holds for the key, at most one of them not over
}

// delay is a delayed addition of a key: the earliest of all that were asked for before it is over, as an entry of client-go's
// delaying queue is (util/workqueue/delaying_queue.go: insert), which merges the others into it.
type delay[K comparable] struct {
	key       K
	due       time.Time
	retry     int
	handler   string
	requested []requestedDelay
	more      int // events that waits has no room for
}

// requestedDelay is one delay that was asked for.
type requestedDelay struct {
	due   time.Time
	cause *trace.Cause
}

// fromWatch says that a watch event led to the wait.
func (a requestedDelay) fromWatch() bool { return a.cause != nil && a.cause.Watch != nil }

// merge keeps a wait, of which d knows already when it is over. The one that ends first is always among those that are kept.
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

// causesAt are the causes of those waits whose time has come, and of those that a watch event led to: the reconcile answers to
// all events up to now. The other waits came to nothing when the queue merged them.
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
	more   int
	wait   time.Duration
}

func newQueueTracker[K comparable](mu *sync.Mutex, keyText func(K) string) *queueTracker[K] {
	return &queueTracker[K]{mu: mu, keyText: keyText, keys: map[K]*keyState[K]{}}
}

// keyState returns the account of the key. l.mu must be held.
func (l *queueTracker[K]) key(k K) *keyState[K] {
	e := l.keys[k]
	if e == nil {
		e = &keyState[K]{}
		l.keys[k] = e
	}
	return e
}

// add tells that the key is about to be added. A nil cause is none.
func (l *queueTracker[K]) add(k K, now time.Time, cause *trace.Cause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.key(k)
	if !e.queued {
		e.queued, e.since = true, now
	}
	e.causes.add(cause)
}

// addAt notes that the key is to be added at due, after now. retry is 0 for a timer. It returns the delay that the delaying
// queue is to hold from now on; nil if the one that it holds for the key ends sooner.
func (l *queueTracker[K]) addAt(k K, now, due time.Time, cause *trace.Cause, retry int) *delay[K] {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.key(k)
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
	d := &delay[K]{key: k, due: due, retry: retry, handler: handlerOfCause(cause), requested: merged, more: more}
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

// expire notes that a delay has ended and its key is about to be added, and reports whether it is: not if another delay has
// taken its place.
func (l *queueTracker[K]) expire(d *delay[K], now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.keys[d.key]
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

// take tells that a worker has got the key, and returns why and how long that took. There is no cause for a key that was
// added past the account.
func (l *queueTracker[K]) take(k K, now time.Time) takenKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.key(k)
	got, ready := e.causes, e.since
	if !e.queued {
		ready = now
	}
	e.queued, e.causes = false, causes{}
	e.running++
	if e.free.After(ready) {
		ready = e.free
	}
	return takenKey{causes: sortedBySeq(got.list), more: got.more, wait: max(now.Sub(ready), 0)}
}

// done tells that a worker has finished with the key.
func (l *queueTracker[K]) done(k K, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.key(k)
	e.running = max(e.running-1, 0)
	e.free = now
	l.dropIfUnused(k, e)
}

// expireAll notes that the delays of the key have ended, if it had any.
func (l *queueTracker[K]) expireAll(k K, now time.Time) {
	l.mu.Lock()
	var over []*delay[K]
	if e := l.keys[k]; e != nil {
		over = slices.Clone(e.delays)
	}
	l.mu.Unlock()
	for _, d := range over {
		l.expire(d, now)
	}
}

// cancel notes that the delays of the key have come to nothing.
func (l *queueTracker[K]) cancel(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.keys[k]; e != nil {
		e.delays = nil
		l.dropIfUnused(k, e)
	}
}

// dropIfUnused drops an account in which there is nothing. l.mu must be held.
func (l *queueTracker[K]) dropIfUnused(k K, e *keyState[K]) {
	if !e.queued && e.running == 0 && len(e.delays) == 0 {
		delete(l.keys, k)
	}
}

// state sums up the account. A delay that is over is about to be noticed by the delaying queue. l.mu must be held.
func (l *queueTracker[K]) state(now time.Time) QueueState {
	s := QueueState{Running: l.running()}
	for k, e := range l.keys {
		ready := e.queued
		for _, d := range e.delays {
			if !d.due.After(now) {
				ready = true
				continue
			}
			s.Delayed = append(s.Delayed, DelayedKey{Key: l.keyText(k), Due: d.due, Retry: d.retry, Handler: d.handler})
		}
		if ready {
			s.Queued++
		}
	}
	slices.SortFunc(s.Delayed, func(a, b DelayedKey) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Key, b.Key))
	})
	return s
}

// running counts the keys that are being worked on. l.mu must be held.
func (l *queueTracker[K]) running() int {
	n := 0
	for _, e := range l.keys {
		n += e.running
	}
	return n
}
