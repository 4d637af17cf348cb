package tap

import (
	"errors"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// reconcile is what is known of a reconcile, while it runs and after. All goroutines that work for it add to this.
type reconcile struct {
	c         *Controller
	queue     string
	id        trace.ReconcileID
	key       string
	start     time.Time
	timerLoop bool // it is an iteration of a timer loop, which has no queue that could retry it

	mu         sync.Mutex // guards the rest
	err        string     // the last error that was logged or handled
	reporters  []string   // the functions that reported an error
	forgetter  string     // the function that last reset the retries of the key
	retries    int        // the failures in a row when it did
	retried    bool       // the key was added by AddRateLimited
	next       time.Time  // when the key comes back; zero if nothing has added it again
	nextRetry  int        // the failures in a row, for next; 0 for a timer
	writes     int        // successful ones
	refused    int
	outcome    trace.Outcome // of Controller.Outcome or TimedWork.Do; empty if it must be inferred
	outcomeErr error
	async      asyncWork
}

func (r *reconcile) conclude(outcome trace.Outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome, r.outcomeErr = outcome, err
}

// reported records an error that function has logged or handled. function is empty for an error that is only a value of
// a log line, which is no sign that the key is given up.
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

// forgot records that function reset the retries of the reconcile's own key.
func (r *reconcile) forgot(retries int, function string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retries, r.forgetter = retries, function
}

// comesBack records that the reconcile's own key was added to its queue again; the earliest time counts. retry is 0 for
// a timer.
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

// requeuesWithoutError reports whether AddRateLimited of the reconcile's key is not a failure, so far.
func (r *reconcile) requeuesWithoutError() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.c.traits.RequeuesWithoutError && r.err == ""
}

// end returns the end of the reconcile, and the Dropped event if its key was given up, nil otherwise.
func (r *reconcile) end(at time.Time, panicking bool) (*trace.End, *trace.Dropped) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &trace.End{Queue: r.queue, Duration: trace.Duration(at.Sub(r.start)), Writes: r.writes, Refused: r.refused}
	e.Outcome, e.Error = r.verdict(panicking)
	if e.Outcome == trace.Failed {
		e.PutOff, _ = trace.StaleCache(e.Error)
	}
	if r.c.stale.isStuck(r.queue, r.key, e.Error, e.PutOff != "", at) {
		e.PutOff = ""
	}
	if !r.next.IsZero() {
		e.Next = &trace.Next{After: trace.Duration(max(r.next.Sub(at), 0)), Retry: r.nextRetry}
	}
	if e.Outcome != trace.GaveUp {
		return e, nil
	}
	return e, &trace.Dropped{Retries: r.retries, Error: e.Error}
}

// A key that was put off by the same state of its controller's cache more than maxPutOff times in a row, over more than
// maxPutOffTime, has failed. With the backoff of client-go's default rate limiter so many take longer than that; while
// many pods come up, events add the key as often in a moment.
const (
	maxPutOff     = 8
	maxPutOffTime = time.Second
)

// staleKeys are the keys that were put off since they were done, and by what. The zero value is empty. Its methods may
// be called concurrently.
type staleKeys struct {
	mu   sync.Mutex
	keys map[[2]string]staleKey // by queue and key
}

// staleKey is an error by which a key was put off, which has the versions in the cache and of the write, and how often.
type staleKey struct {
	err   string
	times int
	since time.Time
}

// isStuck records how a reconcile of a key has ended, and reports whether the key is put off while nothing changes.
func (s *staleKeys) isStuck(queue, key, err string, putOff bool, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := [2]string{queue, key}
	if !putOff {
		delete(s.keys, at)
		return false
	}
	k := s.keys[at]
	if k.err != err {
		k = staleKey{err: err, since: now}
	}
	k.times++
	if s.keys == nil {
		s.keys = map[[2]string]staleKey{}
	}
	s.keys[at] = k
	return k.times > maxPutOff && now.Sub(k.since) > maxPutOffTime
}

// verdict infers the outcome and its error from what upstream's controllers have in common. All add a failed key again
// by AddRateLimited. Those that give up call Forget in the function that also reports the error (handleErr in
// pkg/controller/deployment/deployment_controller.go and similar); a success after failures calls Forget too, but
// errors on the way were reported by other functions.
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

// takenReconcile is the reconcile of a key that a worker has taken.
type takenReconcile struct {
	reconcile *reconcile
	labels    labelChange
}

// begin labels the calling goroutine with the reconcile, and records its start.
func (v *takenReconcile) begin(start *trace.Start) {
	r := v.reconcile
	v.labels = (&activity{controller: r.c, reconcile: r}).enter(keyLabels(r))
	r.c.tap.rec.Emit(r.c.name, r.id, r.key, start)
}

// keyLabels show the goroutines of a reconcile in a profile.
func keyLabels(r *reconcile) pprof.LabelSet {
	return pprof.Labels("controller", r.c.name, "key", r.key)
}

// finish ends the reconcile of a key that is done, or leaves that to the end of its asynchronous work.
func (v *takenReconcile) finish(now time.Time, panicking bool) {
	r := v.reconcile
	end := func(at time.Time) {
		e, dropped := r.end(at, panicking)
		v.labels.end()
		r.c.tap.rec.Emit(r.c.name, r.id, r.key, e)
		if dropped != nil {
			r.c.tap.rec.Emit(r.c.name, r.id, r.key, dropped)
		}
	}
	if r.endsLater(end) {
		v.labels.restore()
		return
	}
	end(now)
}

// failIfReported makes a reconcile fail if it has reported an error. It is for reconciles without a queue, whose
// failures are not known by retries.
func (r *reconcile) failIfReported() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != "" {
		r.outcome, r.outcomeErr = trace.Failed, errors.New(r.err)
	}
}

// historySize bounds the reconciles of a controller that are kept after their end. API Events are sent within
// milliseconds of being recorded, later in a burst of them.
const historySize = 1024

// pastReconcile is a reconcile that is kept to attribute the API Events that it recorded.
type pastReconcile struct {
	id    trace.ReconcileID
	key   string
	start time.Time
}

// history keeps a controller's latest reconciles. The zero value is empty. Its methods may be called concurrently.
type history struct {
	mu   sync.Mutex // guards the rest
	ring []pastReconcile
	last int // the index of the latest
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

// find returns the latest reconcile of the key that had begun at that time; reconciles of one key do not overlap. If
// the time is zero, which means that it is not known, it returns the latest of the key. It returns 0 if none is kept.
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

// latest yields the indexes of the ring, the latest first. h.mu must be held.
func (h *history) latest() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for n := range h.ring {
			if !yield((h.last - n + len(h.ring)) % len(h.ring)) {
				return
			}
		}
	}
}
