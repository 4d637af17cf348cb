package tap

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

type testQueue = workqueue.TypedRateLimitingInterface[string]

func plainQueue() testQueue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
}

func newQueue(c *Controller) testQueue { return WrapQueue(c, "", plainQueue(), text) }

func enqueueWeb(q testQueue) { q.Add("default/web") }

func TestAddIsTheCauseOfTheReconcile(t *testing.T) {
	tap, sink := recording()
	q := newQueue(tap.Controller("deployment"))
	defer q.ShutDown()
	enqueueWeb(q)
	k, _ := q.Get()
	q.Forget(k)
	q.Done(k)

	starts, ends := details[*trace.Start](sink), details[*trace.End](sink)
	if len(starts) != 1 || len(ends) != 1 {
		t.Fatalf("want one start and one end, got %d and %d", len(starts), len(ends))
	}
	want := []trace.Cause{{Type: trace.CauseOther, Seq: 1, Handler: "TestAddIsTheCauseOfTheReconcile > enqueueWeb"}}
	if diff := cmp.Diff(want, starts[0].Causes); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if ends[0].Outcome != trace.Done {
		t.Errorf("outcome is %q", ends[0].Outcome)
	}
}

// reconcileOnce takes a key, calls work and is done with it. It returns the reconcile's start and end.
func reconcileOnce(q testQueue, sink *eventLog, work func(key string)) (*trace.Start, *trace.End) {
	k, _ := q.Get()
	work(k)
	q.Done(k)
	starts, ends := details[*trace.Start](sink), details[*trace.End](sink)
	return starts[len(starts)-1], ends[len(ends)-1]
}

func nothing(string) {}

// pass lets the time of a bubble pass.
func pass(d time.Duration) { <-time.After(d) }

// outline returns the types of causes, with what distinguishes them.
func outline(causes []trace.Cause) []string {
	var out []string
	for _, c := range causes {
		out = append(out, fmt.Sprintf("%s retry=%d delay=%s by=%d", c.Type, c.Retry, c.Delay, c.Reconcile))
	}
	return out
}

// inBubble runs test with a queue whose time is not the real one.
func inBubble(t *testing.T, test func(t *testing.T, tap *Tap, q testQueue, sink *eventLog)) {
	synctest.Test(t, func(t *testing.T) {
		tap, sink := recording()
		q := newQueue(tap.Controller("deployment"))
		defer q.ShutDown()
		test(t, tap, q, sink)
	})
}

func TestRetryHasTheDelayOfTheRateLimiter(t *testing.T) {
	inBubble(t, func(t *testing.T, tap *Tap, q testQueue, sink *eventLog) {
		q.Add("web")
		for n, delay := range []time.Duration{5, 10, 20, 40} {
			delay *= time.Millisecond
			start, end := reconcileOnce(q, sink, q.AddRateLimited)
			want := &trace.Next{After: trace.Duration(delay), Retry: n + 1}
			if end.Outcome != trace.Failed || cmp.Diff(want, end.Next) != "" {
				t.Errorf("try %d ends %q, next %+v; want it to fail with next %+v", n, end.Outcome, end.Next, want)
			}
			if n > 0 {
				want := []string{fmt.Sprintf("retry retry=%d delay=%s by=%d", n, delay/2, n)}
				if diff := cmp.Diff(want, outline(start.Causes)); diff != "" {
					t.Errorf("causes of try %d (-want +got):\n%s", n, diff)
				}
			}
			delayed := tap.State().Controllers[0].Queues[0].Delayed
			if len(delayed) != 1 || delayed[0].Due != time.Now().Add(delay) || delayed[0].Retry != n+1 {
				t.Errorf("after try %d the state is %+v", n, delayed)
			}
		}
	})
}

