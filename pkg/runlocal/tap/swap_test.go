package tap

import (
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// pod is a key as upstream has them, that no other package can name.
type pod struct {
	kind      podKind
	namespace string
	name      string
}

type podKind int

// podKey is pod as this side declares it.
type podKey struct {
	kind      int
	namespace string
	name      string
}

func (k podKey) String() string { return k.namespace + "/" + k.name }

// queuesOfEachKind is a controller with a queue of each kind, some of them in a struct of their own.
type queuesOfEachKind struct {
	Queue workqueue.TypedInterface[string]
	later workqueue.TypedDelayingInterface[string]
	store *store
	any   any
}

type store struct {
	limited  workqueue.TypedRateLimitingInterface[pod]
	later    workqueue.TypedDelayingInterface[pod]
	plain    workqueue.TypedInterface[pod]
	pointers workqueue.TypedRateLimitingInterface[*pod]
}

func newQueuesOfEachKind(t *testing.T) *queuesOfEachKind {
	t.Helper()
	s := &queuesOfEachKind{
		Queue: workqueue.NewTyped[string](), later: workqueue.NewTypedDelayingQueue[string](),
		store: &store{
			limited:  workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[pod](time.Second, time.Minute)),
			later:    workqueue.NewTypedDelayingQueue[pod](),
			plain:    workqueue.NewTyped[pod](),
			pointers: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[*pod]()),
		},
	}
	s.any = s.store
	t.Cleanup(func() { // of those that are there in the end
		s.Queue.ShutDown()
		s.later.ShutDown()
		s.store.limited.ShutDown()
		s.store.later.ShutDown()
		s.store.plain.ShutDown()
		s.store.pointers.ShutDown()
	})
	return s
}

func spellPod(k podKey) string { return k.String() }

func TestSwapQueueOfEveryKind(t *testing.T) {
	web := pod{kind: 1, namespace: "default", name: "web"}
	for _, test := range []struct {
		reason string
		swap   func(*Controller, *queuesOfEachKind) error
		work   func(*queuesOfEachKind) // adds the key, takes it and is done with it
		queue  string
		key    string
	}{
		{
			reason: "a plain queue of strings",
			swap:   func(c *Controller, s *queuesOfEachKind) error { return SwapQueue(c, s, "Queue", text) },
			work:   func(s *queuesOfEachKind) { s.Queue.Add("default/web"); finish(s.Queue.Get, s.Queue.Done) },
			queue:  "Queue", key: "default/web",
		},
		{
			reason: "a delaying one",
			swap:   func(c *Controller, s *queuesOfEachKind) error { return SwapQueue(c, s, "later", text) },
			work:   func(s *queuesOfEachKind) { s.later.AddAfter("node-1", 0); finish(s.later.Get, s.later.Done) },
			queue:  "later", key: "node-1",
		},
		{
			reason: "a limiting one of a type that is not exported, in a struct behind a pointer",
			swap: func(c *Controller, s *queuesOfEachKind) error {
				return SwapQueue(c, s, "store.limited",
					spellPod)
			},
			work: func(s *queuesOfEachKind) {
				s.store.limited.Add(web)
				finish(s.store.limited.Get,
					s.store.limited.Done)
			},
			queue: "limited", key: "default/web",
		},
		{
			reason: "a delaying one of such a type, in a struct that an interface holds",
			swap:   func(c *Controller, s *queuesOfEachKind) error { return SwapQueue(c, s, "any.later", spellPod) },
			work:   func(s *queuesOfEachKind) { s.store.later.Add(web); finish(s.store.later.Get, s.store.later.Done) },
			queue:  "later", key: "default/web",
		},
		{
			reason: "a plain one of such a type",
			swap:   func(c *Controller, s *queuesOfEachKind) error { return SwapQueue(c, s, "store.plain", spellPod) },
			work:   func(s *queuesOfEachKind) { s.store.plain.Add(web); finish(s.store.plain.Get, s.store.plain.Done) },
			queue:  "plain", key: "default/web",
		},
		{
			reason: "one of pointers to such a type",
			swap: func(c *Controller, s *queuesOfEachKind) error {
				return SwapQueue(c, s, "store.pointers", func(k *podKey) string { return k.String() })
			},
			work: func(s *queuesOfEachKind) {
				s.store.pointers.Add(&web)
				finish(s.store.pointers.Get, s.store.pointers.Done)
			},
			queue: "pointers", key: "default/web",
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			tap, sink := recording()
			s := newQueuesOfEachKind(t)
			if err := test.swap(tap.Controller("x"), s); err != nil {
				t.Fatal(err)
			}
			test.work(s)
			var got []string
			for _, e := range sink.list() {
				if start, ok := e.Detail.(*trace.Start); ok {
					got = append(got, start.Queue+" "+e.Key)
				}
			}
			if diff := cmp.Diff([]string{test.queue + " " + test.key}, got); diff != "" {
				t.Errorf("reconciles (-want +got):\n%s", diff)
			}
			if !tap.State().Idle() {
				t.Errorf("it is done, but: %+v", tap.State())
			}
		})
	}
}

