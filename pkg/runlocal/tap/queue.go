package tap

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// queue is a workqueue that is observed. Every method that it does not have is the wrapped queue's own. Delays are not
// left to the wrapped queue but to another delaying queue of client-go in front of it, so that their ends are seen. That one
// holds each delay by itself; the account decides which of a key's delays count.
//
// The account learns of what is added and of what is handed out in the order in which the wrapped queue does: each addition
// is a cause of the one reconcile that follows it.
type queue[K comparable] struct {
	workqueue.TypedRateLimitingInterface[K]
	c       *Controller
	name    string
	keyText func(K) string
	limiter workqueue.TypedRateLimiter[K] // nil if the wrapped queue hides it: then retries are left to it, and seem to be at once
	delays  workqueue.TypedDelayingInterface[*delay[K]]
	retries workqueue.CounterMetric // the wrapped queue's, which knows nothing of delays; nil if it counts none
	tracker *queueTracker[K]
	adding  atomic.Int64 // additions on their way to the wrapped queue
	order   sync.Mutex   // held while the account and the wrapped queue learn of the same thing; nobody waits under it
	ready   *sync.Cond   // of order: a key can be taken, or no more will come

	running sync.Map // K -> *run
}

// WrapQueue returns a queue that does what q does and is observed. name is as in trace.Enqueue: empty for the
// controller's main queue. key spells a key as the trace shall have it. The caller uses q no more.
func WrapQueue[K comparable](c *Controller, name string, q workqueue.TypedRateLimitingInterface[K], key func(K) string) workqueue.TypedRateLimitingInterface[K] {
	w := &queue[K]{TypedRateLimitingInterface: q, c: c, name: name, keyText: key, limiter: rateLimiterOf(q), retries: retriesOf(q)}
	w.tracker, w.ready = newQueueTracker(&c.tap.mu, key), sync.NewCond(&w.order)
	w.delays = workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[*delay[K]]{
		Clock: c.tap.clock, Queue: &expiredDelays[K]{w: q, q: w},
	})
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.queues = append(c.queues, w)
	return w
}

// Add implements workqueue.TypedInterface.
func (q *queue[K]) Add(k K) {
	if !q.inScope(k) {
		return
	}
	q.adding.Add(1)
	defer q.adding.Add(-1)
	q.addNow(k, trace.Add, 0, q.TypedRateLimitingInterface.Add)
}

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *queue[K]) AddAfter(k K, d time.Duration) {
	if !q.inScope(k) {
		return
	}
	q.adding.Add(1)
	defer q.adding.Add(-1)
	q.countRetry()
	if d <= 0 {
		q.addNow(k, trace.AddAfter, 0, q.TypedRateLimitingInterface.Add)
		return
	}
	q.addLater(k, trace.AddAfter, d, 0)
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface. It does what client-go's own does, in two steps, to
// learn the delay in between.
func (q *queue[K]) AddRateLimited(k K) {
	if !q.inScope(k) {
		return
	}
	q.adding.Add(1)
	defer q.adding.Add(-1)
	if q.limiter == nil {
		q.addNow(k, trace.AddRateLimited, q.failures(k, q.NumRequeues(k)+1), q.TypedRateLimitingInterface.AddRateLimited)
		return
	}
	q.countRetry()
	d := q.limiter.When(k)
	q.addLater(k, trace.AddRateLimited, d, q.failures(k, q.limiter.NumRequeues(k)))
}

// inScope reports whether the controller has to do with the key.
func (q *queue[K]) inScope(k K) bool { return q.c.tap.inScope == nil || q.c.keyInScope(q.keyText(k)) }

// ShutDown implements workqueue.TypedInterface.
func (q *queue[K]) ShutDown() {
	q.delays.ShutDown()
	q.order.Lock()
	defer q.order.Unlock()
	q.ready.Broadcast()
}

// ShutDownWithDrain implements workqueue.TypedInterface. Workers that wait for a key learn of it when those that have one
// are done.
func (q *queue[K]) ShutDownWithDrain() {
	q.TypedRateLimitingInterface.ShutDownWithDrain()
	q.ShutDown() // ends its goroutine at once
}

// expiredDelays is the wrapped queue as the delaying queue in front of it sees it: what is added here has waited.
type expiredDelays[K comparable] struct {
	workqueue.TypedInterface[*delay[K]] // nil: the delaying queue hands nothing out
	w                                   workqueue.TypedRateLimitingInterface[K]
	q                                   *queue[K]
}

// Add implements workqueue.TypedInterface.
func (d *expiredDelays[K]) Add(over *delay[K]) {
	d.q.adding.Add(1)
	defer d.q.adding.Add(-1)
	now := d.q.c.tap.clock.Now()
	d.q.order.Lock()
	defer d.q.order.Unlock()
	if d.q.tracker.expire(over, now) {
		d.w.Add(over.key)
		d.q.ready.Signal()
	}
}

// ShutDown implements workqueue.TypedInterface.
func (d *expiredDelays[K]) ShutDown() { d.w.ShutDown() }

// ShuttingDown implements workqueue.TypedInterface.
func (d *expiredDelays[K]) ShuttingDown() bool { return d.w.ShuttingDown() }

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *queue[K]) Forget(k K) {
	if r := q.own(k); r != nil {
		if retries := q.NumRequeues(k); retries > 0 {
			r.forgot(retries, q.c.tap.stacks.reporter())
		}
	}
	q.TypedRateLimitingInterface.Forget(k)
}