func TestADelayOutsideOfItsReconcileIsNoRetry(t *testing.T) {
	inBubble(t, func(t *testing.T, tap *Tap, q testQueue, sink *eventLog) {
		q.AddRateLimited("web") // as a handler does that is in no hurry
		if delayed := tap.State().Controllers[0].Queues[0].Delayed; len(delayed) != 1 || delayed[0].Retry != 0 {
			t.Errorf("nothing has failed, and the state is %+v", delayed)
		}
		start, _ := reconcileOnce(q, sink, nothing)
		if diff := cmp.Diff([]string{"timer retry=0 delay=5ms by=0"}, outline(start.Causes)); diff != "" {
			t.Errorf("causes (-want +got):\n%s", diff)
		}
	})
}

func TestEarliestDelayWins(t *testing.T) {
	inBubble(t, func(t *testing.T, tap *Tap, q testQueue, sink *eventLog) {
		q.Add("web")
		begun := time.Now()
		_, end := reconcileOnce(q, sink, func(k string) {
			q.AddAfter(k, 10*time.Minute)
			q.AddRateLimited(k)
			q.AddAfter(k, time.Hour)
		})
		if want := (trace.Next{After: trace.Duration(5 * time.Millisecond), Retry: 1}); *end.Next != want {
			t.Errorf("next is %+v, want %+v", *end.Next, want)
		}
		start, _ := reconcileOnce(q, sink, nothing)
		if waited := time.Since(begun); waited != 5*time.Millisecond {
			t.Errorf("the key came back after %v: upstream's queue has changed", waited)
		}
		want := []string{"retry retry=1 delay=5ms by=1"} // the timers are merged into it, and have not ended
		if diff := cmp.Diff(want, outline(start.Causes)); diff != "" {
			t.Errorf("causes (-want +got):\n%s", diff)
		}
		if s := tap.State(); !s.Idle() || len(s.Controllers[0].Queues[0].Delayed) != 0 {
			t.Errorf("something is left: %+v", s)
		}
	})
}

func TestDelayOutlastsAReconcileBeforeItsTime(t *testing.T) {
	inBubble(t, func(t *testing.T, tap *Tap, q testQueue, sink *eventLog) {
		q.AddAfter("web", time.Second)
		q.Add("web")
		start, _ := reconcileOnce(q, sink, nothing)
		if diff := cmp.Diff([]string{"other retry=0 delay=0s by=0"}, outline(start.Causes)); diff != "" {
			t.Errorf("causes of the first reconcile (-want +got):\n%s", diff)
		}
		if n := len(tap.State().Controllers[0].Queues[0].Delayed); n != 1 {
			t.Errorf("%d keys are delayed, want the timer to be pending", n)
		}
		start, _ = reconcileOnce(q, sink, nothing)
		if diff := cmp.Diff([]string{"timer retry=0 delay=1s by=0"}, outline(start.Causes)); diff != "" {
			t.Errorf("causes of the second reconcile (-want +got):\n%s", diff)
		}
	})
}

func TestQueueWaitCountsFromWhenTheKeyCouldBeTaken(t *testing.T) {
	for _, test := range []struct {
		reason string
		before func(q testQueue)
		want   time.Duration
	}{
		{"added, then taken late", func(q testQueue) {
			q.Add("web")
			pass(3 * time.Second)
		}, 3 * time.Second},
		{"the second addition does not set it back", func(q testQueue) {
			q.Add("web")
			pass(time.Second)
			q.Add("web")
			pass(time.Second)
		}, 2 * time.Second},
		{"a delay is no waiting", func(q testQueue) {
			q.AddAfter("web", time.Minute)
			pass(time.Minute + time.Second)
		}, time.Second},
		{"while another worker had it, it could not be taken", func(q testQueue) {
			q.Add("web")
			k, _ := q.Get()
			q.Add(k)
			pass(time.Minute)
			q.Done(k)
			pass(time.Second)
		}, time.Second},
	} {
		inBubble(t, func(t *testing.T, _ *Tap, q testQueue, sink *eventLog) {
			test.before(q) // sleeps in the bubble's time, which passes at once
			start, _ := reconcileOnce(q, sink, nothing)
			if got := time.Duration(start.QueueWait); got != test.want {
				t.Errorf("%s: waited %v, want %v", test.reason, got, test.want)
			}
		})
	}
}