// finish takes a key and is done with it. A queue of another type's keys could not be passed as a lesser interface.
func finish[K comparable](get func() (K, bool), done func(K)) {
	k, _ := get()
	done(k)
}

func TestRetriesOfAKeyThatIsNotExportedHaveDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap, sink := recording()
		s := newQueuesOfEachKind(t)
		if err := SwapQueue(tap.Controller("x"), s, "store.limited", spellPod); err != nil {
			t.Fatal(err)
		}
		s.store.limited.Add(pod{namespace: "default", name: "web"})
		for range 2 {
			k, _ := s.store.limited.Get()
			s.store.limited.AddRateLimited(k)
			s.store.limited.Done(k)
		}
		var got []trace.Next
		for _, end := range details[*trace.End](sink) {
			got = append(got, *end.Next)
		}
		want := []trace.Next{{After: trace.Duration(time.Second), Retry: 1},
			{After: trace.Duration(2 * time.Second), Retry: 2}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("next (-want +got):\n%s", diff)
		}
	})
}

func TestTimersOfADelayingQueueArePending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap, sink := recording()
		s := newQueuesOfEachKind(t)
		if err := SwapQueue(tap.Controller("x"), s, "later", text); err != nil {
			t.Fatal(err)
		}
		s.later.AddAfter("node-1", 40*time.Second)
		delayed := tap.State().Controllers[0].Queues[0].Delayed
		if len(delayed) != 1 || delayed[0].Key != "node-1" || !delayed[0].Due.Equal(time.Now().Add(40*time.Second)) {
			t.Errorf("delayed are %+v", delayed)
		}
		finish(s.later.Get, s.later.Done)
		causes := details[*trace.Start](sink)[0].Causes
		if diff := cmp.Diff([]string{"timer retry=0 delay=40s by=0"}, outline(causes)); diff != "" {
			t.Errorf("causes (-want +got):\n%s", diff)
		}
	})
}

