package tap

import (
	"slices"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// maxCauses bounds the causes that are kept for a key; more are counted.
const maxCauses = 16

// ledger is the account of one queue: what is queued, running and delayed, and why. It is told of additions and takings in
// the queue's own order. Its lock is the Tap's, so that State sees all queues at one moment.
type ledger[K comparable] struct {
	mu      *sync.Mutex
	keyText func(K) string
	keys    map[K]*entry[K]
}

// entry is the account of one key.
type entry[K comparable] struct {
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
	key     K
	due     time.Time
	retry   int
	handler string
	waits   []asked
	more    int // events that waits has no room for
}

// asked is one delay that was asked for.
type asked struct {
	due   time.Time
	cause *trace.Cause
}

// atEvent says that a watch event led to the wait.
func (a asked) atEvent() bool { return a.cause != nil && a.cause.Watch != nil }

// ask keeps a wait, of which d knows already when it is over. The one that ends first is always among those that are kept.
func (d *delay[K]) ask(a asked) {
	if len(d.waits) < maxCauses {
		d.waits = append(d.waits, a)
		return
	}
	if last := &d.waits[maxCauses-1]; a.due.Equal(d.due) {
		a, *last = *last, a
	}
	if a.atEvent() {
		d.more++
	}
}

// over are the causes of those waits whose time has come, and of those that a watch event led to: the reconcile answers to
// all events up to now. The other waits came to nothing when the queue merged them.
func (d *delay[K]) over(now time.Time) causes {
	out := causes{more: d.more}
	for _, w := range d.waits {
		if !w.due.After(now) || w.due.Equal(d.due) || w.atEvent() {
			out.add(w.cause)
		}
	}
	return out
}

// taking is what is known of a key when it is taken.
type taking struct {
	causes []trace.Cause
	more   int
	wait   time.Duration
}

func newLedger[K comparable](mu *sync.Mutex, keyText func(K) string) *ledger[K] {
	return &ledger[K]{mu: mu, keyText: keyText, keys: map[K]*entry[K]{}}
}

// entry returns the account of the key. l.mu must be held.
func (l *ledger[K]) entry(k K) *entry[K] {
	e := l.keys[k]
	if e == nil {
		e = &entry[K]{}
		l.keys[k] = e
	}
	return e
}

// add tells that the key is about to be added. A nil cause is none.
func (l *ledger[K]) add(k K, now time.Time, cause *trace.Cause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(k)
	if !e.queued {
		e.queued, e.since = true, now
	}
	e.causes.add(cause)
}

// addAt notes that the key is to be added at due, after now. retry is 0 for a timer. It returns the delay that the delaying
// queue is to hold from now on; nil if the one that it holds for the key ends sooner.
func (l *ledger[K]) addAt(k K, now, due time.Time, cause *trace.Cause, retry int) *delay[K] {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(k)
	last := len(e.delays) - 1
	var merged []asked
	var more int
	if last >= 0 && e.delays[last].due.After(now) {
		d := e.delays[last]
		if !due.Before(d.due) {
			d.ask(asked{due, cause})
			return nil
		}
		merged, more = d.waits, d.more
		e.delays = e.delays[:last]
	}
	d := &delay[K]{key: k, due: due, retry: retry, handler: handlerIn(cause), waits: merged, more: more}
	d.ask(asked{due, cause})
	e.delays = append(e.delays, d)
	return d
}

func handlerIn(cause *trace.Cause) string {
	if cause == nil {
		return ""
	}
	return cause.Handler
}

// fire notes that a delay has ended and its key is about to be added, and reports whether it is: not if another delay has
// taken its place.
func (l *ledger[K]) fire(d *delay[K], now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.keys[d.key]
	if e == nil || !slices.Contains(e.delays, d) {
		return false
	}
	e.delays = slices.DeleteFunc(e.delays, func(other *delay[K]) bool { return other == d })
	e.causes.addAll(d.over(now))
	if !e.queued {
		e.queued, e.since = true, d.due
	}
	return true
}

// take tells that a worker has got the key, and returns why and how long that took. There is no cause for a key that was
// added past the account.
func (l *ledger[K]) take(k K, now time.Time) taking {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(k)
	got, ready := e.causes, e.since
	if !e.queued {
		ready = now
	}
	e.queued, e.causes = false, causes{}
	e.running++
	if e.free.After(ready) {
		ready = e.free
	}
	return taking{causes: sorted(got.list), more: got.more, wait: max(now.Sub(ready), 0)}
}

// done tells that a worker has finished with the key.
func (l *ledger[K]) done(k K, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(k)
	e.running = max(e.running-1, 0)
	e.free = now
	l.forget(k, e)
}

// due notes that the delays of the key have ended, if it had any.
func (l *ledger[K]) due(k K, now time.Time) {
	l.mu.Lock()
	var over []*delay[K]
	if e := l.keys[k]; e != nil {
		over = slices.Clone(e.delays)
	}
	l.mu.Unlock()
	for _, d := range over {
		l.fire(d, now)
	}
}
