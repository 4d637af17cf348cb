package tap

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
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
	if err == nil && !slices.ContainsFunc(changes, func(c fields.Change) bool { return c.Path != "metadata.generation" }) {
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

// changeOf returns the difference of two versions of an object, which is computed on first use. Objects in an informer
// are never changed.
func changeOf(old, updated runtime.Object) *trace.Change {
	return trace.ChangeFrom(func() []fields.Change { return compare(old, updated) })
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
	_, ok := a.(*metav1.PartialObjectMetadata)
	if _, other := b.(*metav1.PartialObjectMetadata); !ok && !other {
		return a, b
	}
	x, y := metadata(a), metadata(b)
	if x == nil || y == nil {
		return a, b
	}
	return meta.AsPartialObjectMetadata(x), meta.AsPartialObjectMetadata(y)
}
