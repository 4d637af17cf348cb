package telemetry

import (
	"sort"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
)

// maxFindings is how many findings have a series each: objects and keys are among the labels.
const maxFindings = 20

// findingsCollector collects gauges of what repeats without progress at the time of a scrape.
type findingsCollector struct {
	found               func() []findings.Finding
	number, repetitions *prometheus.Desc
}

func newFindingsCollector(found func() []findings.Finding) *findingsCollector {
	return &findingsCollector{
		found: found,
		number: prometheus.NewDesc(namespace+"_findings",
			"What repeats without progress, since the session began: one for each controller if it is about keys.",
			[]string{"type"}, nil),
		repetitions: prometheus.NewDesc(namespace+"_finding_repetitions",
			"How often it happened, of the most frequent findings; key is the first of several.",
			[]string{"type", "controller", "object", "key"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *findingsCollector) Describe(to chan<- *prometheus.Desc) {
	to <- c.number
	to <- c.repetitions
}

// Collect implements prometheus.Collector.
func (c *findingsCollector) Collect(to chan<- prometheus.Metric) {
	found := c.found()
	number := map[findings.Type]int{}
	for i := range found {
		number[found[i].Type]++
	}
	for _, t := range findings.Types() {
		to <- prometheus.MustNewConstMetric(c.number, prometheus.GaugeValue, float64(number[t]), string(t))
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].Count > found[j].Count })
	shown := map[[4]string]bool{} // one object may have several of a type
	for i := 0; i < len(found) && len(shown) < maxFindings; i++ {
		labels := labelsOf(&found[i])
		if shown[labels] {
			continue
		}
		shown[labels] = true
		to <- prometheus.MustNewConstMetric(c.repetitions, prometheus.GaugeValue, float64(found[i].Count), labels[:]...)
	}
}

// labelsOf returns the labels of a finding: its type, controller, object and key.
func labelsOf(f *findings.Finding) [4]string {
	out := [4]string{string(f.Type), f.Controller}
	switch o := f.Object; {
	case f.Type == findings.NoOpWrite: // the object is but the last of them
		out[2] = f.Verb + " " + f.Resource
	case o != nil:
		name := o.Name
		if o.Namespace != "" {
			name = o.Namespace + "/" + name
		}
		out[2] = o.Kind + " " + name
	}
	if len(f.Keys) > 0 {
		out[3] = f.Keys[0]
	}
	return out
}
