package imports

import (
	"cmp"
	"container/heap"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
)

const (
	// maxLate is how much later than others with its time an entry may be in a log: entries are written when answers
	// were sent, and some logs are batches of several API servers.
	maxLate = 2 * time.Second
	// maxWaiting bounds how many changes are put in order at once.
	maxWaiting = 10_000
)

// reorder puts changes in the order of their times, and those of one object in the order of their resource versions.
// The zero value is empty.
type reorder struct {
	waiting  changeHeap
	byObject map[objectName][]*waitingChange
	sequence int
	newest   time.Time
}

// objectName identifies an object in all versions of its kind.
type objectName struct{ group, resource, namespace, name string }

type waitingChange struct {
	*change
	sequence int
}

func (c *change) name() objectName {
	n := objectName{c.resource.Group, c.resource.Resource, c.ref.Namespace, c.ref.Name}
	if c.object != nil {
		n.namespace, n.name = c.object.meta.Namespace, c.object.meta.Name
	}
	return n
}

// number returns the resource version of the answer as a number; 0 if it has none.
func (c *change) number() uint64 { return snapshot.VersionNumber(c.version) }

// deletes reports whether a change is a deletion: the version of its answer may be that of before.
func (c *change) deletes() bool { return c.verb == "delete" || c.verb == "deletecollection" }

// add adds a change.
func (r *reorder) add(c *change) {
	w := &waitingChange{c, r.sequence}
	r.sequence++
	if c.time.After(r.newest) {
		r.newest = c.time
	}
	if r.byObject == nil {
		r.byObject = map[objectName][]*waitingChange{}
	}
	r.byObject[c.name()] = append(r.byObject[c.name()], w)
	heap.Push(&r.waiting, w)
}

// next removes and returns the next change, nil if it may still come. If all is set, none comes any more.
func (r *reorder) next(all bool) *change {
	if len(r.waiting) == 0 {
		return nil
	}
	if !all && len(r.waiting) <= maxWaiting && r.newest.Sub(r.waiting[0].time) <= maxLate {
		return nil
	}
	w := heap.Pop(&r.waiting).(*waitingChange)
	// Of two writes to an object at once, the answer to the first may be the later one. Their versions tell: the older
	// version takes the place of this one, which takes the other's.
	name := w.name()
	same := r.byObject[name]
	for _, other := range same {
		a, b := other.number(), w.number()
		if a != 0 && a < b && !other.deletes() {
			w.swap(other)
		}
	}
	kept := same[:0]
	for _, other := range same {
		if other != w {
			kept = append(kept, other)
		}
	}
	if r.byObject[name] = kept; len(kept) == 0 {
		delete(r.byObject, name)
	}
	return w.change
}

// swap exchanges two changes of an object, but not their times.
func (w *waitingChange) swap(other *waitingChange) {
	w.change, other.change = other.change, w.change
	w.time, other.time = other.time, w.time
}

// changeHeap is a heap.Interface of changes by time, and by the order in which they came.
type changeHeap []*waitingChange

func (h changeHeap) Len() int { return len(h) }
func (h changeHeap) Less(i, j int) bool {
	return cmp.Or(h[i].time.Compare(h[j].time), cmp.Compare(h[i].sequence, h[j].sequence)) < 0
}
func (h changeHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *changeHeap) Push(x any)   { *h = append(*h, x.(*waitingChange)) }
func (h *changeHeap) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return w
}
