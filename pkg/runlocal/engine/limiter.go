package engine

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// maxConflicts is how many conflicts in a row are retried at once: enough for a write that races with a few others, and
// an end to it when a reconciler works on a stale object forever.
const maxConflicts = 5

// limiter is the rate limiter of a Controller's queue: the same short delay for the first conflicts in a row, exponential ones for all
// other failures. A conflict is a delay of the limiter, not a timer, so that whoever watches the queue sees a retry. Its methods may be
// called concurrently, for different requests.
type limiter struct {
	failures      workqueue.TypedRateLimiter[Request]
	conflictDelay time.Duration
	conflicts     counter // retried soon, in a row
	soon          set     // the requests whose next delay is that of a conflict
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
	if l.conflicts.of(r) >= maxConflicts {
		return false
	}
	l.soon.add(r)
	return true
}

// failed is how many failures in a row there were but the conflicts that were retried soon.
func (l *limiter) failed(r Request) int { return l.failures.NumRequeues(r) }

// When implements workqueue.TypedRateLimiter.
func (l *limiter) When(r Request) time.Duration {
	if !l.soon.remove(r) {
		return l.failures.When(r)
	}
	l.conflicts.next(r)
	return l.conflictDelay
}

// NumRequeues implements workqueue.TypedRateLimiter: conflicts are retries like all others.
func (l *limiter) NumRequeues(r Request) int { return l.failures.NumRequeues(r) + l.conflicts.of(r) }

// Forget implements workqueue.TypedRateLimiter.
func (l *limiter) Forget(r Request) {
	l.soon.remove(r)
	l.conflicts.reset(r)
	l.failures.Forget(r)
}

// counter counts by request. Its methods may be called concurrently; the zero value is ready.
type counter struct {
	mu     sync.Mutex
	counts map[Request]int
}

// next adds one.
func (c *counter) next(r Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[Request]int{}
	}
	c.counts[r]++
}

func (c *counter) of(r Request) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[r]
}

func (c *counter) reset(r Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.counts, r)
}

// set is a set of requests. Its methods may be called concurrently; the zero value is ready.
type set struct {
	mu       sync.Mutex
	requests map[Request]struct{}
}

func (s *set) add(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests == nil {
		s.requests = map[Request]struct{}{}
	}
	s.requests[r] = struct{}{}
}

// remove reports whether r was in the set.
func (s *set) remove(r Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.requests[r]
	delete(s.requests, r)
	return ok
}

// sorted lists the requests by namespace and name.
func (s *set) sorted() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Request
	for r := range s.requests {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}
