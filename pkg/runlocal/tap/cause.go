package tap

import (
	"cmp"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// record emits the addition and returns it as a cause; nil if nothing is recorded.
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

// cause returns the cause that an addition in the activity is, and sets the watch event of e.
func (a *activity) cause(e *trace.Enqueue) *trace.Cause {
	cause := &trace.Cause{
		Type: trace.CauseOther, Handler: e.Handler, Retry: e.Retry, Delay: e.Delay, Reconcile: a.startedBy,
	}
	r := a.reconcile
	if a.iteration != nil {
		cause.Type, r = trace.CauseTimer, a.iteration.begunReconcile()
	}
	if r != nil {
		cause.Reconcile = r.id
	}
	if cause.Reconcile != 0 && a.iteration == nil {
		cause.Type = trace.CauseReconcile
	}
	if a.event != nil {
		e.Watch = a.event.seqNumber()
		cause.Type, cause.Watch = trace.CauseWatch, a.event.watch
	}
	if e.Delay > 0 {
		cause.Type = trace.CauseTimer
	}
	return cause
}

// enqueued emits the addition, and returns its cause with its Seq.
func (t *Tap) enqueued(c *Controller, key string, e *trace.Enqueue, cause *trace.Cause) *trace.Cause {
	cause.Seq = t.rec.Emit(c.name, cause.Reconcile, key, e)
	if cause.Type == trace.CauseWatch {
		cause.Seq = e.Watch
	}
	return cause
}

// failures returns how many failures in a row an AddRateLimited follows, of which the queue has counted that many; 0 if
// the addition is not known to follow a failure: handlers of watch events call AddRateLimited for a delay, and
// controllers with RequeuesWithoutError to look again.
func (q *queue[K]) failures(k K, counted int) int {
	own := q.within(k, trace.AddRateLimited)
	if own == nil || own.requeuesWithoutError() {
		return 0
	}
	return max(counted, 1)
}

// within returns the reconcile of the key if the key is added by this reconcile itself, nil otherwise. A worker loop
// may report failures from a goroutine that does nothing else, and AddRateLimited outside of all reconciles and
// handlers is taken for that.
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

// causes is a list of at most maxCauses.
type causes struct {
	list []trace.Cause
	more int // were left out
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

// sameReason reports whether two additions have the same reason: two handlers, or a loop, added a key for one watch
// event.
func sameReason(a, b *trace.Cause) bool {
	return a.Watch != nil && a.Type == b.Type && a.Watch == b.Watch && a.Handler == b.Handler && a.Delay == b.Delay
}

func (c *causes) addAll(more causes) {
	for i := range more.list {
		c.add(&more.list[i])
	}
	c.more += more.more
}

// sortedBySeq sorts causes by the order of their events.
func sortedBySeq(list []trace.Cause) []trace.Cause {
	slices.SortStableFunc(list, func(a, b trace.Cause) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}
