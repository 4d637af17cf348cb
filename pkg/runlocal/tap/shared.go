package tap

import (
	"fmt"
	"reflect"

	"k8s.io/client-go/util/workqueue"
)

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