// Get implements workqueue.TypedInterface. It begins a reconcile.
func (q *queue[K]) Get() (K, bool) {
	if t := currentActivity().iteration; t != nil && q.Len() == 0 {
		t.end() // a worker's
	}
	k, now, taken, down := q.next()
	if down {
		return k, down
	}
	t := q.c.tap
	if t.draining.Load() {
		q.giveBack(k, now)
		var none K
		return none, true // and the worker goes
	}
	if !t.recording() {
		return k, down
	}
	r := &reconcile{c: q.c, queue: q.name, id: t.rec.NextReconcile(), key: q.keyText(k), start: now}
	q.c.history.add(r)
	v := &takenReconcile{reconcile: r}
	q.running.Store(k, v)
	start := &trace.Start{Queue: q.name, Causes: taken.causes, MoreCauses: taken.more, QueueWait: trace.Duration(taken.wait)}
	if q.c.traits.BegunKey != nil {
		q.c.handoffs.put(r.key, handoff{v, start})
	} else {
		v.begin(start)
	}
	return k, down
}

// next waits for a key and takes it, as Get of client-go's queue does (util/workqueue/queue.go), and for the controller's gate.
func (q *queue[K]) next() (k K, now time.Time, taken takenKey, down bool) {
	if q.limiter == nil { // the wrapped queue adds keys by itself, of which the account does not know
		if k, down = q.TypedRateLimitingInterface.Get(); down {
			return k, now, taken, down
		}
		now = q.c.tap.clock.Now()
		return k, now, q.tracker.take(k, now), false
	}
	q.order.Lock()
	defer q.order.Unlock()
	for !q.ShuttingDown() && (q.Len() == 0 || q.c.gateClosed()) {
		q.ready.Wait()
	}
	if q.ShuttingDown() && q.c.gateClosed() {
		return k, now, taken, true
	}
	if k, down = q.TypedRateLimitingInterface.Get(); down { // at once
		return k, now, taken, down
	}
	now = q.c.tap.clock.Now()
	return k, now, q.tracker.take(k, now), false
}

// Done implements workqueue.TypedInterface. It ends the reconcile, and its goroutines belong to none from here on.
func (q *queue[K]) Done(k K) {
	now := q.c.tap.clock.Now()
	if v, ok := q.running.LoadAndDelete(k); ok {
		v := v.(*takenReconcile)
		q.c.handoffs.begin(v.reconcile.key)
		v.finish(now, panicking())
	}
	q.giveBack(k, now)
}

// giveBack lets others take the key, if it has been added again.
func (q *queue[K]) giveBack(k K, now time.Time) {
	q.order.Lock()
	defer q.order.Unlock()
	q.tracker.done(k, now)
	q.TypedRateLimitingInterface.Done(k)
	q.ready.Signal()
}

// to is the reconcile of the key if it is under way and recorded, nil otherwise.
func (q *queue[K]) own(k K) *reconcile {
	if v, ok := q.running.Load(k); ok {
		return v.(*takenReconcile).reconcile
	}
	return nil
}

// addNow records an addition to be taken at once, and hands it on by add, which is the wrapped queue's. retry is 0 if it is
// none.
func (q *queue[K]) addNow(k K, op trace.Operation, retry int, add func(K)) {
	if q.ShuttingDown() {
		return
	}
	now := q.c.tap.clock.Now()
	cause := q.record(k, &trace.Enqueue{Operation: op, Queue: q.name, Retry: retry})
	if r := q.within(k, op); r != nil {
		r.comesBack(now, retry)
	}
	q.order.Lock()
	defer q.order.Unlock()
	q.tracker.add(k, now, cause)
	add(k)
	q.ready.Signal()
}

// addLater records an addition with a delay, and has the delaying queue wait for it. retry is 0 for a timer.
func (q *queue[K]) addLater(k K, op trace.Operation, d time.Duration, retry int) {
	now := q.c.tap.clock.Now()
	due := now.Add(d)
	down := q.ShuttingDown()
	if r := q.within(k, op); r != nil {
		r.comesBack(due, retry)
	}
	if down {
		return
	}
	cause := q.record(k, &trace.Enqueue{Operation: op, Queue: q.name, Delay: trace.Duration(d), Retry: retry})
	if later := q.tracker.addAt(k, now, due, cause, retry); later != nil {
		q.delays.AddAfter(later, d)
	}
}

// state asks the wrapped queue too: of the keys that it adds by itself the account does not know, and the larger figure is
// right.
func (q *queue[K]) state(now time.Time) QueueState {
	ready := q.Len()
	if q.ShuttingDown() {
		return QueueState{Queue: q.name, Queued: ready, Running: q.tracker.running()}
	}
	s := q.tracker.state(now)
	s.Queue = q.name
	s.Queued = max(s.Queued, ready) + int(q.adding.Load())
	return s
}

// countRetry counts as client-go does: every addition that goes by way of a delay, however short.
func (q *queue[K]) countRetry() {
	if q.retries != nil && !q.ShuttingDown() {
		q.retries.Inc()
	}
}

// drain implements account: workers that wait for a key are told that none comes, and the others when they ask next.
func (q *queue[K]) drain() { q.ShutDown() }

// gateOpened implements account.
func (q *queue[K]) gateOpened() {
	q.order.Lock()
	defer q.order.Unlock()
	q.ready.Broadcast()
}