func TestSwappedQueuesShutDown(t *testing.T) {
	tap, _ := recording()
	s := newQueuesOfEachKind(t)
	c := tap.Controller("x")
	for _, err := range []error{
		SwapQueue(c, s, "Queue", text), SwapQueue(c, s, "later", text), SwapQueue(c, s, "store.plain", spellPod),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Queue.ShutDown()
	s.later.ShutDownWithDrain()
	s.store.plain.ShutDown()
	for n, q := range []interface{ ShuttingDown() bool }{s.Queue, s.later, s.store.plain} {
		if !q.ShuttingDown() {
			t.Errorf("queue %d is not shut down", n)
		}
	}
	s.Queue.Add("late")
	if _, down := s.Queue.Get(); !down {
		t.Error("a queue that is shut down returns keys")
	}
}

// Keys that are not laid out as pod is.
type (
	renamedPod struct {
		kind      int
		namespace string
		podName   string
	}
	retypedPod   struct{ kind, namespace, name string }
	shorterPod   struct{ kind int }
	reorderedPod struct {
		namespace string
		kind      int
		name      string
	}
)

func TestCheckQueueFieldNamesWhatDiffers(t *testing.T) {
	controller := reflect.TypeFor[queuesOfEachKind]()
	for _, test := range []struct {
		reason string
		err    error
		want   string // part of it; empty for none
	}{
		{"the same layout", CheckQueueField[podKey](controller, "store.limited"), ""},
		{"a pointer to it", CheckQueueField[*podKey](controller, "store.pointers"), ""},
		{"the type itself", CheckQueueField[pod](controller, "store.plain"), ""},
		{"a pointer to the controller will do", CheckQueueField[string](reflect.PointerTo(controller), "Queue"), ""},
		{"a field has another name", CheckQueueField[renamedPod](controller, "store.limited"),
			`field 2 of tap.pod is "name", of tap.renamedPod "podName"`},
		{"a field has another type", CheckQueueField[retypedPod](controller, "store.limited"),
			`field "kind" of tap.pod: tap.podKind is not laid out as string`},
		{"fields are missing", CheckQueueField[shorterPod](controller, "store.limited"), "tap.pod has 3 fields"},
		{"fields are elsewhere", CheckQueueField[reorderedPod](controller, "store.later"),
			`field 0 of tap.pod is "kind"`},
		{"a pointer is no struct", CheckQueueField[*podKey](controller, "store.limited"),
			"tap.pod is not laid out as *tap.podKey"},
		{"a path ends nowhere", CheckQueueField[podKey](controller, "store.gone"), `tap.store has no field "gone"`},
		{"a path leads through no struct", CheckQueueField[podKey](controller, "Queue.gone"),
			"is no struct on the way"},
		{"no queue at all", CheckQueueField[podKey](controller, "store"), "or a lesser queue"},
	} {
		switch {
		case test.want == "" && test.err != nil:
			t.Errorf("%s: %v", test.reason, test.err)
		case test.want != "" && (test.err == nil || !strings.Contains(test.err.Error(), test.want)):
			t.Errorf("%s: want an error that has %q, got %v", test.reason, test.want, test.err)
		}
	}
}

func TestRateLimiterIsFound(t *testing.T) {
	limiter := workqueue.DefaultTypedControllerRateLimiter[string]()
	q := workqueue.NewTypedRateLimitingQueue(limiter)
	defer q.ShutDown()
	if got := rateLimiterOf(q); got != limiter {
		t.Errorf("client-go's queue has its rate limiter elsewhere: got %v. Delays of retries are not known", got)
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

// TestGatedQueueThatHidesItsRateLimiter: a queue whose keys could not be kept from workers is refused.
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
	target := &controllerLike{queue: plainQueue(), nodeQueue: plainQueue(),
		otherQueue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[int]())}
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
		{"a pointer to that, as an interface may contain", &target, "nodeQueue", ""},
		{"upstream has renamed the field", target, "workqueue", `has no field "workqueue"`},
		{"upstream has changed the key's type", target, "otherQueue",
			"is a workqueue.TypedRateLimitingInterface[int], not a queue of string: int is not laid out as string"},
		{"the constructor has not made a queue", target, "unset", "is not set"},
		{"a copy would be swapped for nothing", *target, "queue", "is no pointer to a struct"},
		{"no controller", (*controllerLike)(nil), "queue", "is no pointer to a struct"},
	} {
		err := SwapQueue(c, test.target, test.field, text)
		switch {
		case test.err == "" && err != nil:
			t.Errorf("%s: %v", test.reason, err)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err) ||
			!strings.Contains(err.Error(), `"x"`)):
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

// copied is a controller that a constructor returns as a copy.
type copied struct {
	queue workqueue.TypedRateLimitingInterface[string]
}

func (c *copied) addPod(key string) { c.queue.Add(key) }

func TestSharedQueueIsObservedForBothHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap, sink := recording()
		c := tap.Controller("rc")
		original := &copied{queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute))}
		returned := *original
		if err := SwapSharedQueue(c, &returned, "queue", text); err != nil {
			t.Fatal(err)
		}
		defer returned.queue.ShutDown()
		original.addPod("default/web")
		workOn(returned.queue, func(key string) { original.queue.AddAfter(key, time.Minute) })
		workOn(returned.queue, func(key string) { returned.queue.AddRateLimited(key) })
		workOn(returned.queue, func(string) {})
		var got []trace.Cause
		for _, s := range details[*trace.Start](sink) {
			for _, cause := range s.Causes {
				got = append(got, trace.Cause{Type: cause.Type, Retry: cause.Retry, Delay: cause.Delay,
					Reconcile: cause.Reconcile})
			}
		}
		want := []trace.Cause{
			{Type: trace.CauseOther},
			{Type: trace.CauseTimer, Delay: trace.Duration(time.Minute), Reconcile: 1},
			{Type: trace.CauseRetry, Delay: trace.Duration(time.Second), Reconcile: 2, Retry: 1},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("causes (-want +got):\n%s", diff)
		}
	})
}

// workOn does what a controller's worker does with one key.
func workOn(q workqueue.TypedRateLimitingInterface[string], sync func(string)) {
	key, _ := q.Get()
	defer q.Done(key)
	sync(key)
}

func TestSharedQueueNamesWhatHasMoved(t *testing.T) {
	c := New(Options{}).Controller("rc")
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	defer q.ShutDown()
	for _, test := range []struct {
		reason string
		target any
		field  string
		want   string
	}{
		{"the field is gone", &copied{queue: q}, "work", `has no field "work"`},
		{"the queue is of another make", &copied{queue: otherMake{}}, "queue", "otherMake"},
	} {
		err := SwapSharedQueue(c, test.target, test.field, text)
		if err == nil || !strings.Contains(err.Error(), test.want) ||
			!strings.Contains(err.Error(), `controller "rc"`) {
			t.Errorf("%s: got error %v, want one that contains %q", test.reason, err, test.want)
		}
	}
}

// otherMake is a queue that is not client-go's.
type otherMake struct {
	workqueue.TypedRateLimitingInterface[string]
	_ int
}
