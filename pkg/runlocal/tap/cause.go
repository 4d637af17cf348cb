package tap

import (
	"cmp"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// record emits the addition and returns it as a cause; nil when nothing is recorded.
func (q *queue[K]) record(k K, e *trace.Enqueue) *trace.Cause {
	t := q.c.tap
	if !t.recording() {
		return nil
	}
	e.Handler = t.stacks.handler()
	cause := currentActivity().cause(e)
	if own := q.within(k, e.Operation); own != nil && e.Retry > 0 {
		cause.Type, cause.Reconcile = trace.CauseRetry, own.id
	}
	return t.enqueued(q.c, q.keyText(k), e, cause)
}

// cause is what an addition in the scope is the cause of. It tells e which watch event led to it.
func (s *activity) cause(e *trace.Enqueue) *trace.Cause {
	cause := &trace.Cause{Type: trace.CauseOther, Handler: e.Handler, Retry: e.Retry, Delay: e.Delay, Reconcile: s.startedBy}
	r := s.reconcile
	if s.iteration != nil {
		cause.Type, r = trace.CauseTimer, s.iteration.begunReconcile()
	}
	if r != nil {
		cause.Reconcile = r.id
	}
	if cause.Reconcile != 0 && s.iteration == nil {
		cause.Type = trace.CauseReconcile
	}
	if s.event != nil {
		e.Watch = s.event.seqNumber()
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
	if own == nil || own.requeuesWithoutError() {
		return 0
	}
	return max(counted, 1)
}

// within returns the reconcile of the key if it is what adds the key again. A loop may report a failure from a goroutine
// that does nothing else, and then only a failure is reported by AddRateLimited.
func (q *queue[K]) within(k K, op trace.Operation) *reconcile {
	own, s := q.own(k), currentActivity()
	if own == nil || s.reconcile == own {
		return own
	}
	if s.reconcile == nil && s.event == nil && op == trace.AddRateLimited {
		return own
	}
	return nil
}

// causes is a bounded list.
type causes struct {
	list []trace.Cause
	more int
}

func (c *causes) add(cause *trace.Cause) {
	switch {
	case cause == nil || len(c.list) > 0 && sameReason(&c.list[len(c.list)-1], cause):
	case len(c.list) < maxCauses:
		c.list = append(c.list, *cause)
	default:
		c.more++
	}
}

// sameReason finds that two handlers or a loop added a key for one reason.
func sameReason(a, b *trace.Cause) bool {
	return a.Watch != nil && a.Type == b.Type && a.Watch == b.Watch && a.Handler == b.Handler && a.Delay == b.Delay
}

func (c *causes) addAll(more causes) {
	for i := range more.list {
		c.add(&more.list[i])
	}
	c.more += more.more
}

// sortedBySeq orders causes by the time at which they came up.
func sortedBySeq(list []trace.Cause) []trace.Cause {
	slices.SortStableFunc(list, func(a, b trace.Cause) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}
