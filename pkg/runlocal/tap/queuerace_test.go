package tap

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// interrupting is a clock that does something the next time that Now is called.
type interrupting struct {
	clock.RealClock
	mu sync.Mutex
	do func()
}

func (c *interrupting) next(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.do = do
}

func (c *interrupting) Now() time.Time {
	c.mu.Lock()
	do := c.do
	c.do = nil
	c.mu.Unlock()
	if do != nil {
		do()
	}
	return c.RealClock.Now()
}

// seenFirst, seenMeanwhile and seenLast are handlers of watch events, which are distinguished by their names.
func seenFirst(q testQueue)     { q.Add("web") }
func seenMeanwhile(q testQueue) { q.Add("web") }
func seenLast(q testQueue)      { q.Add("web") }

// TestAdditionWhileAKeyIsTaken: the queue has returned a key and the tracker does not know it yet. An addition
// comes in between, so that the key comes again: it is a cause of that reconcile, beside what is added later, and of no
// other.
func TestAdditionWhileAKeyIsTaken(t *testing.T) {
	sink, clk := &eventLog{}, &interrupting{}
	tap := New(Options{Recorder: trace.NewRecorder(clock.RealClock{}, sink), Clock: clk})
	q := newQueue(tap.Controller("resourcequota"))
	defer q.ShutDown()

	seenFirst(q)
	added := make(chan struct{})
	clk.next(func() { // called by Get, when it has the key
		go func() {
			defer close(added)
			seenMeanwhile(q)
		}()
		select {
		case <-added:
		case <-time.After(100 * time.Millisecond): // it is made to wait for Get, which is right as well
		}
	})
	k, _ := q.Get()
	<-added
	seenLast(q)
	q.Done(k)
	k, _ = q.Get()
	q.Done(k)

	var got [][]string
	for _, start := range details[*trace.Start](sink) {
		var handlers []string
		for _, c := range start.Causes {
			handlers = append(handlers, c.Handler[strings.LastIndexByte(c.Handler, ' ')+1:])
		}
		got = append(got, handlers)
	}
	if diff := cmp.Diff([][]string{{"seenFirst"}, {"seenMeanwhile", "seenLast"}}, got); diff != "" {
		t.Errorf("causes of the reconciles (-want +got):\n%s", diff)
	}
}

// TestEveryAdditionIsTheCauseOfOneReconcile adds keys from many goroutines, while many workers take them.
func TestEveryAdditionIsTheCauseOfOneReconcile(t *testing.T) {
	const adders, workers, additions = 4, 4, 500
	tap, sink := recording()
	q := newQueue(tap.Controller("resourcequota"))
	var working, adding sync.WaitGroup
	for range workers {
		working.Go(func() {
			for k, down := q.Get(); !down; k, down = q.Get() {
				q.Done(k)
			}
		})
	}
	for range adders {
		adding.Go(func() {
			for range additions {
				q.Add("web")
			}
		})
	}
	adding.Wait()
	eventually(t, "the queue to run dry", func() bool { return tap.State().Idle() })
	q.ShutDown()
	working.Wait()

	counted := 0
	for _, start := range details[*trace.Start](sink) {
		counted += len(start.Causes) + start.MoreCauses
	}
	if counted != adders*additions {
		t.Errorf("%d additions are the causes of reconciles, of %d", counted, adders*additions)
	}
}

// TestWaitingWorkersAreWokenByAShutDown: no worker waits after the queue is shut down, in either way.
func TestWaitingWorkersAreWokenByAShutDown(t *testing.T) {
	for reason, shutDown := range map[string]func(testQueue){
		"at once":                      testQueue.ShutDown,
		"when all keys are done":       testQueue.ShutDownWithDrain,
		"by the tap, which is drained": func(q testQueue) { q.(*queue[string]).drain() },
	} {
		tap, _ := recording()
		q := WrapQueue(tap.Controller("x"), "", plainQueue(), text)
		var working sync.WaitGroup
		for range 3 {
			working.Go(func() {
				for k, down := q.Get(); !down; k, down = q.Get() {
					q.Done(k)
				}
			})
		}
		q.Add("web")
		shutDown(q)
		working.Wait() // or the test hangs
		if _, down := q.Get(); !down {
			t.Errorf("%s: a key is left", reason)
		}
	}
}

// TestEveryDelayHasItsCause adds keys with a delay at the very moment at which another delay of theirs ends: whichever
// comes first, each reconcile has a cause that names what requested the delay.
func TestEveryDelayHasItsCause(t *testing.T) {
	const keys = 200
	inBubble(t, func(t *testing.T, _ *Tap, q testQueue, sink *eventLog) {
		var adding sync.WaitGroup
		for n := range keys {
			key := "default/" + strconv.Itoa(n)
			q.AddAfter(key, 5*time.Millisecond)
			adding.Go(func() {
				pass(5 * time.Millisecond)
				q.AddAfter(key, time.Second)
			})
		}
		adding.Wait()
		for range 2 {
			pass(2 * time.Second)
			for q.Len() > 0 {
				reconcileOnce(q, sink, nothing)
			}
		}
		for _, start := range details[*trace.Start](sink) {
			for _, c := range start.Causes {
				if c.Seq == 0 || c.Delay == 0 {
					t.Fatalf("a reconcile has the cause %+v, which does not name what requested the delay", c)
				}
			}
		}
	})
}

// TestManyWorkers adds keys from many goroutines in every way while many workers take them, start goroutines of their
// own and ask for more; State is looked at all the while.
func TestManyWorkers(t *testing.T) {
	const adders, workers, keys, additions = 4, 8, 10, 300
	tap, sink := recording()
	c := tap.Controller("replicaset")
	quick := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Microsecond, time.Millisecond)
	q := WrapQueue(c, "", workqueue.NewTypedRateLimitingQueue(quick), text)

	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for {
				k, down := q.Get()
				if down {
					return
				}
				work(t, q, k)
				q.Done(k)
			}
		})
	}
	var adding sync.WaitGroup
	for a := range adders {
		adding.Go(func() {
			for n := range additions {
				k := fmt.Sprint("key-", (n+a)%keys)
				switch n % 3 {
				case 0:
					q.Add(k)
				case 1:
					q.AddAfter(k, time.Duration(n%5)*time.Microsecond)
				default:
					q.AddRateLimited(k)
					q.Forget(k)
				}
				tap.State()
			}
		})
	}
	adding.Wait()
	eventually(t, "the queue to run dry", func() bool {
		s := tap.State()
		return s.Idle() && len(s.Controllers[0].Queues[0].Delayed) == 0
	})
	q.ShutDown()
	working.Wait()

	if len(details[*trace.Start](sink)) != len(details[*trace.End](sink)) {
		t.Error("not every reconcile has ended")
	}
	for _, e := range sink.list() {
		if s, ok := e.Detail.(*trace.Start); ok && len(s.Causes) == 0 {
			t.Errorf("reconcile %d of %s has no cause", e.Reconcile, e.Key)
		}
	}
	activities.Range(func(_, s any) bool {
		t.Errorf("a scope is left: %+v", s)
		return true
	})
}

// work checks that goroutines of a reconcile know it.
func work(t *testing.T, q testQueue, key string) {
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if r := currentActivity().reconcile; r == nil || r.key != key {
				t.Errorf("a goroutine of %s finds %+v", key, r)
			}
		})
	}
	wg.Wait()
	if len(key)%2 == 0 {
		q.Forget(key)
	}
}
