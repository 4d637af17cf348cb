package telemetry

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// namespace begins the names of all metrics of this package.
const namespace = "kubectl_reconcile"

// maxResources bounds the values of the label resource: a cluster may have any number of custom resources.
const maxResources = 256

// other is the value of a label for all values beyond its bound, and for unknown ones.
const other = "other"

// Metrics is a trace.Sink that counts and times reconciles and requests for Prometheus. Its memory does not grow with
// the number of events: keys and names of objects are not labels. It is safe for concurrent use.
type Metrics struct {
	duration   *prometheus.HistogramVec
	waited     *prometheus.HistogramVec
	reconciles *prometheus.CounterVec
	retries    *prometheus.CounterVec
	gaveUp     *prometheus.CounterVec
	writes     *prometheus.CounterVec
	recorded   *prometheus.CounterVec

	mu        sync.Mutex
	resources map[string]bool
}

// NewMetrics returns Metrics without any values.
func NewMetrics() *Metrics {
	return &Metrics{
		duration: histogram("reconcile_duration_seconds", "How long reconciles took."),
		waited: histogram("queue_wait_seconds",
			"How long keys could have been taken from their queue before they were."),
		reconciles: counter("reconciles_total", "Reconciles that ended, by how.", "controller", "outcome"),
		retries: counter("retries_total", "Reconciles that were made because an earlier one of the key had failed.",
			"controller"),
		gaveUp: counter("gave_up_total", "Keys given up after too many tries.", "controller"),
		writes: counter("writes_total",
			"Write requests, refused ones included, Events not; code is none for those without an answer.",
			"controller", "verb", "resource", "code", "dry_run"),
		recorded:  counter("events_recorded_total", "API Events recorded, refused ones included.", "controller"),
		resources: map[string]bool{},
	}
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

// histogram returns a histogram by controller, with buckets from half a millisecond to a minute.
func histogram(name, help string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: prometheus.ExponentialBucketsRange(0.0005, 60, 16),
	}, []string{"controller"})
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, to) }

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{m.duration, m.waited, m.reconciles, m.retries, m.gaveUp, m.writes,
		m.recorded} {
		c.Collect(to)
	}
}

// Record implements trace.Sink.
func (m *Metrics) Record(e *trace.Event) {
	if e.Controller == "" {
		return
	}
	switch d := e.Detail.(type) {
	case *trace.Start:
		m.waited.WithLabelValues(e.Controller).Observe(time.Duration(d.QueueWait).Seconds())
		if d.IsRetry() {
			m.retries.WithLabelValues(e.Controller).Inc()
		}
	case *trace.End:
		m.duration.WithLabelValues(e.Controller).Observe(time.Duration(d.Duration).Seconds())
		m.reconciles.WithLabelValues(e.Controller, outcome(d)).Inc()
	case *trace.Dropped:
		m.gaveUp.WithLabelValues(e.Controller).Inc()
	case *trace.Request:
		m.request(e.Controller, d)
	}
}

// outcome returns the label for how a reconcile ended. One that failed only because a cache was behind is "putOff".
func outcome(e *trace.End) string {
	if e.PutOff != "" {
		return "putOff"
	}
	return string(e.Outcome)
}

func (m *Metrics) request(controller string, r *trace.Request) {
	switch {
	case !r.IsWrite():
	case r.Recorded != nil:
		m.recorded.WithLabelValues(controller).Inc()
	default:
		m.writes.WithLabelValues(controller, verb(r.Verb), m.resource(r), code(r.Code),
			strconv.FormatBool(r.DryRun)).Inc()
	}
}

// verb returns the label for a verb: one of the API's verbs for writes, or other.
func verb(v string) string {
	switch v {
	case "create", "update", "patch", "delete", "deletecollection":
		return v
	}
	return other
}

// code returns the label for an HTTP status, "none" for 0.
func code(status int) string {
	switch {
	case status == 0:
		return "none"
	case status < 100 || status > 599:
		return other
	}
	return strconv.Itoa(status)
}

// resource returns the label for the resource of a request, such as "deployments.apps/status"; other once there are
// maxResources.
func (m *Metrics) resource(r *trace.Request) string {
	name := r.Resource
	if r.Group != "" {
		name += "." + r.Group
	}
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.resources[name] {
		if len(m.resources) == maxResources {
			return other
		}
		m.resources[name] = true
	}
	return name
}

// Session is a running session. Its methods may be called concurrently.
type Session interface {
	// State returns the state of the controllers: their queues, and their requests in flight.
	State() tap.State
}

// stateCollector collects gauges of the controllers' queues and of readiness at the time of a scrape.
type stateCollector struct {
	session func() Session
	checks  func() []Check

	depth, running, delayed, requests, ready *prometheus.Desc
}

func newStateCollector(session func() Session, checks func() []Check) *stateCollector {
	gauge := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
	}
	return &stateCollector{
		session: session,
		checks:  checks,
		depth: gauge("queue_depth", "Keys that can be taken; queue is empty for a controller's main one.",
			"controller", "queue"),
		running: gauge("reconciles_running", "Keys that workers have taken and not finished.", "controller", "queue"),
		delayed: gauge("queue_delayed", "Keys that come back by themselves, retries and timers.", "controller",
			"queue"),
		requests: gauge("requests_in_flight", "Requests without an answer; a watch is answered when it is opened.",
			"controller"),
		ready: gauge("ready", "1 for what is ready, 0 for what is not, as /readyz has it.", "check"),
	}
}

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.depth, c.running, c.delayed, c.requests, c.ready} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *stateCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	for _, check := range c.checks() {
		ready := 0
		if check.Problem == "" {
			ready = 1
		}
		gauge(c.ready, ready, check.Name)
	}
	session := c.session()
	if session == nil {
		return
	}
	for _, controller := range session.State().Controllers {
		gauge(c.requests, controller.Requests, controller.Name)
		for _, q := range controller.Queues {
			gauge(c.depth, q.Queued, controller.Name, q.Queue)
			gauge(c.running, q.Running, controller.Name, q.Queue)
			gauge(c.delayed, len(q.Delayed), controller.Name, q.Queue)
		}
	}
}
