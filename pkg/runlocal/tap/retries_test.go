package tap

import (
	"sync/atomic"
	"testing"

	"k8s.io/client-go/util/workqueue"
)

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

// TestRetriesMetric: workqueue_retries_total tells of an observed queue what it tells of client-go's.
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
