package tap

import (
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

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
	q.account.add(k, now, cause)
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
	if later := q.account.addAt(k, now, due, cause, retry); later != nil {
		q.delays.AddAfter(later, d)
	}
}

// record emits the addition and returns it as a cause; nil when nothing is recorded.
func (q *queue[K]) record(k K, e *trace.Enqueue) *trace.Cause {
	t := q.c.tap
	if !t.on() {
		return nil
	}
	e.Handler = t.stacks.handler()
	cause := current().cause(e)
	if own := q.within(k, e.Operation); own != nil && e.Retry > 0 {
		cause.Type, cause.Reconcile = trace.CauseRetry, own.id
	}
	return t.enqueued(q.c, q.keyText(k), e, cause)
}

// cause is what an addition in the scope is the cause of. It tells e which watch event led to it.
func (s *scope) cause(e *trace.Enqueue) *trace.Cause {
	cause := &trace.Cause{Type: trace.CauseOther, Handler: e.Handler, Retry: e.Retry, Delay: e.Delay, Reconcile: s.behind}
	r := s.reconcile
	if s.turn != nil {
		cause.Type, r = trace.CauseTimer, s.turn.told()
	}
	if r != nil {
		cause.Reconcile = r.id
	}
	if cause.Reconcile != 0 && s.turn == nil {
		cause.Type = trace.CauseReconcile
	}
	if s.event != nil {
		e.Watch = s.event.number()
		cause.Type, cause.Watch = trace.CauseWatch, s.event.watch
	}
	if e.Delay > 0 {
		cause.Type = trace.CauseTimer
	}
	return cause
}

// enqueued emits the addition and returns its cause with its number.
func (t *Tap) enqueued(c *Controller, key string, e *trace.Enqueue, cause *trace.Cause) *trace.Cause {
	cause.Seq = t.rec.Emit(c.name, cause.Reconcile, key, e)
	if cause.Type == trace.CauseWatch {
		cause.Seq = e.Watch
	}
	return cause
}

// failures is how many failures in a row an AddRateLimited follows, by the queue's count of such additions; 0 if it follows
// none that is known of: handlers that see an event use it for a delay, and a controller that Waits for its rhythm.
func (q *queue[K]) failures(k K, counted int) int {
	own := q.within(k, trace.AddRateLimited)
	if own == nil || own.waits() {
		return 0
	}
	return max(counted, 1)
}

// within returns the reconcile of the key if it is what adds the key again. A loop may report a failure from a goroutine
// that does nothing else, and then only a failure is reported by AddRateLimited.
func (q *queue[K]) within(k K, op trace.Operation) *reconcile {
	own, s := q.own(k), current()
	if own == nil || s.reconcile == own {
		return own
	}
	if s.reconcile == nil && s.event == nil && op == trace.AddRateLimited {
		return own
	}
	return nil
}