func TestCausesAreBounded(t *testing.T) {
	tap, sink := recording()
	q := newQueue(tap.Controller("deployment"))
	defer q.ShutDown()
	for range maxCauses + 5 {
		q.Add("web")
	}
	start, _ := reconcileOnce(q, sink, nothing)
	if len(start.Causes) != maxCauses || start.MoreCauses != 5 {
		t.Errorf("%d causes and %d more, want %d and 5", len(start.Causes), start.MoreCauses, maxCauses)
	}
	q.Add("web")
	if start, _ = reconcileOnce(q, sink, nothing); len(start.Causes) != 1 || start.MoreCauses != 0 {
		t.Errorf("the next reconcile has %d causes and %d more, want its own only", len(start.Causes), start.MoreCauses)
	}
}

// sequence puts a queue through all that a controller may do with one, and returns what it saw.
func sequence(q testQueue) []string {
	var seen []string
	say := func(format string, args ...any) { seen = append(seen, fmt.Sprintf(format, args...)) }
	q.Add("a")
	q.Add("b")
	q.Add("a")
	say("len %d", q.Len())
	k, _ := q.Get()
	q.Add(k)
	say("got %s, len %d while it is worked on", k, q.Len())
	q.AddRateLimited("c")
	q.AddRateLimited("c")
	say("requeues of c %d", q.NumRequeues("c"))
	q.Forget("c")
	say("requeues of c %d", q.NumRequeues("c"))
	q.Done(k)
	say("len %d", q.Len())
	for _, want := range []string{"b", "a", "c"} {
		k, down := q.Get()
		say("got %s (want %s) %v", k, want, down)
		q.Done(k)
	}
	q.AddAfter("d", -time.Second)
	say("len %d with a delay in the past", q.Len())
	k, _ = q.Get()
	go func() {
		pass(time.Second)
		q.Done(k)
	}()
	begun := time.Now()
	q.ShutDownWithDrain()
	q.Add("late")
	q.AddAfter("late", time.Second)
	q.AddRateLimited("late")
	_, down := q.Get()
	say("drained after %v, down %v %v, len %d", time.Since(begun), down, q.ShuttingDown(), q.Len())
	q.ShutDown()
	return seen
}

func TestWrappedQueueDoesWhatThePlainOneDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap, _ := recording()
		want, got := sequence(plainQueue()), sequence(newQueue(tap.Controller("deployment")))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("behaviour (-plain +wrapped):\n%s", diff)
		}
		if s := tap.State(); !s.Idle() {
			t.Errorf("after the queue was shut down the state is %+v", s)
		}
	})
}

func TestNothingIsRecordedWithoutARecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap := New(Options{})
		q := newQueue(tap.Controller("deployment"))
		defer q.ShutDown()
		q.Add("a")
		q.AddAfter("a", time.Minute)
		q.AddAfter("a", time.Hour)
		state := func() QueueState { return tap.State().Controllers[0].Queues[0] }
		due := time.Now().Add(time.Minute)
		want := QueueState{Queued: 1, Delayed: []DelayedKey{{Key: "a", Since: time.Now(), Due: due}}}
		if diff := cmp.Diff(want, state()); diff != "" {
			t.Errorf("queued (-want +got):\n%s", diff)
		}
		k, _ := q.Get()
		want = QueueState{Running: 1, Delayed: want.Delayed}
		if diff := cmp.Diff(want, state()); diff != "" {
			t.Errorf("running (-want +got):\n%s", diff)
		}
		if currentActivity() != noActivity {
			t.Error("the worker is labelled though nothing is recorded")
		}
		q.Done(k)
		pass(time.Minute)
		synctest.Wait() // the delaying queue notices in the same moment
		if diff := cmp.Diff(QueueState{Queued: 1}, state()); diff != "" {
			t.Errorf("when the delay has ended (-want +got):\n%s", diff)
		}
	})
}

