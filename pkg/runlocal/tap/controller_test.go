package tap

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestControllerTraits(t *testing.T) {
	tap, sink := recording()
	c := tap.Controller("collector")
	c.SetTraits(ControllerTraits{
		ErrorLevel: 5, RequeuesWithoutError: true,
		FormatValue: func(v any) string { s, _ := v.(string); return strings.ToUpper(s) },
		FormatError: func(text string) string { return strings.TrimPrefix(text, "long ") },
	})
	q := WrapQueue(c, "", plainQueue(), text)
	defer q.ShutDown()
	logger := klog.FromContext(c.Context(t.Context()))
	for _, test := range []struct {
		reason  string
		work    func(string)
		outcome trace.Outcome
		err     string
		next    trace.CauseType
	}{
		{"it looks again later", q.AddRateLimited, trace.Done, "", trace.CauseTimer},
		{"it logs the reason at a high level", func(k string) {
			logger.V(5).Info("no", "err", errors.New("long reason"))
			q.AddRateLimited(k)
		}, trace.Failed, "reason", trace.CauseRetry},
		{"it reports the reason without its logger", func(k string) {
			utilruntime.HandleError(errors.New("long other reason"))
			q.AddRateLimited(k)
		}, trace.Failed, "other reason", trace.CauseRetry},
	} {
		q.Add(test.reason)
		_, end := reconcileOnce(q, sink, test.work)
		if end.Outcome != test.outcome || end.Error != test.err || end.Next == nil {
			t.Errorf("%s: the end is %+v", test.reason, end)
		}
		if retried := test.next == trace.CauseRetry; (end.Next.Retry > 0) != retried {
			t.Errorf("%s: it comes back with %+v", test.reason, end.Next)
		}
		start, _ := reconcileOnce(q, sink, nothing)
		if len(start.Causes) != 1 || start.Causes[0].Type != test.next ||
			start.IsRetry() != (test.next == trace.CauseRetry) {
			t.Errorf("%s: the next has the causes %v", test.reason, outline(start.Causes))
		}
		q.Forget(test.reason)
	}
	logger.Info("said", "word", "loud", "number", 7)
	for _, l := range details[*trace.Log](sink) {
		if l.Level == 5 {
			t.Errorf("level 5 is read, and not recorded: %+v", l)
		}
		if l.Message == "said" && (l.Values[0].Value != "LOUD" || l.Values[1].Value != "7") {
			t.Errorf("the values are %v", l.Values)
		}
	}
}

// gated is a queue of a controller whose gate the test opens.
func gated(t *testing.T, test func(t *testing.T, c *Controller, q testQueue, open *atomic.Bool)) {
	synctest.Test(t, func(t *testing.T) {
		tap, _ := recording()
		c, open := tap.Controller("garbagecollector"), &atomic.Bool{}
		c.Gate(open.Load)
		q := newQueue(c)
		defer q.ShutDown()
		test(t, c, q, open)
	})
}

func TestGateKeepsKeysFromWorkers(t *testing.T) {
	gated(t, func(t *testing.T, c *Controller, q testQueue, open *atomic.Bool) {
		var mu sync.Mutex
		var got []string
		taken := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(got)
		}
		q.Add("default/before")
		var workers sync.WaitGroup
		for range 2 {
			workers.Go(func() {
				for {
					k, down := q.Get()
					if down {
						return
					}
					mu.Lock()
					got = append(got, k)
					mu.Unlock()
					q.Done(k)
				}
			})
		}
		q.Add("default/while")
		synctest.Wait()
		if len(taken()) > 0 {
			t.Errorf("workers have got %v before the gate was open", taken())
		}
		if s := c.tap.State(); s.Idle() {
			t.Error("nothing is left to do, although keys wait for the gate")
		}
		open.Store(true)
		c.GateOpened()
		synctest.Wait()
		if len(taken()) != 2 {
			t.Errorf("workers have got %v", taken())
		}
		open.Store(false)
		q.Add("default/after")
		synctest.Wait()
		if len(taken()) != 2 {
			t.Errorf("workers have got %v after the gate was shut", taken())
		}
		q.ShutDown()
		workers.Wait()
		if len(taken()) != 2 {
			t.Errorf("workers have got %v from a queue that was shut down behind a gate", taken())
		}
	})
}
