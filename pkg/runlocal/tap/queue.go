package tap

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// queue is a workqueue that is observed. Methods that it does not declare are those of the wrapped queue. Delays are
// not passed to the wrapped queue but to another delaying queue of client-go in front of it, so that their ends are
// seen. That queue waits for each delay separately; the tracker decides which of a key's delays count.
//
// The tracker and the wrapped queue are told of additions and of taken keys in the same order, under order: so each
// addition is a cause of exactly the reconcile that follows it.
type queue[K comparable] struct {
	workqueue.TypedRateLimitingInterface[K]
	c       *Controller
	name    string
	keyText func(K) string
	// limiter is the rate limiter of the wrapped queue; nil if it is not found. Then AddRateLimited is left to the
	// wrapped queue, and recorded as if it had no delay.
	limiter workqueue.TypedRateLimiter[K]
	// delays holds a *delay[K] for each delay. It is of any, so that the program has the code of one type of delaying
	// queue for all types of keys.
	delays workqueue.TypedDelayingInterface[any]
	// retries is the metric of the wrapped queue, which does not see delays; nil if it has none.
	retries workqueue.CounterMetric
	tracker *queueTracker[K]
	adding  atomic.Int64 // additions that have not reached the wrapped queue
	// order is held while the tracker and the wrapped queue are told of the same thing. Tap.mu may be taken under it.
	// ready, whose lock it is, is signalled when a key can be taken, and broadcast when the gate or the queue's end may
	// let workers go on.
	order sync.Mutex
	ready *sync.Cond

	running sync.Map // K -> *takenReconcile, of keys that are recorded
}

