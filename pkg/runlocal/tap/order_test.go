package tap

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// interrupting is a clock that does something the next time that it is asked for the time.
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

// handlers of watch events, told apart by their names.
func seenFirst(q testQueue)     { q.Add("web") }
func seenMeanwhile(q testQueue) { q.Add("web") }
func seenLast(q testQueue)      { q.Add("web") }

// TestAdditionWhileAKeyIsHandedOut: the queue has handed a key out and the account does not know it yet. An addition comes
// in between, so that the key comes again: it is a cause of that reconcile, beside what is added later, and of no other.
func TestAdditionWhileAKeyIsHandedOut(t *testing.T) {
	sink, clk := &eventLog{}, &interrupting{}
	tap := New(Options{Recorder: trace.NewRecorder(clock.RealClock{}, sink), Clock: clk})
	q := newQueue(tap.Controller("resourcequota"))
	defer q.ShutDown()

	seenFirst(q)
	added := make(chan struct{})
	clk.next(func() { // asked by Get, when it has the key
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

// TestWaitingWorkersLearnOfAShutDown: whichever way the queue is shut down, no worker waits on.
func TestWaitingWorkersLearnOfAShutDown(t *testing.T) {
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
