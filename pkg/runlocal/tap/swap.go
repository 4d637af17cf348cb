package tap

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
)

// SwapQueue replaces the queue in a private field of target, a controller, by one that observes it. It must be called
// between target's constructor and its Run, while nothing else uses the field. The field may be of any of client-go's
// three interfaces of typed queues. field may be a path through structs and pointers to structs ("store.queue"). The
// name of the queue in the trace is that of the field, empty if this is "queue". key returns the text of a key for the
// trace.
//
// If the type of the keys is not exported, K is a type of the same layout: a struct with the same fields in the same
// order, by name, type and offset, or a pointer to such a struct. The error names the type and the field if upstream
// has moved the field or changed its type.
func SwapQueue[K comparable](c *Controller, target any, field string, key func(K) string) error {
	return SwapNamedQueue(c, target, field, queueName(field), key)
}

// SwapNamedQueue is SwapQueue for one of several controllers in one, whose queues are in fields of the same name: name
// is that of the queue in the trace.
func SwapNamedQueue[K comparable](c *Controller, target any, field, name string, key func(K) string) error {
	f, err := fieldOf(target, field)
	if err == nil && c.gate != nil && hidesLimiter[K](f) {
		err = fmt.Errorf("field %q of %T hides its rate limiter, so its gate cannot keep keys from workers",
			field, target)
	}
	if err == nil {
		if differs := swapQueueIn(c, f, name, key); differs != nil {
			err = fmt.Errorf("field %q of %T is a %v, not a %w", field, target, f.Type(), differs)
		}
	}
	if err != nil {
		return fmt.Errorf("observing the queue of controller %q: %w", c.name, err)
	}
	return nil
}

// hidesLimiter reports whether the field contains a rate limiting queue whose rate limiter is not found. Such a queue
// adds keys by itself, and so the gate cannot keep them from workers.
func hidesLimiter[K comparable](f reflect.Value) bool {
	if kind, err := queueKindOf[K](f.Type()); err != nil || kind != kindRateLimiting {
		return false // the others get one
	}
	at := unsafe.Pointer(f.UnsafeAddr()) //nolint:gosec // queueKindOf has compared the types
	return rateLimiterOf(*(*workqueue.TypedRateLimitingInterface[K])(at)) == nil
}

// swapQueueIn replaces the queue in the field f.
func swapQueueIn[K comparable](c *Controller, f reflect.Value, name string, key func(K) string) error {
	kind, err := queueKindOf[K](f.Type())
	if err != nil {
		return err
	}
	switch at := unsafe.Pointer(f.UnsafeAddr()); kind { //nolint:gosec // queueKindOf has compared the types
	case kindRateLimiting:
		q := (*workqueue.TypedRateLimitingInterface[K])(at)
		*q = WrapQueue(c, name, *q, key)
	case kindDelaying:
		q := (*workqueue.TypedDelayingInterface[K])(at)
		*q = WrapQueue(c, name, withLimiter(*q), key)
	case kindPlain:
		q := (*workqueue.TypedInterface[K])(at)
		*q = WrapQueue(c, name, withLimiter(withDelays(c, *q)), key)
	}
	return nil
}

// CheckQueueField returns the error of SwapQueue for that field of a controller of that struct type, nil if there is
// none. It is for checks without a controller.
func CheckQueueField[K comparable](controller reflect.Type, field string) error {
	t, err := fieldType(controller, field)
	if err != nil {
		return err
	}
	if _, err := queueKindOf[K](t); err != nil {
		return fmt.Errorf("field %q of %v is a %v, not a %w", field, controller, t, err)
	}
	return nil
}

// withDelays adds the methods of a delaying queue to a plain one. The controller, which has no such methods, does not
// call them.
func withDelays[K comparable](c *Controller, q workqueue.TypedInterface[K]) workqueue.TypedDelayingInterface[K] {
	config := workqueue.TypedDelayingQueueConfig[K]{Clock: c.tap.clock, Queue: q}
	return workqueue.NewTypedDelayingQueueWithConfig(config)
}

