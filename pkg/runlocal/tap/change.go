package tap

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// changes keeps the latest differences of what controllers have written, so that what an answer and a watch event show
// is compared once. The zero value is empty. Its methods may be called concurrently.
type changes struct {
	mu   sync.Mutex
	byID recent.Map[changeID, *trace.Change]
}

// changeID is what a change is of: the versions of an object before and after it.
type changeID struct {
	resource      schema.GroupVersionResource
	before, after uint64
}

const (
	// changesKept bounds the differences in a generation, and maxShared the answers that they are made of, in bytes: a
	// difference has the values of the objects.
	changesKept = 128
	maxShared   = 64 << 10
)

// get returns the difference of two versions, which is computed by compare on first use. Only the second who asks gets
// that of the first.
func (c *changes) get(id changeID, compare func() []fields.Change) *trace.Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byID.Capacity = changesKept
	change, known := c.byID.Get(id)
	if known {
		c.byID.Delete(id)
		return change
	}
	change = trace.ChangeFrom(compare)
	if id.before > 0 && id.after > id.before {
		c.byID.Put(id, change)
	}
	return change
}

// changeOf returns the difference of two versions of an object in an informer, where they are never changed. written
// means that a controller of the session has written it.
func (i *informer) changeOf(old, updated runtime.Object, written bool) *trace.Change {
	compared := func() []fields.Change { return compare(old, updated) }
	if !written || isMetadata(old) || isMetadata(updated) {
		return trace.ChangeFrom(compared)
	}
	before, after := cachedObject{old}.version(), cachedObject{updated}.version()
	return i.tap.changes.get(changeID{i.gvr, before, after}, compared)
}

// changed returns the difference of an answer from the version that was seen before. That of a dry run has a version
// which somebody else wrote.
func (c *call) changed(a *answer) *trace.Change {
	before, r := c.before, c.request
	compared := func() []fields.Change { return compareSeen(before, a) }
	cached, isCached := before.(cachedObject)
	if r.DryRun || c.t.c.name == "" || len(a.body) > maxShared || a.kind == partialMetadataKind ||
		isCached && isMetadata(cached.obj) {
		return trace.ChangeFrom(compared)
	}
	resource := schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
	return c.t.c.tap.changes.get(changeID{resource, before.version(), a.version()}, compared)
}

// scaledFrom returns the difference that a write of the subresource scale has made to the number of replicas of an
// object that was seen before; nil if the session knows no such number, as of some custom resources.
func scaledFrom(before seenObject, scale *answer) *trace.Change {
	old, known := replicasOf(before)
	updated, _ := replicasOf(scale) // it does not have 0
	if !known || updated == nil {
		return nil
	}
	return trace.ChangeFrom(func() []fields.Change { return compare(old, updated) })
}

// replicasOf returns an object that has nothing but the spec.replicas of another, nil if that cannot be read. If it has
// none, it is 0 and ok is false.
func replicasOf(seen seenObject) (only *unstructured.Unstructured, ok bool) {
	obj, err := seen.object()
	if err != nil {
		return nil, false
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, false
	}
	replicas, ok, err := unstructured.NestedInt64(content, "spec", "replicas")
	only = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": replicas}}}
	return only, ok && err == nil
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
