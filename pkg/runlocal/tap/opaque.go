package tap

import (
	"fmt"
	"reflect"
	"unsafe"

	"k8s.io/client-go/util/workqueue"
)

// opaque stands for a type that upstream does not export. Only its address is used.
type opaque struct{ _ byte }

// opaqueQueue is a queue of pointers to such a type. Two queue interfaces that differ only in what their keys point to
// have the same methods in the same order with arguments of the same size and kind, and so are laid out and called
// alike: the one can stand in the other's place. No code may take it for another interface, as it would by its name.
type opaqueQueue = workqueue.TypedRateLimitingInterface[*opaque]

// opaqueField is privateField for a queue of pointers to any type.
func opaqueField(target any, field string) (*opaqueQueue, error) {
	f, err := fieldOf(target, field)
	if err != nil {
		return nil, err
	}
	if !isQueueOfPointers(f.Type()) {
		return nil, fmt.Errorf("field %q of %T is a %v, not a queue of pointers", field, target, f.Type())
	}
	return (*opaqueQueue)(unsafe.Pointer(f.UnsafeAddr())), nil //nolint:gosec // the type was compared just above
}

// isQueueOfPointers reports whether a type is that of rate limiting queues of pointers.
func isQueueOfPointers(t reflect.Type) bool {
	return sameGeneric(t, reflect.TypeFor[opaqueQueue]()) && keyOf(t).Kind() == reflect.Pointer
}
