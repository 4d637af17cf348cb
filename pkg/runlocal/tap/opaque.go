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
	if want := reflect.TypeFor[opaqueQueue](); !sameButPointers(f.Type(), want) {
		return nil, fmt.Errorf("field %q of %T is a %v, not a queue of pointers", field, target, f.Type())
	}
	return (*opaqueQueue)(unsafe.Pointer(f.UnsafeAddr())), nil //nolint:gosec // the type was compared just above
}

// sameButPointers says whether an interface is want but for what its arguments and results point to.
func sameButPointers(got, want reflect.Type) bool {
	if got.Kind() != reflect.Interface || got.PkgPath() != want.PkgPath() || got.NumMethod() != want.NumMethod() {
		return false
	}
	for n := range want.NumMethod() {
		g, w := got.Method(n), want.Method(n)
		if g.Name != w.Name || g.Type.NumIn() != w.Type.NumIn() || g.Type.NumOut() != w.Type.NumOut() {
			return false
		}
		for n := range w.Type.NumIn() {
			if !passedAlike(g.Type.In(n), w.Type.In(n)) {
				return false
			}
		}
		for n := range w.Type.NumOut() {
			if !passedAlike(g.Type.Out(n), w.Type.Out(n)) {
				return false
			}
		}
	}
	return true
}

func passedAlike(a, b reflect.Type) bool {
	return a == b || a.Kind() == reflect.Pointer && b.Kind() == reflect.Pointer
}
