package tap

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
)

// SwapQueue replaces the queue that target, a controller, keeps in a private field by one that observes it. Between its
// constructor and its Run, nothing else may use the field. The field may be of any of client-go's three interfaces of
// typed queues: what they lack is never asked for. field may be a path through structs and pointers to such
// ("store.queue"). The name of the queue is as for WrapQueue: the field's, empty if it is "queue".
//
// Where upstream does not export the type of the keys, K is one of the same layout: the same fields in the same order, by
// name, type and place. So may K be a pointer to such a type. The error names the type and the field when upstream has
// moved it or given it another type.
func SwapQueue[K comparable](c *Controller, target any, field string, key func(K) string) error {
	return SwapNamedQueue(c, target, field, queueName(field), key)
}

// SwapNamedQueue is SwapQueue for one of several controllers in one, whose queues are in fields of the same name: name tells
// them apart in the trace.
func SwapNamedQueue[K comparable](c *Controller, target any, field, name string, key func(K) string) error {
	f, err := fieldOf(target, field)
	if err != nil {
		return fmt.Errorf("observing the queue of controller %q: %w", c.name, err)
	}
	if c.gate != nil && hidesLimiter[K](f) {
		return fmt.Errorf("observing the queue of controller %q: field %q of %T hides its rate limiter, without which its gate is not kept",
			c.name, field, target)
	}
	if err := swapQueueIn(c, f, name, key); err != nil {
		return fmt.Errorf("observing the queue of controller %q: field %q of %T is a %v, not a %w", c.name, field, target, f.Type(), err)
	}
	return nil
}

// hidesLimiter reports whether the field holds a rate limiting queue whose rate limiter is not found: keys of such a queue
// are not kept from workers.
func hidesLimiter[K comparable](f reflect.Value) bool {
	if sort, err := queueKindOf[K](f.Type()); err != nil || sort != kindRateLimiting {
		return false // the others get one
	}
	at := unsafe.Pointer(f.UnsafeAddr()) //nolint:gosec // sortOf has compared the types
	return rateLimiterOf(*(*workqueue.TypedRateLimitingInterface[K])(at)) == nil
}

// swapQueueIn puts an observed queue into the field f, which holds one.
func swapQueueIn[K comparable](c *Controller, f reflect.Value, name string, key func(K) string) error {
	sort, err := queueKindOf[K](f.Type())
	if err != nil {
		return err
	}
	switch at := unsafe.Pointer(f.UnsafeAddr()); sort { //nolint:gosec // sortOf has compared the types
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

// CheckQueueField says why SwapQueue could not replace the field of a controller of that type, which is a struct's; nil if it could.
// It needs no controller.
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

// withDelays gives a plain queue the methods of a delaying one.
func withDelays[K comparable](c *Controller, q workqueue.TypedInterface[K]) workqueue.TypedDelayingInterface[K] {
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[K]{Clock: c.tap.clock, Queue: q})
}

// withLimiter gives a delaying queue the methods of a rate limiting one.
func withLimiter[K comparable](q workqueue.TypedDelayingInterface[K]) workqueue.TypedRateLimitingInterface[K] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.DefaultTypedControllerRateLimiter[K](), workqueue.TypedRateLimitingQueueConfig[K]{DelayingQueue: q})
}

// SwapRelay replaces a private field as SwapQueue does, by a queue that only passes on, within a controller, what its
// handlers have seen: it makes no reconciles. What is queued while one of its keys is worked on has the causes of the
// key. The keys are pointers to a type that upstream need not export.
func SwapRelay(c *Controller, target any, field string) error {
	return SwapOrderedRelay(c, target, field, nil)
}

// SwapOrderedRelay is SwapRelay of a queue that hands on what informers show in the order in which it was written, as far as
// what they show is recorded: newest returns the version of the newest watch event of a resource, and is called often,
// concurrently. A change waits for older ones up to a second. If newest is nil, changes are handed on as they come. A session can
// have one such queue.
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

// SwapSharedQueue is SwapQueue for a rate limiting queue that two structs hold, of which only target can be reached: it is a
// copy of a controller, and the handlers that were registered before are those of the original. What the original adds is
// observed too. Failures that it reports, by AddRateLimited, seem to be timers: its workers must be the copy's.
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

// swapShared puts the observed queue both into the field and into the queue itself, a rate limiter on top of a delaying
// queue (util/workqueue/rate_limiting_queue.go), whose place in front of the delaying queue a twin of it takes.
func swapShared[K comparable](c *Controller, q *workqueue.TypedRateLimitingInterface[K], name string, key func(K) string) error {
	delaying, err := privateField[workqueue.TypedDelayingInterface[K]](*q, "TypedDelayingInterface")
	if err != nil {
		return err
	}
	original := reflect.ValueOf(*q).Elem()
	copied := reflect.New(original.Type())
	copied.Elem().Set(original)
	twin, ok := reflect.TypeAssert[workqueue.TypedRateLimitingInterface[K]](copied)
	if !ok {
		return fmt.Errorf("%T is a queue only by value", *q)
	}
	*q = WrapQueue(c, name, twin, key)
	*delaying = *q
	return nil
}

// SwapField replaces a private field of target, of exactly type F, by what wrap makes of it. Between target's constructor and
// its Run, nothing else may use the field. The error names the type and the field when upstream has moved it or given it
// another type.
func SwapField[F any](c *Controller, target any, field string, wrap func(F) F) error {
	f, err := privateField[F](target, field)
	if err != nil {
		return fmt.Errorf("observing field %q of controller %q: %w", field, c.name, err)
	}
	*f = wrap(*f)
	return nil
}

// queueName is the name in the trace of the queue in that field.
func queueName(field string) string {
	name := field[strings.LastIndexByte(field, '.')+1:]
	if name == "queue" {
		return ""
	}
	return name
}
