package tap

import (
	"errors"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// reconcile is one that is under way, or was. Whichever goroutines work for it add to what is known of it.
type reconcile struct {
	c         *Controller
	queue     string
	id        trace.ReconcileID
	key       string
	start     time.Time
	timerLoop bool // of a loop: no queue brings it back

	mu         sync.Mutex // guards the rest
	err        string     // the last error that was logged or handled
	reporters  []string   // the functions that reported an error
	forgetter  string     // the function that last gave up counting retries
	retries    int        // failures in a row when it did
	retried    bool
	next       time.Time // when the key comes back; zero if it does not by itself
	nextRetry  int
	writes     int // that were taken
	refused    int
	outcome    trace.Outcome // as told by the controller's loop; empty if it does not tell
	outcomeErr error
	async      asyncWork
}

func (r *reconcile) conclude(outcome trace.Outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome, r.outcomeErr = outcome, err
}

// reported notes an error that function has logged or handled. function is empty if it need not be known.
func (r *reconcile) reported(err, function string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	if function != "" {
		r.reporters = append(r.reporters, function)
	}
}

func (r *reconcile) wrote(refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if refused {
		r.refused++
	} else {
		r.writes++
	}
}

// forgot notes that function reset the retries of the reconcile's own key.
func (r *reconcile) forgot(retries int, function string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retries, r.forgetter = retries, function
}

// comesBack notes that the reconcile's own key was added to its queue again; the earliest time counts. retry is 0 for a
// timer.
func (r *reconcile) comesBack(at time.Time, retry int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if retry > 0 {
		r.retried = true
	}
	if r.next.IsZero() || at.Before(r.next) {
		r.next, r.nextRetry = at, retry
	}
}

// requeuesWithoutError says that the reconcile, should its key be added again, has not failed: so far.
func (r *reconcile) requeuesWithoutError() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.c.traits.RequeuesWithoutError && r.err == ""
}

// end sums the reconcile up, and reports whether its key was given up.
func (r *reconcile) end(at time.Time, panicking bool) (*trace.End, *trace.Dropped) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &trace.End{Queue: r.queue, Duration: trace.Duration(at.Sub(r.start)), Writes: r.writes, Refused: r.refused}
	e.Outcome, e.Error = r.verdict(panicking)
	if e.Outcome == trace.Failed {
		e.PutOff, _ = trace.StaleCache(e.Error)
	}
	if !r.next.IsZero() {
		e.Next = &trace.Next{After: trace.Duration(max(r.next.Sub(at), 0)), Retry: r.nextRetry}
	}
	if e.Outcome != trace.GaveUp {
		return e, nil
	}
	return e, &trace.Dropped{Retries: r.retries, Error: e.Error}
}

// verdict tells a failure from what upstream's controllers have in common. All add a failed key again by
// AddRateLimited. Those that give up do it in the function that also reports the error (handleErr in
// pkg/controller/deployment/deployment_controller.go and its likes); a success on a later try forgets the retries too,
// but what it may have reported on the way was reported elsewhere.
func (r *reconcile) verdict(panicking bool) (trace.Outcome, string) {
	switch {
	case panicking:
		return trace.Panicked, r.err
	case r.outcome != "":
		if r.outcomeErr != nil {
			return r.outcome, r.outcomeErr.Error()
		}
		return r.outcome, ""
	case r.retried:
		return trace.Failed, r.err
	case r.retries > 0 && slices.Contains(r.reporters, r.forgetter):
		return trace.GaveUp, r.err
	}
	return trace.Done, ""
}

// takenReconcile is a key that a worker has taken.
type takenReconcile struct {
	reconcile *reconcile
	labels    labelChange
}

// begin puts the calling goroutine into the reconcile, and tells why there is one.
func (v *takenReconcile) begin(start *trace.Start) {
	r := v.reconcile
	v.labels = (&activity{controller: r.c, reconcile: r}).enter(keyLabels(r))
	r.c.tap.rec.Emit(r.c.name, r.id, r.key, start)
}

// keyLabels tell the goroutines of a reconcile apart in a profile.
func keyLabels(r *reconcile) pprof.LabelSet {
	return pprof.Labels("controller", r.c.name, "key", r.key)
}

// finish ends the reconcile of a key that is done, now or when nothing holds it any more.
func (v *takenReconcile) finish(now time.Time, panicking bool) {
	r := v.reconcile
	tell := func(at time.Time) {
		end, dropped := r.end(at, panicking)
		v.labels.end()
		r.c.tap.rec.Emit(r.c.name, r.id, r.key, end)
		if dropped != nil {
			r.c.tap.rec.Emit(r.c.name, r.id, r.key, dropped)
		}
	}
	if r.endsLater(tell) {
		v.labels.restore()
		return
	}
	tell(now)
}

// failIfReported makes a reconcile fail that has no queue to come back to, if it has reported an error.
func (r *reconcile) failIfReported() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != "" {
		r.outcome, r.outcomeErr = trace.Failed, errors.New(r.err)
	}
}

// historySize bounds the reconciles of a controller that are remembered after their end. API Events are sent within
// milliseconds of being recorded, a burst of them later.
const historySize = 1024

// pastReconcile is a reconcile that is remembered for the API Events it recorded.
type pastReconcile struct {
	id    trace.ReconcileID
	key   string
	start time.Time
}

// history remembers a controller's latest reconciles. Its zero value is empty; it may be used concurrently.
type history struct {
	mu   sync.Mutex
	ring []pastReconcile
	last int // the index that was written last
}

func (h *history) add(r *reconcile) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := pastReconcile{id: r.id, key: r.key, start: r.start}
	if len(h.ring) < historySize {
		h.ring = append(h.ring, p)
		h.last = len(h.ring) - 1
		return
	}
	h.last = (h.last + 1) % historySize
	h.ring[h.last] = p
}

// find returns the latest reconcile of the key that had begun then: the reconciles of a key do not overlap. A zero time,
// because it is not known, is that of the latest. It returns 0 if none is remembered.
func (h *history) find(key string, then time.Time) trace.ReconcileID {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.latest() {
		if p := h.ring[i]; p.key == key && (then.IsZero() || !p.start.After(then)) {
			return p.id
		}
	}
	return 0
}

// latest yields the indexes of the ring, the last begun first.
func (h *history) latest() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for n := range h.ring {
			if !yield((h.last - n + len(h.ring)) % len(h.ring)) {
				return
			}
		}
	}
}
