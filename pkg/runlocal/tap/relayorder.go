package tap

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
