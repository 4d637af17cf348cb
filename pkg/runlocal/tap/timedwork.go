package tap

import (
	"errors"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Timed observes work that a controller leaves to timers of its own, without a queue: each piece becomes a reconcile, whose
// cause is what planned it. Whoever makes it tells it of all that happens. Its methods may be called concurrently.
type Timed struct {
	c       *Controller
	name    string
	account *ledger[string]
}

// Timed returns one of that name, which stands in the trace in a queue's place.
func (c *Controller) Timed(name string) *Timed {
	w := &Timed{c: c, name: name, account: newLedger(&c.tap.mu, func(key string) string { return key })}
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.accounts = append(c.accounts, w)
	return w
}

// Planned tells that the calling goroutine plans work on the key, to be done after that time; at once if it is not positive.
func (w *Timed) Planned(key string, after time.Duration) {
	if !w.c.keepsKey(key) {
		return
	}
	now := w.c.tap.clock.Now()
	if after <= 0 {
		w.account.add(key, now, w.record(key, &trace.Enqueue{Operation: trace.Add, Queue: w.name}))
		return
	}
	cause := w.record(key, &trace.Enqueue{Operation: trace.AddAfter, Queue: w.name, Delay: trace.Duration(after)})
	w.account.addAt(key, now, now.Add(after), cause, 0)
}

// record emits what was planned and returns it as a cause; nil when nothing is recorded.
func (w *Timed) record(key string, e *trace.Enqueue) *trace.Cause {
	t := w.c.tap
	if !t.on() {
		return nil
	}
	e.Handler = t.stacks.handler()
	return t.enqueued(w.c, key, e, current().cause(e))
}

// Cancelled tells that what was planned for later is not done.
func (w *Timed) Cancelled(key string) { w.account.cancel(key) }

// Do does the planned work on the key, as a reconcile that fails with its error. Work on what the controllers have nothing
// to do with is not done.
func (w *Timed) Do(key string, work func() error) error {
	if !w.c.keepsKey(key) {
		return nil
	}
	now := w.c.tap.clock.Now()
	w.account.due(key, now)
	taken := w.account.take(key, now)
	defer func() { w.account.done(key, w.c.tap.clock.Now()) }()
	t := w.c.tap
	if !t.on() {
		return work()
	}
	r := &reconcile{c: w.c, queue: w.name, id: t.rec.NextReconcile(), key: key, start: now}
	w.c.history.began(r)
	v := &run{reconcile: r}
	v.begin(&trace.Start{Queue: w.name, Causes: taken.causes, MoreCauses: taken.more, QueueWait: trace.Duration(taken.wait)})
	defer func() { v.finish(t.clock.Now(), panicking()) }()
	err := work()
	if err != nil {
		r.conclude(trace.Failed, errors.New(w.c.errorText(err)))
	}
	return err
}

// state implements account.
func (w *Timed) state(now time.Time) QueueState {
	s := w.account.state(now)
	s.Queue = w.name
	return s
}

// drain implements account: what is planned is the controller's to end.
func (*Timed) drain() {}

// cancel notes that the delays of the key have come to nothing.
func (l *ledger[K]) cancel(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.keys[k]; e != nil {
		e.delays = nil
		l.forget(k, e)
	}
}

// forget drops an account in which there is nothing. l.mu must be held.
func (l *ledger[K]) forget(k K, e *entry[K]) {
	if !e.queued && e.running == 0 && len(e.delays) == 0 {
		delete(l.keys, k)
	}
}

// opened implements account: work that no queue hands out waits for no gate.
func (*Timed) opened() {}
