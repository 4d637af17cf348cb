package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// Session is what runs. Its methods may be called concurrently.
type Session interface {
	// State is what its controllers have to do.
	State() tap.State
}

// stateCollector makes gauges of what the controllers have to do, and of what is ready, at the moment of a scrape.
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
		session:  session,
		checks:   checks,
		depth:    gauge("queue_depth", "Keys that can be taken; queue is empty for a controller's main one.", "controller", "queue"),
		running:  gauge("reconciles_running", "Keys that workers have taken and not finished.", "controller", "queue"),
		delayed:  gauge("queue_delayed", "Keys that come back by themselves, retries and timers.", "controller", "queue"),
		requests: gauge("requests_in_flight", "Requests without an answer; a watch is answered when it is opened.", "controller"),
		ready:    gauge("ready", "1 for what is ready, 0 for what is not, as /readyz has it.", "check"),
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
