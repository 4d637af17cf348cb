package tap

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TestEveryDelayHasItsCause adds keys with a delay at the very moment at which another delay of theirs ends: whichever comes
// first, each reconcile has a cause that names what asked for the delay.
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
					t.Fatalf("a reconcile has the cause %+v, which says nothing of what asked for the delay", c)
				}
			}
		}
	})
}