// WrapQueue returns a queue that does what q does and is observed. name is as in trace.Enqueue: empty for the
// controller's main queue. key returns the text of a key for the trace. The caller must not use q after that.
func WrapQueue[K comparable](
	c *Controller, name string, q workqueue.TypedRateLimitingInterface[K], key func(K) string,
) workqueue.TypedRateLimitingInterface[K] {
	w := &queue[K]{
		TypedRateLimitingInterface: q, c: c, name: name, keyText: key,
		limiter: rateLimiterOf(q), retries: retriesOf(q),
	}
	w.tracker, w.ready = newQueueTracker(&c.tap.mu, key), sync.NewCond(&w.order)
	w.delays = workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[any]{
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

// AddRateLimited implements workqueue.TypedRateLimitingInterface. It does what client-go's does, in two steps, to learn
// the delay.
func (q *queue[K]) AddRateLimited(k K) {
	if !q.inScope(k) {
		return
	}
	q.adding.Add(1)
	defer q.adding.Add(-1)
	if q.limiter == nil {
		failures := q.failures(k, q.NumRequeues(k)+1)
		q.addNow(k, trace.AddRateLimited, failures, q.TypedRateLimitingInterface.AddRateLimited)
		return
	}
	q.countRetry()
	d := q.limiter.When(k)
	q.addLater(k, trace.AddRateLimited, d, q.failures(k, q.limiter.NumRequeues(k)))
}

// inScope reports whether the controller works on the key.
func (q *queue[K]) inScope(k K) bool { return q.c.tap.inScope == nil || q.c.keyInScope(q.keyText(k)) }

// ShutDown implements workqueue.TypedInterface.
func (q *queue[K]) ShutDown() {
	q.delays.ShutDown()
	q.order.Lock()
	defer q.order.Unlock()
	q.ready.Broadcast()
}

// ShutDownWithDrain implements workqueue.TypedInterface. Workers that wait for a key are woken when all taken keys are
// done.
func (q *queue[K]) ShutDownWithDrain() {
	q.TypedRateLimitingInterface.ShutDownWithDrain()
	q.ShutDown() // ends its goroutine at once
}

// expiredDelays is the queue behind the delaying queue: what is added to it has waited, and goes to the wrapped queue.
type expiredDelays[K comparable] struct {
	workqueue.TypedInterface[any] // nil: no one takes keys from the delaying queue
	w                             workqueue.TypedRateLimitingInterface[K]
	q                             *queue[K]
}

// Add implements workqueue.TypedInterface.
func (d *expiredDelays[K]) Add(over any) {
	expired := over.(*delay[K]) // addLater adds nothing else
	d.q.adding.Add(1)
	defer d.q.adding.Add(-1)
	now := d.q.c.tap.clock.Now()
	d.q.order.Lock()
	defer d.q.order.Unlock()
	if d.q.tracker.expire(expired, now) && !d.q.hold(expired.key, true) {
		d.w.Add(expired.key)
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

// Get implements workqueue.TypedInterface. It starts a reconcile, and labels the calling goroutine with it until Done.
// With ControllerTraits.BegunKey both are left to the goroutine that begins to work on the key.
func (q *queue[K]) Get() (K, bool) {
	if t := currentActivity().iteration; t != nil && q.Len() == 0 {
		t.end() // the loop is a worker's
	}
	k, now, taken, down := q.next()
	if down {
		return k, down
	}
	t := q.c.tap
	if t.draining.Load() {
		q.giveBack(k, now)
		var none K
		return none, true // which ends the worker
	}
	if !t.recording() {
		return k, down
	}
	r := &reconcile{c: q.c, queue: q.name, id: t.rec.NextReconcile(), key: q.keyText(k), start: now}
	q.c.history.add(r)
	v := &takenReconcile{reconcile: r}
	q.running.Store(k, v)
	start := taken.start(q.name)
	if q.c.traits.BegunKey != nil {
		q.c.handoffs.put(r.key, handoff{v, start})
	} else {
		v.begin(start)
	}
	return k, down
}

// next waits for a key and for the controller's gate, and takes the key. It waits on ready as Get of client-go's queue
// does on its own condition (util/workqueue/queue.go): only so are the key and the tracker in one order.
func (q *queue[K]) next() (k K, now time.Time, taken takenKey, down bool) {
	if q.limiter == nil { // the wrapped queue adds keys after delays without the tracker
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
	if k, down = q.TypedRateLimitingInterface.Get(); down { // does not wait: there is a key, or the queue is shut down
		return k, now, taken, down
	}
	now = q.c.tap.clock.Now()
	return k, now, q.tracker.take(k, now), false
}

// Done implements workqueue.TypedInterface. It ends the reconcile, and what its goroutines do after that belongs to
// none.
func (q *queue[K]) Done(k K) {
	now := q.c.tap.clock.Now()
	if v, ok := q.running.LoadAndDelete(k); ok {
		v := v.(*takenReconcile)
		q.c.handoffs.begin(v.reconcile.key)
		v.finish(now, panicking())
	}
	q.giveBack(k, now)
}

// giveBack marks the key done, after which workers can take it if it was added again.
func (q *queue[K]) giveBack(k K, now time.Time) {
	q.order.Lock()
	defer q.order.Unlock()
	q.tracker.done(k, now)
	q.TypedRateLimitingInterface.Done(k)
	q.ready.Signal()
}

// own returns the reconcile of the key if it is running and recorded, nil otherwise.
func (q *queue[K]) own(k K) *reconcile {
	if v, ok := q.running.Load(k); ok {
		return v.(*takenReconcile).reconcile
	}
	return nil
}

// addNow records an addition without a delay, and passes the key to add, a method of the wrapped queue. retry counts
// the failures in a row; 0 if the addition follows none.
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
	if q.hold(k, false) {
		return
	}
	add(k)
	q.ready.Signal()
}

// addLater records an addition with a delay, and has the delaying queue wait for it. retry is as for addNow.
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

// state implements observedQueue. The wrapped queue may have keys that the tracker does not know, if it adds keys after
// delays by itself; the larger count is right.
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

// countRetry counts as client-go's delaying queue does: every addition with a delay, however short.
func (q *queue[K]) countRetry() {
	if q.retries != nil && !q.ShuttingDown() {
		q.retries.Inc()
	}
}

// drain implements observedQueue: Get returns, to workers that wait and to those that call it later, that the queue is
// shut down.
func (q *queue[K]) drain() { q.ShutDown() }

// gateOpened implements observedQueue.
func (q *queue[K]) gateOpened() {
	q.order.Lock()
	defer q.order.Unlock()
	q.ready.Broadcast()
}