func TestPanickingReconcile(t *testing.T) {
	tap, sink := recording()
	q := newQueue(tap.Controller("deployment"))
	defer q.ShutDown()
	worker := func(done func(testQueue, string)) {
		defer func() { _ = recover() }()
		q.Add("web")
		k, _ := q.Get()
		defer done(q, k)
		panic("nil map")
	}
	worker(testQueue.Done)
	worker(func(q testQueue, k string) { q.Done(k) })
	for n, end := range details[*trace.End](sink) {
		if end.Outcome != trace.Panicked {
			t.Errorf("reconcile %d ends %q", n+1, end.Outcome)
		}
	}
	if currentActivity() != noActivity {
		t.Error("the worker's goroutine still belongs to the reconcile")
	}
}

func TestOutcomeIsTold(t *testing.T) {
	tap, sink := recording()
	c := tap.Controller("nodes")
	q := newQueue(c)
	defer q.ShutDown()
	q.Add("web")
	_, end := reconcileOnce(q, sink, func(string) { c.Outcome(trace.GaveUp, fmt.Errorf("no such node")) })
	want := &trace.End{Outcome: trace.GaveUp, Error: "no such node", Duration: end.Duration}
	if diff := cmp.Diff(want, end); diff != "" {
		t.Errorf("end (-want +got):\n%s", diff)
	}
	if dropped := details[*trace.Dropped](sink); len(dropped) != 1 || dropped[0].Error != "no such node" {
		t.Errorf("dropped: %+v", dropped)
	}
	c.Outcome(trace.Failed, nil) // outside of a reconcile it belongs to none
}

// counting is a provider of metrics of which the retries are counted.
type counting struct{ retries atomic.Int64 }

func (c *counting) Inc()                                                 { c.retries.Add(1) }
func (*counting) NewDepthMetric(string) workqueue.GaugeMetric            { return unused{} }
func (*counting) NewAddsMetric(string) workqueue.CounterMetric           { return unused{} }
func (*counting) NewLatencyMetric(string) workqueue.HistogramMetric      { return unused{} }
func (*counting) NewWorkDurationMetric(string) workqueue.HistogramMetric { return unused{} }
func (c *counting) NewRetriesMetric(string) workqueue.CounterMetric      { return c }
func (*counting) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return unused{}
}
func (*counting) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return unused{}
}

type unused struct{}

func (unused) Inc()            {}
func (unused) Dec()            {}
func (unused) Set(float64)     {}
func (unused) Observe(float64) {}

// use adds keys in every way there is.
func use(q testQueue) {
	q.Add("a")
	q.AddAfter("b", 1)
	q.AddAfter("c", 0)
	q.AddAfter("d", -1)
	q.AddRateLimited("e")
	q.AddRateLimited("e")
	q.ShutDown()
	q.AddAfter("f", 1)
	q.AddRateLimited("f")
}

// TestRetriesMetric: workqueue_retries_total counts for an observed queue what it counts for client-go's.
func TestRetriesMetric(t *testing.T) {
	named := func(name string) (testQueue, *counting) {
		c := &counting{}
		return workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: name, MetricsProvider: c}), c
	}
	bare, want := named("deployment")
	use(bare)
	wrapped, got := named("deployment")
	tap, _ := recording()
	use(WrapQueue(tap.Controller("deployment"), "", wrapped, text))
	if w, g := want.retries.Load(), got.retries.Load(); w < 5 || g != w {
		t.Errorf("%d retries were counted, and %d of client-go's own queue", g, w)
	}
	nameless, none := named("")
	use(WrapQueue(tap.Controller("deployment"), "", nameless, text))
	if n := none.retries.Load(); n != 0 {
		t.Errorf("%d retries were counted of a queue without a name", n)
	}
}
