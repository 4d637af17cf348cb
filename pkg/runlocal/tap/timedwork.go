package tap

import (
	"errors"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TimedWork observes work that a controller leaves to timers of its own, without a queue: each piece becomes a reconcile, whose
// cause is what planned it. Whoever makes it tells it of all that happens. Its methods may be called concurrently.
type TimedWork struct {
	c       *Controller
	name    string
	tracker *queueTracker[string]
}

// TimedWork returns one of that name, which stands in the trace in a queue's place.
func (c *Controller) TimedWork(name string) *TimedWork {
	w := &TimedWork{c: c, name: name, tracker: newQueueTracker(&c.tap.mu, func(key string) string { return key })}
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.queues = append(c.queues, w)
	return w
}

// Scheduled tells that the calling goroutine plans work on the key, to be done after that time; at once if it is not positive.
func (w *TimedWork) Scheduled(key string, after time.Duration) {
	if !w.c.keyInScope(key) {
		return
	}
	now := w.c.tap.clock.Now()
	if after <= 0 {
		w.tracker.add(key, now, w.record(key, &trace.Enqueue{Operation: trace.Add, Queue: w.name}))
		return
	}
	cause := w.record(key, &trace.Enqueue{Operation: trace.AddAfter, Queue: w.name, Delay: trace.Duration(after)})
	w.tracker.addAt(key, now, now.Add(after), cause, 0)
}

// record emits what was planned and returns it as a cause; nil when nothing is recorded.
func (w *TimedWork) record(key string, e *trace.Enqueue) *trace.Cause {
	t := w.c.tap
	if !t.recording() {
		return nil
	}
	e.Handler = t.stacks.handler()
	return t.enqueued(w.c, key, e, currentActivity().cause(e))
}

// Cancelled tells that what was planned for later is not done.
func (w *TimedWork) Cancelled(key string) { w.tracker.cancel(key) }

// Do does the planned work on the key, as a reconcile that fails with its error. Work on what the controllers have nothing
// to do with is not done.
func (w *TimedWork) Do(key string, work func() error) error {
	if !w.c.keyInScope(key) {
		return nil
	}
	now := w.c.tap.clock.Now()
	w.tracker.expireAll(key, now)
	taken := w.tracker.take(key, now)
	defer func() { w.tracker.done(key, w.c.tap.clock.Now()) }()
	t := w.c.tap
	if !t.recording() {
		return work()
	}
	r := &reconcile{c: w.c, queue: w.name, id: t.rec.NextReconcile(), key: key, start: now}
	w.c.history.add(r)
	v := &takenReconcile{reconcile: r}
	v.begin(&trace.Start{Queue: w.name, Causes: taken.causes, MoreCauses: taken.more, QueueWait: trace.Duration(taken.wait)})
	defer func() { v.finish(t.clock.Now(), panicking()) }()
	err := work()
	if err != nil {
		r.conclude(trace.Failed, errors.New(w.c.errorText(err)))
	}
	return err
}

// state implements account.
func (w *TimedWork) state(now time.Time) QueueState {
	s := w.tracker.state(now)
	s.Queue = w.name
	return s
}

// drain implements account: what is planned is the controller's to end.
func (*TimedWork) drain() {}

// gateOpened implements account: work that no queue hands out waits for no gate.
func (*TimedWork) gateOpened() {}
