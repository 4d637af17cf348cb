package tap

import (
	"strings"
	"testing"

	"k8s.io/client-go/util/workqueue"
)

func TestRateLimiterIsFound(t *testing.T) {
	limiter := workqueue.DefaultTypedControllerRateLimiter[string]()
	q := workqueue.NewTypedRateLimitingQueue(limiter)
	defer q.ShutDown()
	if got := rateLimiterOf(q); got != limiter {
		t.Errorf("client-go's queue keeps its rate limiter elsewhere: got %v. Delays of retries are not known", got)
	}
}

// hidden is a queue whose rate limiter cannot be found.
type hidden struct{ testQueue }

func TestQueueThatHidesItsRateLimiter(t *testing.T) {
	tap, sink := recording()
	inner := plainQueue()
	q := WrapQueue(tap.Controller("deployment"), "", testQueue(hidden{inner}), text)
	defer q.ShutDown()
	q.Add("web")
	_, end := reconcileOnce(q, sink, q.AddRateLimited)
	if end.Next == nil || end.Next.Retry != 1 || inner.NumRequeues("web") != 1 {
		t.Errorf("next is %+v after %d failures", end.Next, inner.NumRequeues("web"))
	}
	if start, _ := reconcileOnce(q, sink, nothing); len(start.Causes) != 1 || start.Causes[0].Retry != 1 {
		t.Errorf("the retry has causes %+v", start.Causes)
	}
}

// TestGatedQueueThatHidesItsRateLimiter: what could not be kept from workers is refused, rather than handed to them.
func TestGatedQueueThatHidesItsRateLimiter(t *testing.T) {
	tap, _ := recording()
	c := tap.Controller("garbage-collector")
	c.Gate(func() bool { return false })
	target := &controllerLike{queue: testQueue(hidden{plainQueue()})}
	defer target.queue.ShutDown()
	err := SwapQueue(c, target, "queue", text)
	if err == nil || !strings.Contains(err.Error(), "hides its rate limiter") {
		t.Errorf("got %v", err)
	}
}

// controllerLike has fields as upstream's controllers have.
type controllerLike struct {
	queue      testQueue
	nodeQueue  testQueue
	otherQueue workqueue.TypedRateLimitingInterface[int]
	unset      testQueue
}

func TestSwapQueue(t *testing.T) {
	tap, _ := recording()
	c := tap.Controller("x")
	target := &controllerLike{queue: plainQueue(), nodeQueue: plainQueue(), otherQueue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[int]())}
	defer func() { // those that are there in the end
		target.queue.ShutDown()
		target.nodeQueue.ShutDown()
		target.otherQueue.ShutDown()
	}()
	for _, test := range []struct {
		reason string
		target any
		field  string
		err    string // part of the error; empty for none
	}{
		{"a pointer to a controller", target, "queue", ""},
		{"a pointer to that, as an interface may hold", &target, "nodeQueue", ""},
		{"upstream has renamed the field", target, "workqueue", `has no field "workqueue"`},
		{"upstream has changed the key's type", target, "otherQueue", "is a workqueue.TypedRateLimitingInterface[int], not a queue of string: int is not laid out as string"},
		{"the constructor has not made a queue", target, "unset", "is not set"},
		{"a copy would be swapped for nothing", *target, "queue", "is no pointer to a struct"},
		{"no controller", (*controllerLike)(nil), "queue", "is no pointer to a struct"},
	} {
		err := SwapQueue(c, test.target, test.field, text)
		switch {
		case test.err == "" && err != nil:
			t.Errorf("%s: %v", test.reason, err)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), `"x"`)):
			t.Errorf("%s: want an error that has %q, got %v", test.reason, test.err, err)
		}
	}
	if _, ok := target.queue.(*queue[string]); !ok {
		t.Errorf("the field holds a %T", target.queue)
	}
	var names []string
	for _, q := range tap.State().Controllers[0].Queues {
		names = append(names, q.Queue)
	}
	if strings.Join(names, ",") != ",nodeQueue" {
		t.Errorf("the queues are called %q; the main one needs no name", names)
	}
}
