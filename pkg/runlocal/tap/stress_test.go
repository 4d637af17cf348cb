package tap

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

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
	scopes.Range(func(_, s any) bool {
		t.Errorf("a scope is left: %+v", s)
		return true
	})
}

// work checks that goroutines of a reconcile know it.
func work(t *testing.T, q testQueue, key string) {
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if r := current().reconcile; r == nil || r.key != key {
				t.Errorf("a goroutine of %s finds %+v", key, r)
			}
		})
	}
	wg.Wait()
	if len(key)%2 == 0 {
		q.Forget(key)
	}
}