// withLimiter adds the methods of a rate limiting queue to a delaying one. The controller does not call them.
func withLimiter[K comparable](q workqueue.TypedDelayingInterface[K]) workqueue.TypedRateLimitingInterface[K] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.DefaultTypedControllerRateLimiter[K](), workqueue.TypedRateLimitingQueueConfig[K]{DelayingQueue: q})
}

// SwapRelay replaces a queue as SwapQueue does, by one that makes no reconciles, since the controller only uses it to
// pass on what its handlers have seen. What is added to other queues while one of its keys is worked on has the causes
// of the key. Keys are pointers to a type that need not be exported.
func SwapRelay(c *Controller, target any, field string) error {
	return SwapOrderedRelay(c, target, field, nil)
}

// SwapOrderedRelay is SwapRelay for a queue that passes on what informers show in the order in which it was written, as
// far as that is recorded. newest returns the resourceVersion of the newest watch event of a resource; it is called
// often and concurrently, under Tap.mu, and must not call the Tap. A change waits for older ones for at most a second.
// If newest is nil, changes are passed on as they come. A session can have one such queue.
func SwapOrderedRelay(c *Controller, target any, field string, newest func(schema.GroupResource) uint64) error {
	q, err := opaqueField(target, field)
	if err != nil {
		return fmt.Errorf("observing the queue of controller %q: %w", c.name, err)
	}
	r := newRelay(c, queueName(field), *q)
	if newest != nil {
		r.order = &changeOrder[*opaque]{tap: c.tap, newest: newest, pass: r.TypedRateLimitingInterface.Add}
		release := r.order.passReady
		c.tap.onHandled.Store(&release)
	}
	*q = r
	return nil
}

// SwapSharedQueue is SwapQueue for a rate limiting queue in the fields of two structs of which only target can be
// reached, because target is a copy of a controller whose handlers were registered before. What the original adds is
// observed too, but its AddRateLimited seems to be a timer: workers must be those of the copy.
func SwapSharedQueue[K comparable](c *Controller, target any, field string, key func(K) string) error {
	q, err := privateField[workqueue.TypedRateLimitingInterface[K]](target, field)
	if err == nil {
		err = swapShared(c, q, queueName(field), key)
	}
	if err != nil {
		return fmt.Errorf("observing the queue of controller %q: %w", c.name, err)
	}
	return nil
}

// swapShared puts the observed queue into the field, and into the queue that was there, which is a rate limiter around
// a delaying queue (util/workqueue/rate_limiting_queue.go), in the place of the latter. The observed queue wraps a copy
// of the queue that was there.
func swapShared[K comparable](
	c *Controller, q *workqueue.TypedRateLimitingInterface[K], name string, key func(K) string,
) error {
	delaying, err := privateField[workqueue.TypedDelayingInterface[K]](*q, "TypedDelayingInterface")
	if err != nil {
		return err
	}
	original := reflect.ValueOf(*q).Elem()
	copied := reflect.New(original.Type())
	copied.Elem().Set(original)
	duplicate, ok := reflect.TypeAssert[workqueue.TypedRateLimitingInterface[K]](copied)
	if !ok {
		return fmt.Errorf("%T is a queue only by value", *q)
	}
	*q = WrapQueue(c, name, duplicate, key)
	*delaying = *q
	return nil
}

// SwapField replaces a private field of target, of exactly type F, by the result of wrap. It must be called between
// target's constructor and its Run, while nothing else uses the field. The error names the type and the field if
// upstream has moved the field or changed its type.
func SwapField[F any](c *Controller, target any, field string, wrap func(F) F) error {
	f, err := privateField[F](target, field)
	if err != nil {
		return fmt.Errorf("observing field %q of controller %q: %w", field, c.name, err)
	}
	*f = wrap(*f)
	return nil
}

// queueName returns the name in the trace of the queue in that field.
func queueName(field string) string {
	name := field[strings.LastIndexByte(field, '.')+1:]
	if name == "queue" {
		return ""
	}
	return name
}
