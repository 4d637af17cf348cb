package tap

import (
	"errors"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TimedWork observes work that a controller does by its own timers, without a queue: each piece of work becomes a
// reconcile, caused by what scheduled it. The caller, which knows how the controller schedules, must call its methods.
// They may be called concurrently.
type TimedWork struct {
	c       *Controller
	name    string
	tracker *queueTracker[string]
}

// TimedWork returns a TimedWork whose name takes the place of a queue's in the trace.
func (c *Controller) TimedWork(name string) *TimedWork {
	w := &TimedWork{c: c, name: name, tracker: newQueueTracker(&c.tap.mu, func(key string) string { return key })}
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.queues = append(c.queues, w)
	return w
}

// Scheduled records that the calling goroutine schedules work on the key, to be done after that time, at once if it is
// not positive.
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

// record emits the scheduling and returns it as a cause; nil if nothing is recorded.
func (w *TimedWork) record(key string, e *trace.Enqueue) *trace.Cause {
	t := w.c.tap
	if !t.recording() {
		return nil
	}
	e.Handler = t.stacks.handler()
	return t.enqueued(w.c, key, e, currentActivity().cause(e))
}

// Cancelled records that work which was scheduled for later will not be done.
func (w *TimedWork) Cancelled(key string) { w.tracker.cancel(key) }

// Do calls work as a reconcile of the key, which fails if work returns an error, and returns that error. If the key is
// out of scope it does not call work.
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
	v.begin(taken.start(w.name))
	defer func() { v.finish(t.clock.Now(), panicking()) }()
	err := work()
	if err != nil {
		r.conclude(trace.Failed, errors.New(w.c.errorText(err)))
	}
	return err
}

// state implements observedQueue.
func (w *TimedWork) state(now time.Time) QueueState {
	s := w.tracker.state(now)
	s.Queue = w.name
	return s
}

// drain implements observedQueue: scheduled work is the controller's to cancel.
func (*TimedWork) drain() {}

// gateOpened implements observedQueue: timed work is not gated.
func (*TimedWork) gateOpened() {}

// release implements observedQueue: timed work is not held.
func (*TimedWork) release(string) bool { return false }

// releaseAll implements observedQueue.
func (*TimedWork) releaseAll() {}
