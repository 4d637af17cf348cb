package tap

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
)

// fieldOf returns a field of the struct that target points to. It is an error if the field is not set. field may be a
// path through structs, pointers and interfaces.
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

// pointedTo follows pointers and interfaces to the value behind them.
func pointedTo(v reflect.Value) reflect.Value {
	for (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !v.IsNil() {
		v = v.Elem()
	}
	return v
}

// fieldType returns the type of a field, as fieldOf finds it, without a value.
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

// privateField returns the address of a field, as fieldOf finds it, which must be of exactly type F.
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

// queueKind is one of client-go's three interfaces of typed queues.
type queueKind int

const (
	kindPlain queueKind = iota
	kindDelaying
	kindRateLimiting
)

// queueKindOf returns the interface of queues, of K or of keys of the same layout, that a field's type is. The error
// names the difference.
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
// key. The names of methods must be constants: because of a call of Type.Method, or of Type.MethodByName with another
// argument, the linker keeps every exported method of every type in the program, which makes it a quarter larger.
func keyOf(t reflect.Type) reflect.Type {
	m, ok := t.MethodByName("Done") // of a queue
	if !ok {
		m, _ = t.MethodByName("NumRequeues") // of a rate limiter
	}
	return m.Type.In(0)
}

// sameKeys returns an error if values of the two types, or what they point to, differ in their layout.
func sameKeys(got, want reflect.Type) error {
	if got.Kind() == reflect.Pointer && want.Kind() == reflect.Pointer {
		got, want = got.Elem(), want.Elem()
	}
	return sameLayout(got, want)
}

// sameLayout returns an error if values of the two types differ in their layout. It does not look behind pointers.
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

// rateLimiterOf returns the rate limiter of client-go's rate limiting queue (util/workqueue/rate_limiting_queue.go);
// nil if q is another implementation, or has it elsewhere. Keys may be of the layout of K instead of K.
func rateLimiterOf[K comparable](q workqueue.TypedRateLimitingInterface[K]) workqueue.TypedRateLimiter[K] {
	f, err := fieldOf(q, "rateLimiter")
	if err != nil {
		return nil
	}
	want := reflect.TypeFor[workqueue.TypedRateLimiter[K]]()
	if !sameGeneric(f.Type(), want) || sameKeys(keyOf(f.Type()), keyOf(want)) != nil {
		return nil
	}
	limiter := unsafe.Pointer(f.UnsafeAddr()) //nolint:gosec // the type was compared just above
	return *(*workqueue.TypedRateLimiter[K])(limiter)
}

// retriesOf returns the counter behind the metric workqueue_retries_total in client-go's delaying queue
// (util/workqueue: delaying_queue.go and metrics.go), which sees no delays here. It is nil if q has no name and so no
// metrics, or has the counter elsewhere.
func retriesOf[K comparable](q workqueue.TypedRateLimitingInterface[K]) workqueue.CounterMetric {
	counter, err := privateField[workqueue.CounterMetric](q, "TypedDelayingInterface.metrics.retries")
	if err != nil {
		return nil
	}
	return *counter
}

// opaque is in the place of a type that is not exported. Only addresses of it are used.
type opaque struct{ _ byte }

// opaqueQueue is a queue of pointers to a type that is not exported. Two instances of the interface that differ only in
// what their keys point to have the same methods in the same order, and keys are passed in the same way: so a value of
// one can be used as the other. It must not be asserted to another interface type: its dynamic type has the methods of
// the other instance.
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

// isQueueOfPointers reports whether a type is the interface of rate limiting queues, with keys that are pointers.
func isQueueOfPointers(t reflect.Type) bool {
	return sameGeneric(t, reflect.TypeFor[opaqueQueue]()) && keyOf(t).Kind() == reflect.Pointer
}

// Identity is what the garbage collector identifies an object by: objectReference of its package.
type Identity struct {
	metav1.OwnerReference
	// Namespace is empty for an object that has none.
	Namespace string
}

// Identities returns a function that returns spell of the identity of a key, for a queue of the garbage collector's
// nodes. Keys are pointers to a struct with a field identity, which is not written once the node is queued. The queue
// is not used: K, a type that is not exported, is inferred from it. The error names what upstream has changed.
func Identities[K comparable](
	_ workqueue.TypedRateLimitingInterface[K], spell func(*Identity) string,
) (func(K) string, error) {
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

// IdentityOf returns the identity that a value is, if it is of the garbage collector's type, which it logs; nil
// otherwise.
func IdentityOf(v any) *Identity {
	value := reflect.ValueOf(v)
	if !value.IsValid() || value.Kind() != reflect.Struct || !value.Type().ConvertibleTo(reflect.TypeFor[Identity]()) {
		return nil
	}
	i, _ := reflect.TypeAssert[Identity](value.Convert(reflect.TypeFor[Identity]()))
	return &i
}
