package tap

import (
	"fmt"
	"reflect"
	"strings"
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

// sortOf finds which interface of queues of K, or of keys of the layout of K, a field's type is. The error names what K
// should have been like.
func sortOf[K comparable](field reflect.Type) (sort, error) {
	interfaces := [...]reflect.Type{
		plain:    reflect.TypeFor[workqueue.TypedInterface[K]](),
		delaying: reflect.TypeFor[workqueue.TypedDelayingInterface[K]](),
		limiting: reflect.TypeFor[workqueue.TypedRateLimitingInterface[K]](),
	}
	for n, want := range interfaces {
		if !sameGeneric(field, want) {
			continue
		}
		if err := sameKeys(keyOf(field), keyOf(want)); err != nil {
			return 0, fmt.Errorf("queue of %v: %w", reflect.TypeFor[K](), err)
		}
		return sort(n), nil
	}
	return 0, fmt.Errorf("%v or a lesser queue", interfaces[limiting])
}

// sameGeneric reports whether two types are instances of one generic interface of a package. Such interfaces have the
// same methods in the same order, and differ in the types of arguments and results that are of the type parameter. If
// these are laid out alike, they are passed in the same way: the one interface can then stand in the other's place.
func sameGeneric(got, want reflect.Type) bool {
	generic := func(t reflect.Type) string {
		name, _, _ := strings.Cut(t.Name(), "[")
		return t.PkgPath() + "." + name
	}
	return got.Kind() == reflect.Interface && want.Kind() == reflect.Interface && generic(got) == generic(want)
}

// keyOf returns the type parameter of one of client-go's queue or rate limiter interfaces, from a method that takes a
// key. The names of methods must be constants here: by a call of Type.Method, or of Type.MethodByName with another
// argument, the linker keeps every exported method of every type of the program, which makes it a quarter larger.
func keyOf(t reflect.Type) reflect.Type {
	m, ok := t.MethodByName("Done") // of a queue
	if !ok {
		m, _ = t.MethodByName("NumRequeues") // of a rate limiter
	}
	return m.Type.In(0)
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
	if err != nil {
		return nil
	}
	want := reflect.TypeFor[workqueue.TypedRateLimiter[K]]()
	if !sameGeneric(f.Type(), want) || sameKeys(keyOf(f.Type()), keyOf(want)) != nil {
		return nil
	}
	return *(*workqueue.TypedRateLimiter[K])(unsafe.Pointer(f.UnsafeAddr())) //nolint:gosec // the type was compared just above
}
