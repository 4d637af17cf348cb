package engine

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// maxConflicts is how many conflicts in a row are retried soon: enough for a write that races with a few others, but
// not for a reconciler that always works on a stale object.
const maxConflicts = 5

// limiter is the rate limiter of a Controller's queue: conflicts have a short delay, up to maxConflicts in a row, and
// all other failures have exponential ones. The delay of a conflict is the limiter's and not a timer's, so that an
// observer of the queue sees a retry. Its methods may be called concurrently, for different requests.
type limiter struct {
	failures       workqueue.TypedRateLimiter[Request]
	conflictDelay  time.Duration
	conflicts      requestCounter // that were retried soon, in a row
	nextIsConflict requestSet     // requests whose next delay is that of a conflict
}

var _ workqueue.TypedRateLimiter[Request] = (*limiter)(nil)

func newLimiter(o Options) *limiter {
	return &limiter{
		failures:      workqueue.NewTypedItemExponentialFailureRateLimiter[Request](o.BaseDelay, o.MaxDelay),
		conflictDelay: o.ConflictDelay,
	}
}

// conflict makes the next delay of r that of a conflict, and reports whether it did: after maxConflicts it does not.
func (l *limiter) conflict(r Request) bool {
	if l.conflicts.count(r) >= maxConflicts {
		return false
	}
	l.nextIsConflict.add(r)
	return true
}

// failed returns how many failures in a row there were, without conflicts that were retried soon.
func (l *limiter) failed(r Request) int { return l.failures.NumRequeues(r) }

// When implements workqueue.TypedRateLimiter.
func (l *limiter) When(r Request) time.Duration {
	if !l.nextIsConflict.remove(r) {
		return l.failures.When(r)
	}
	l.conflicts.increment(r)
	return l.conflictDelay
}

// NumRequeues implements workqueue.TypedRateLimiter. It counts conflicts too.
func (l *limiter) NumRequeues(r Request) int { return l.failures.NumRequeues(r) + l.conflicts.count(r) }

// Forget implements workqueue.TypedRateLimiter.
func (l *limiter) Forget(r Request) {
	l.nextIsConflict.remove(r)
	l.conflicts.reset(r)
	l.failures.Forget(r)
}

// requestCounter counts by request. Its methods may be called concurrently. The zero value is empty.
type requestCounter struct {
	mu     sync.Mutex // guards counts
	counts map[Request]int
}

// increment adds one.
func (c *requestCounter) increment(r Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[Request]int{}
	}
	c.counts[r]++
}

func (c *requestCounter) count(r Request) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[r]
}

func (c *requestCounter) reset(r Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.counts, r)
}

// requestSet is a set of requests. Its methods may be called concurrently. The zero value is empty.
type requestSet struct {
	mu       sync.Mutex // guards requests
	requests map[Request]struct{}
}

func (s *requestSet) add(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests == nil {
		s.requests = map[Request]struct{}{}
	}
	s.requests[r] = struct{}{}
}

// remove reports whether r was in the set.
func (s *requestSet) remove(r Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.requests[r]
	delete(s.requests, r)
	return ok
}

// sorted returns the requests, by namespace and name.
func (s *requestSet) sorted() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Keys(s.requests), func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
