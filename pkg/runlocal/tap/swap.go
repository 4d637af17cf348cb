package tap

import (
	"fmt"
	"reflect"
	"unsafe"

	"k8s.io/client-go/util/workqueue"
)

// rateLimiterOf takes the rate limiter out of client-go's rate limiting queue (util/workqueue/rate_limiting_queue.go),
// nil if q is another sort of queue or keeps it elsewhere.
func rateLimiterOf[K comparable](q workqueue.TypedRateLimitingInterface[K]) workqueue.TypedRateLimiter[K] {
	limiter, err := privateField[workqueue.TypedRateLimiter[K]](q, "rateLimiter")
	if err != nil {
		return nil
	}
	return *limiter
}

// SwapQueue replaces the queue that target, a controller, keeps in a private field by one that observes it. Between its
// constructor and its Run, nothing else may use the field. name is as for WrapQueue: the field's, empty if it is "queue".
// The error names the type and the field when upstream has moved it or given it another type.
func SwapQueue[K comparable](c *Controller, target any, field string, key func(K) string) error {
	q, err := privateField[workqueue.TypedRateLimitingInterface[K]](target, field)
	if err != nil {
		return fmt.Errorf("observing the queue of controller %q: %w", c.name, err)
	}
	*q = WrapQueue(c, queueName(field), *q, key)
	return nil
}

// SwapRelay replaces a private field as SwapQueue does, by a queue that only passes on, within a controller, what its
// handlers have seen: it makes no reconciles. What is queued while one of its keys is worked on has the causes of the
// key. The keys are pointers to a type that upstream need not export.
func SwapRelay(c *Controller, target any, field string) error {
	q, err := opaqueField(target, field)
	if err != nil {
		return fmt.Errorf("observing the queue of controller %q: %w", c.name, err)
	}
	*q = newRelay(c, queueName(field), *q)
	return nil
}

// queueName is the name in the trace of the queue in that field.
func queueName(field string) string {
	if field == "queue" {
		return ""
	}
	return field
}

// fieldOf finds a field of the struct that target points to, and that it is set.
func fieldOf(target any, field string) (reflect.Value, error) {
	v := reflect.ValueOf(target)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || !v.CanAddr() {
		return v, fmt.Errorf("%T is no pointer to a struct", target)
	}
	f := v.FieldByName(field)
	if !f.IsValid() {
		return f, fmt.Errorf("%T has no field %q", target, field)
	}
	if f.IsZero() {
		return f, fmt.Errorf("field %q of %T is not set", field, target)
	}
	return f, nil
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
