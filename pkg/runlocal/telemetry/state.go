package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// stateCollector makes gauges of what the controllers have to do at the moment of a scrape.
type stateCollector struct {
	// state returns false while there are no controllers yet.
	state func() (tap.State, bool)

	depth, running, delayed, requests *prometheus.Desc
}

func newStateCollector(state func() (tap.State, bool)) *stateCollector {
	gauge := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
	}
	return &stateCollector{
		state:    state,
		depth:    gauge("queue_depth", "Keys that can be taken; queue is empty for a controller's main one.", "controller", "queue"),
		running:  gauge("reconciles_running", "Keys that workers have taken and not finished.", "controller", "queue"),
		delayed:  gauge("queue_delayed", "Keys that come back by themselves, retries and timers.", "controller", "queue"),
		requests: gauge("requests_in_flight", "Requests without an answer; a watch is answered when it is opened.", "controller"),
	}
}

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.depth, c.running, c.delayed, c.requests} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *stateCollector) Collect(to chan<- prometheus.Metric) {
	state, ok := c.state()
	if !ok {
		return
	}
	gauge := func(d *prometheus.Desc, value int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	for _, controller := range state.Controllers {
		gauge(c.requests, controller.Requests, controller.Name)
		for _, q := range controller.Queues {
			gauge(c.depth, q.Queued, controller.Name, q.Queue)
			gauge(c.running, q.Running, controller.Name, q.Queue)
			gauge(c.delayed, len(q.Delayed), controller.Name, q.Queue)
		}
	}
}
