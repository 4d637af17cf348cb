package tap

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// copied is a controller that is handed out as a copy.
type copied struct {
	queue workqueue.TypedRateLimitingInterface[string]
}

func (c *copied) addPod(key string) { c.queue.Add(key) }

func TestSharedQueueIsObservedWhoeverAdds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap, sink := recording()
		c := tap.Controller("rc")
		original := &copied{queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute))}
		handed := *original
		if err := SwapSharedQueue(c, &handed, "queue", text); err != nil {
			t.Fatal(err)
		}
		defer handed.queue.ShutDown()
		original.addPod("default/web")
		workOn(handed.queue, func(key string) { original.queue.AddAfter(key, time.Minute) })
		workOn(handed.queue, func(key string) { handed.queue.AddRateLimited(key) })
		workOn(handed.queue, func(string) {})
		var got []trace.Cause
		for _, s := range details[*trace.Start](sink) {
			for _, cause := range s.Causes {
				got = append(got, trace.Cause{Type: cause.Type, Retry: cause.Retry, Delay: cause.Delay, Reconcile: cause.Reconcile})
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
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `controller "rc"`) {
			t.Errorf("%s: got error %v, want one that tells %q", test.reason, err, test.want)
		}
	}
}

// otherMake is a queue that is not client-go's.
type otherMake struct {
	workqueue.TypedRateLimitingInterface[string]
	_ int
}
