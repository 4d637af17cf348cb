package tap

import (
	"container/heap"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
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

// orderPatience bounds how long a change waits for older ones, which may never come: a watch may be broken.
const orderPatience = time.Second

// ordering has a relay hand on what informers show in the order in which it was written. Each informer shows its own
// resource in order; which of two is first is up to chance, and a controller that looks at owners and dependents may see
// that an owner goes before it sees a dependent that was there before.
type ordering[K comparable] struct {
	tap *Tap
	// newest is the version of the newest watch event of a resource.
	newest func(schema.GroupResource) uint64
	// pass hands a change on.
	pass func(K)

	waiting atomic.Int64 // the length of held
	mu      sync.Mutex   // guards what follows, and the order of what is passed
	held    changeHeap[K]
	added   uint64
}

// orderedChange is one that waits for older ones.
type orderedChange[K comparable] struct {
	key     K
	version uint64
	nth     uint64 // of all that were added
	until   time.Time
}

// add passes the change that is written as version on when all older ones are, or after orderPatience.
func (o *ordering[K]) add(k K, version uint64) {
	o.mu.Lock()
	o.added++
	heap.Push(&o.held, orderedChange[K]{k, version, o.added, time.Now().Add(orderPatience)})
	o.waiting.Store(int64(len(o.held)))
	o.mu.Unlock()
	o.release()
	if o.waiting.Load() > 0 {
		time.AfterFunc(orderPatience, o.release)
	}
}

// release passes on what nothing older can come before. It is called when a handler is done with an event.
func (o *ordering[K]) release() {
	if o.waiting.Load() == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.held) > 0 && (o.isNext(o.held[0].version) || !time.Now().Before(o.held[0].until)) {
		o.pass(heap.Pop(&o.held).(orderedChange[K]).key)
		o.waiting.Store(int64(len(o.held)))
	}
}

// isNext reports whether every informer has shown all that was written before the version.
func (o *ordering[K]) isNext(version uint64) bool {
	o.tap.mu.Lock()
	defer o.tap.mu.Unlock()
	for _, i := range o.tap.informers {
		if len(i.handlers) == 0 || !i.HasSynced() {
			continue
		}
		if handled := i.handled(); handled < version && handled < o.newest(i.gvr.GroupResource()) {
			return false
		}
	}
	return true
}

// changeHeap is a heap of those that wait, the oldest first.
type changeHeap[K comparable] []orderedChange[K]

var _ heap.Interface = (*changeHeap[string])(nil)

// Len implements heap.Interface.
func (c changeHeap[K]) Len() int { return len(c) }

// Less implements heap.Interface.
func (c changeHeap[K]) Less(i, j int) bool {
	if c[i].version != c[j].version {
		return c[i].version < c[j].version
	}
	return c[i].nth < c[j].nth
}

// Swap implements heap.Interface.
func (c changeHeap[K]) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

// Push implements heap.Interface.
func (c *changeHeap[K]) Push(x any) { *c = append(*c, x.(orderedChange[K])) }

// Pop implements heap.Interface.
func (c *changeHeap[K]) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	(*c)[last] = orderedChange[K]{}
	*c = (*c)[:last]
	return x
}
