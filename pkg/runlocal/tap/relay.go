package tap

import (
	"container/heap"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// relay is a queue by which a controller's handlers pass what they see to a goroutine of the same controller, such as
// the garbage collector's graphChanges: every watch event passes through it. It records nothing itself. The goroutine
// that works on a key is labelled with the watch event or reconcile in which it was added, and State counts keys that
// are under way. Methods that it does not declare are those of the wrapped queue.
type relay[K comparable] struct {
	workqueue.TypedRateLimitingInterface[K]
	c    *Controller
	name string

	// waiting and taken are guarded by c.tap.mu, so that State sees a key that leads to another in one queue or the
	// other.
	waiting map[K]origin
	taken   map[K]labelChange

	order *changeOrder[K] // nil if changes are passed on as they come
}

// origin is what a key was added in; the zero value if nothing is recorded.
type origin struct {
	event     *watchEvent
	startedBy trace.ReconcileID
}

func newRelay[K comparable](c *Controller, name string, q workqueue.TypedRateLimitingInterface[K]) *relay[K] {
	r := &relay[K]{TypedRateLimitingInterface: q, c: c, name: name, waiting: map[K]origin{}, taken: map[K]labelChange{}}
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.queues = append(c.queues, r)
	return r
}

// Add implements workqueue.TypedInterface. The first origin of a key counts.
func (r *relay[K]) Add(k K) {
	var from origin
	if r.c.tap.recording() {
		s := currentActivity()
		from = origin{event: s.event, startedBy: s.startedBy}
		if s.reconcile != nil {
			from.startedBy = s.reconcile.id
		}
	}
	r.c.tap.mu.Lock()
	if _, there := r.waiting[k]; !there {
		r.waiting[k] = from
	}
	r.c.tap.mu.Unlock()
	if r.order != nil && from.event != nil {
		r.order.add(k, snapshot.VersionNumber(from.event.watch.ResourceVersion))
		return
	}
	r.TypedRateLimitingInterface.Add(k)
}

// relayLabels show the goroutines that work on a relay's keys in a profile.
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
	var labels labelChange
	if r.c.tap.recording() {
		labels = (&activity{controller: r.c, event: from.event, startedBy: from.startedBy}).enter(relayLabels)
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
	if labels.to != nil {
		labels.end()
	}
	r.TypedRateLimitingInterface.Done(k)
}

// state implements observedQueue. A key that the wrapped queue has returned counts as queued until it is in taken.
func (r *relay[K]) state(time.Time) QueueState {
	s := QueueState{Queue: r.name, Queued: r.Len(), Running: len(r.taken)}
	if !r.ShuttingDown() {
		s.Queued = max(s.Queued, len(r.waiting))
	}
	return s
}

// empty reports whether no key is under way. c.tap.mu must be held.
func (r *relay[K]) empty() bool { return r.Len() == 0 && len(r.waiting) == 0 && len(r.taken) == 0 }

// maxOrderDelay bounds how long a change waits for older ones, which never arrive if a watch is broken.
const maxOrderDelay = time.Second

// changeOrder makes a relay pass on what informers show in the order in which it was written. Each informer shows its
// own resource in order, but not relative to others, and a controller that looks at owners and dependents could see the
// deletion of an owner before a dependent that was created earlier.
type changeOrder[K comparable] struct {
	tap *Tap
	// newest returns the resourceVersion of the newest watch event of a resource.
	newest func(schema.GroupResource) uint64
	// pass adds a key to the wrapped queue.
	pass func(K)

	length atomic.Int64 // of heap, to be read without mu
	mu     sync.Mutex   // guards what follows and the order of calls of pass; Tap.mu may be taken under it
	heap   changeHeap[K]
	added  uint64 // how many ever were
}

// orderedChange is a change that waits for older ones.
type orderedChange[K comparable] struct {
	key      K
	version  uint64
	nth      uint64 // of all that were added, for equal versions
	deadline time.Time
}

// add passes on the change that was written as version, once all older ones are passed on or after maxOrderDelay.
func (o *changeOrder[K]) add(k K, version uint64) {
	o.mu.Lock()
	o.added++
	heap.Push(&o.heap, orderedChange[K]{k, version, o.added, time.Now().Add(maxOrderDelay)})
	o.length.Store(int64(len(o.heap)))
	o.mu.Unlock()
	o.passReady()
	if o.length.Load() > 0 {
		time.AfterFunc(maxOrderDelay, o.passReady)
	}
}

// passReady passes on the changes that no older one can follow. It is called after each event that a handler has
// handled.
func (o *changeOrder[K]) passReady() {
	if o.length.Load() == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.heap) > 0 && (o.isNext(o.heap[0].version) || !time.Now().Before(o.heap[0].deadline)) {
		o.pass(heap.Pop(&o.heap).(orderedChange[K]).key)
		o.length.Store(int64(len(o.heap)))
	}
}

// isNext reports whether every informer has shown all that was written before the version.
func (o *changeOrder[K]) isNext(version uint64) bool {
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

// changeHeap is a heap of changes, with the oldest first.
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

// drain implements observedQueue. A relay continues: the keys that its worker adds to other queues are not taken there.
func (r *relay[K]) drain() {}

// gateOpened implements observedQueue: relays are not gated.
func (*relay[K]) gateOpened() {}

// release implements observedQueue: keys of relays are not held.
func (*relay[K]) release(string) bool { return false }

// releaseAll implements observedQueue.
func (*relay[K]) releaseAll() {}
