package tap

import (
	"fmt"
	"reflect"
	"unsafe"

	"k8s.io/client-go/util/workqueue"
)

// sort is one of client-go's interfaces of typed queues.
type sort int

const (
	plain sort = iota
	delaying
	limiting
)

// sortOf finds which interface of queues of K, or of keys of the layout of K, a field's type is. Interfaces of two
// queues whose keys are laid out alike have the same methods in the same order, and their arguments are passed in the
// same way: so the one can stand in the other's place, as with opaqueQueue. The error names what K should have been
// like.
func sortOf[K comparable](field reflect.Type) (sort, error) {
	interfaces := [...]reflect.Type{
		plain:    reflect.TypeFor[workqueue.TypedInterface[K]](),
		delaying: reflect.TypeFor[workqueue.TypedDelayingInterface[K]](),
		limiting: reflect.TypeFor[workqueue.TypedRateLimitingInterface[K]](),
	}
	var differs error
	for n, want := range interfaces {
		err := sameMethods(field, want, sameKeys)
		if err == nil {
			return sort(n), nil
		}
		if field.Kind() == reflect.Interface && field.NumMethod() == want.NumMethod() {
			differs = err
		}
	}
	if want := interfaces[limiting]; differs == nil {
		return 0, fmt.Errorf("%v or a lesser queue", want)
	}
	return 0, fmt.Errorf("queue of %v: %w", reflect.TypeFor[K](), differs)
}

// sameMethods says how an interface differs from want, but for arguments and results that passed finds alike.
func sameMethods(got, want reflect.Type, passed func(got, want reflect.Type) error) error {
	if got.Kind() != reflect.Interface || got.PkgPath() != want.PkgPath() || got.NumMethod() != want.NumMethod() {
		return fmt.Errorf("it is no interface like %v", want)
	}
	for n := range want.NumMethod() {
		g, w := got.Method(n), want.Method(n)
		if g.Name != w.Name || g.Type.NumIn() != w.Type.NumIn() || g.Type.NumOut() != w.Type.NumOut() {
			return fmt.Errorf("its method %s is not %v of %v", g.Name, w.Type, want)
		}
		for n := range w.Type.NumIn() {
			if err := passed(g.Type.In(n), w.Type.In(n)); err != nil {
				return err
			}
		}
		for n := range w.Type.NumOut() {
			if err := passed(g.Type.Out(n), w.Type.Out(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameKeys says how two types differ in their layout; nil if values of the one are values of the other by another name.
func sameKeys(got, want reflect.Type) error {
	if got.Kind() == reflect.Pointer && want.Kind() == reflect.Pointer {
		got, want = got.Elem(), want.Elem()
	}
	return sameLayout(got, want)
}

// sameLayout does not look behind pointers.
func sameLayout(got, want reflect.Type) error {
	switch {
	case got == want:
		return nil
	case got.Kind() != want.Kind():
	case got.Kind() == reflect.Struct:
		return sameFields(got, want)
	case got.Kind() == reflect.Array && got.Len() == want.Len():
		return sameLayout(got.Elem(), want.Elem())
	case got.Kind() <= reflect.Complex128 || got.Kind() == reflect.String:
		return nil
	}
	return fmt.Errorf("%v is not laid out as %v", got, want)
}

func sameFields(got, want reflect.Type) error {
	if got.NumField() != want.NumField() {
		return fmt.Errorf("%v has %d fields, %v has %d", got, got.NumField(), want, want.NumField())
	}
	for n := range want.NumField() {
		g, w := got.Field(n), want.Field(n)
		if g.Name != w.Name {
			return fmt.Errorf("field %d of %v is %q, of %v %q", n, got, g.Name, want, w.Name)
		}
		if err := sameLayout(g.Type, w.Type); err != nil {
			return fmt.Errorf("field %q of %v: %w", g.Name, got, err)
		}
		if g.Offset != w.Offset {
			return fmt.Errorf("field %q of %v is at byte %d, of %v at %d", g.Name, got, g.Offset, want, w.Offset)
		}
	}
	return nil
}

// rateLimiterOf takes the rate limiter out of client-go's rate limiting queue (util/workqueue/rate_limiting_queue.go),
// nil if q is another sort of queue or keeps it elsewhere. Its keys may be of the layout of K, as the queue's may.
func rateLimiterOf[K comparable](q workqueue.TypedRateLimitingInterface[K]) workqueue.TypedRateLimiter[K] {
	f, err := fieldOf(q, "rateLimiter")
	if err != nil || sameMethods(f.Type(), reflect.TypeFor[workqueue.TypedRateLimiter[K]](), sameKeys) != nil {
		return nil
	}
	return *(*workqueue.TypedRateLimiter[K])(unsafe.Pointer(f.UnsafeAddr())) //nolint:gosec // the type was compared just above
}
