package tap

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
)

// fieldOf finds a field of the struct that target points to, and that it is set. field may be a path.
func fieldOf(target any, field string) (reflect.Value, error) {
	v := reflect.ValueOf(target)
	for name := range strings.SplitSeq(field, ".") {
		v = pointedTo(v)
		if v.Kind() != reflect.Struct || !v.CanAddr() {
			return v, fmt.Errorf("%T is no pointer to a struct on the way to %q", target, name)
		}
		inner := v.FieldByName(name)
		if !inner.IsValid() {
			return inner, fmt.Errorf("%v has no field %q", v.Type(), name)
		}
		if inner.IsZero() {
			return inner, fmt.Errorf("field %q of %v is not set", name, v.Type())
		}
		v = inner
	}
	return v, nil
}

// pointedTo follows pointers, and what interfaces hold.
func pointedTo(v reflect.Value) reflect.Value {
	for (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !v.IsNil() {
		v = v.Elem()
	}
	return v
}

// fieldType is fieldOf for what is known without a controller.
func fieldType(controller reflect.Type, field string) (reflect.Type, error) {
	t := controller
	for name := range strings.SplitSeq(field, ".") {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return nil, fmt.Errorf("%v is no struct on the way to %q", t, name)
		}
		inner, ok := t.FieldByName(name)
		if !ok {
			return nil, fmt.Errorf("%v has no field %q", t, name)
		}
		t = inner.Type
	}
	return t, nil
}

// privateField returns the address of a field of the struct that target points to, of exactly type F.
func privateField[F any](target any, field string) (*F, error) {
	f, err := fieldOf(target, field)
	if err != nil {
		return nil, err
	}
	if want := reflect.TypeFor[F](); f.Type() != want {
		return nil, fmt.Errorf("field %q of %T is a %v, not a %v", field, target, f.Type(), want)
	}
	return (*F)(unsafe.Pointer(f.UnsafeAddr())), nil //nolint:gosec // the type was compared just above
}

// queueKind is one of client-go's interfaces of typed queues.
type queueKind int

const (
	kindPlain queueKind = iota
	kindDelaying
	kindRateLimiting
)

// queueKindOf finds which interface of queues of K, or of keys of the layout of K, a field's type is. The error names what K
// should have been like.
func queueKindOf[K comparable](field reflect.Type) (queueKind, error) {
	interfaces := [...]reflect.Type{
		kindPlain:        reflect.TypeFor[workqueue.TypedInterface[K]](),
		kindDelaying:     reflect.TypeFor[workqueue.TypedDelayingInterface[K]](),
		kindRateLimiting: reflect.TypeFor[workqueue.TypedRateLimitingInterface[K]](),
	}
	for n, want := range interfaces {
		if !sameGeneric(field, want) {
			continue
		}
		if err := sameKeys(keyOf(field), keyOf(want)); err != nil {
			return 0, fmt.Errorf("queue of %v: %w", reflect.TypeFor[K](), err)
		}
		return queueKind(n), nil
	}
	return 0, fmt.Errorf("%v or a lesser queue", interfaces[kindRateLimiting])
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

// retriesOf takes the counter behind workqueue_retries_total out of client-go's delaying queue (util/workqueue's
// delaying_queue.go and metrics.go): delays do not reach that queue here. It is nil if q has no name and counts nothing, or
// keeps it elsewhere.
func retriesOf[K comparable](q workqueue.TypedRateLimitingInterface[K]) workqueue.CounterMetric {
	counter, err := privateField[workqueue.CounterMetric](q, "TypedDelayingInterface.metrics.retries")
	if err != nil {
		return nil
	}
	return *counter
}

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

// Identity is what the garbage collector knows an object by: the type objectReference of its package.
type Identity struct {
	metav1.OwnerReference
	// Namespace is empty for an object that has none.
	Namespace string
}

// Identities returns a function that spells the keys of a queue of the garbage collector's nodes, which are pointers to a
// struct with a field identity that is never written once the node is queued. The queue only tells their type, which
// upstream does not export. The error says where upstream has put something else.
func Identities[K comparable](_ workqueue.TypedRateLimitingInterface[K], spell func(*Identity) string) (func(K) string, error) {
	key := reflect.TypeFor[K]()
	if key.Kind() != reflect.Pointer || key.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("the keys are of type %v, which is no pointer to a struct", key)
	}
	field, ok := key.Elem().FieldByName("identity")
	if want := reflect.TypeFor[Identity](); !ok || !field.Type.ConvertibleTo(want) {
		return nil, fmt.Errorf("%v has no field identity like %v", key.Elem(), want)
	}
	return func(k K) string {
		node := *(*unsafe.Pointer)(unsafe.Pointer(&k)) //nolint:gosec // K was found to be a pointer, just above
		if node == nil {
			return ""
		}
		return spell((*Identity)(unsafe.Add(node, field.Offset)))
	}, nil
}

// IdentityOf returns what a value of the garbage collector's own type says, as it logs it; nil for any other value.
func IdentityOf(v any) *Identity {
	value := reflect.ValueOf(v)
	if !value.IsValid() || value.Kind() != reflect.Struct || !value.Type().ConvertibleTo(reflect.TypeFor[Identity]()) {
		return nil
	}
	i, _ := reflect.TypeAssert[Identity](value.Convert(reflect.TypeFor[Identity]()))
	return &i
}
