package tap

import (
	"runtime/pprof"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// relay is a queue by which a controller's handlers hand on what they see to a goroutine of the same controller, such as
// the garbage collector's graphChanges: every watch event passes through it. It records nothing itself. Whoever works on
// a key is in the scope of whoever added it, and State counts what is under way. Every method that it does not have is
// the wrapped queue's own.
type relay[K comparable] struct {
	workqueue.TypedRateLimitingInterface[K]
	c    *Controller
	name string

	// Both are guarded by c.tap.mu, so that State sees a key that leads to another in one queue or the other.
	waiting map[K]origin
	taken   map[K]labelled

	order *ordering[K] // nil: changes are handed on as they come
}

// origin is what led to a key; the zero value if nothing is recorded.
type origin struct {
	event  *watchEvent
	behind trace.ReconcileID
}

func newRelay[K comparable](c *Controller, name string, q workqueue.TypedRateLimitingInterface[K]) *relay[K] {
	r := &relay[K]{TypedRateLimitingInterface: q, c: c, name: name, waiting: map[K]origin{}, taken: map[K]labelled{}}
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.accounts = append(c.accounts, r)
	return r
}

// Add implements workqueue.TypedInterface. Of several origins of a key the first counts.
func (r *relay[K]) Add(k K) {
	var from origin
	if r.c.tap.on() {
		s := current()
		from = origin{event: s.event, behind: s.behind}
		if s.reconcile != nil {
			from.behind = s.reconcile.id
		}
	}
	r.c.tap.mu.Lock()
	if _, there := r.waiting[k]; !there {
		r.waiting[k] = from
	}
	r.c.tap.mu.Unlock()
	if r.order != nil && from.event != nil {
		r.order.add(k, number(from.event.watch.ResourceVersion))
		return
	}
	r.TypedRateLimitingInterface.Add(k)
}

// relayLabels tell the goroutines that work on a relay's keys apart in a profile.
var relayLabels = pprof.Labels("kubectl-reconcile", "relay")

// Get implements workqueue.TypedInterface.
func (r *relay[K]) Get() (K, bool) {
	k, down := r.TypedRateLimitingInterface.Get()
	if down {
		return k, down
	}
	r.c.tap.mu.Lock()
	defer r.c.tap.mu.Unlock()
	from := r.waiting[k]
	delete(r.waiting, k)
	var labels labelled
	if r.c.tap.on() {
		labels = (&scope{controller: r.c, event: from.event, behind: from.behind}).enter(relayLabels)
	}
	r.taken[k] = labels
	return k, down
}

// Done implements workqueue.TypedInterface.
func (r *relay[K]) Done(k K) {
	r.c.tap.mu.Lock()
	labels := r.taken[k]
	delete(r.taken, k)
	r.c.tap.mu.Unlock()
	if labels.own != nil {
		labels.leave()
	}
	r.TypedRateLimitingInterface.Done(k)
}

// state implements account. Between the wrapped queue's handing a key out and its being accounted for the key still
// counts as queued.
func (r *relay[K]) state(time.Time) QueueState {
	s := QueueState{Queue: r.name, Queued: r.Len(), Running: len(r.taken)}
	if !r.ShuttingDown() {
		s.Queued = max(s.Queued, len(r.waiting))
	}
	return s
}

// empty reports whether nothing is on its way. c.tap.mu must be held.
func (r *relay[K]) empty() bool { return r.Len() == 0 && len(r.waiting) == 0 && len(r.taken) == 0 }
