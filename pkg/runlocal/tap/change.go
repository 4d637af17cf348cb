package tap

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/recent"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func asObject(obj any) runtime.Object {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	o, _ := obj.(runtime.Object)
	return o
}

// compare returns the differences, without values that must not be shown: a trace goes to terminals, files and other
// people. The order of lists that are merged by a key is one only if nothing else differs. An error is a difference
// without a path; only objects of no API have it.
func compare(old, updated runtime.Object) []fields.Change {
	changes, err := fields.Changes(old, updated, fields.Mask{})
	isOther := func(c fields.Change) bool { return c.Path != "metadata.generation" }
	if err == nil && !slices.ContainsFunc(changes, isOther) {
		changes, err = fields.ChangesWithOrder(old, updated, fields.Mask{})
	}
	if err != nil {
		return errorChange(err)
	}
	return changes
}

// errorChange returns why there are no differences in their place.
func errorChange(err error) []fields.Change {
	return []fields.Change{fields.Mask{}.Change("", nil, err.Error())}
}

// changes keeps the latest differences, so that what an answer and a watch event both show is compared once. The zero
// value is empty. Its methods may be called concurrently.
type changes struct {
	mu   sync.Mutex
	byID recent.Map[changeID, *trace.Change]
}

// changeID is what a change is of: the versions of an object before and after it.
type changeID struct {
	resource      schema.GroupVersionResource
	before, after uint64
}

// changesKept bounds the differences in a generation: until they are computed they keep their objects.
const changesKept = 128

// get returns the difference of two versions, which is computed by compare on first use.
func (c *changes) get(id changeID, compare func() []fields.Change) *trace.Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byID.Capacity = changesKept
	change, known := c.byID.Get(id)
	if known {
		return change
	}
	change = trace.ChangeFrom(compare)
	if id.before > 0 && id.after > id.before { // a dry run has no version of its own
		c.byID.Put(id, change)
	}
	return change
}

// changeOf returns the difference of two versions of an object in an informer, where they are never changed.
func (i *informer) changeOf(old, updated runtime.Object) *trace.Change {
	compared := func() []fields.Change { return compare(old, updated) }
	if isMetadata(old) || isMetadata(updated) {
		return trace.ChangeFrom(compared)
	}
	before, after := cachedObject{old}.version(), cachedObject{updated}.version()
	return i.tap.changes.get(changeID{i.gvr, before, after}, compared)
}

// changeSince returns the difference of an answer from a version that was seen before.
func (t *Tap) changeSince(before seenObject, o *trace.Object, a *answer) *trace.Change {
	compared := func() []fields.Change { return compareSeen(before, a) }
	cached, isCached := before.(cachedObject)
	if a.kind == partialMetadataKind || isCached && isMetadata(cached.obj) {
		return trace.ChangeFrom(compared)
	}
	resource := schema.GroupVersionResource{Group: o.Group, Version: o.Version, Resource: o.Resource}
	return t.changes.get(changeID{resource, before.version(), a.version()}, compared)
}

func isMetadata(obj runtime.Object) bool {
	_, ok := obj.(*metav1.PartialObjectMetadata)
	return ok
}

// compareSeen returns the differences of two versions of an object that the session has seen.
func compareSeen(before, after seenObject) []fields.Change {
	var objects [2]runtime.Object
	for n, k := range []seenObject{before, after} {
		obj, err := k.object()
		if err != nil {
			return errorChange(err)
		}
		objects[n] = obj
	}
	return compare(sameForm(objects[0], objects[1]))
}

// sameForm reduces both objects to their metadata if one of them is only that.
func sameForm(a, b runtime.Object) (runtime.Object, runtime.Object) {
	if !isMetadata(a) && !isMetadata(b) {
		return a, b
	}
	x, y := metadata(a), metadata(b)
	if x == nil || y == nil {
		return a, b
	}
	return meta.AsPartialObjectMetadata(x), meta.AsPartialObjectMetadata(y)
}
