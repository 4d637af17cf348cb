package scenarios

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/report"
)

// What can come of comparing a scenario's two sides.
const (
	Same      = "same"
	MeantOnly = "meant"
	Different = "different"
)

// Result is what came of a scenario.
type Result struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Result string `json:"result"`
	// Writes are the numbers of writes, real and embedded, by controller, verb and resource.
	Writes map[string][2]int `json:"writes"`
	// Meant are the lines of the file of meant differences that were needed.
	Meant []Meant `json:"meant,omitempty"`
}

// Report collects the results of a run. It may be used concurrently.
type Report struct {
	meant []Meant
	rules []Rule

	mu      sync.Mutex
	used    []int // in how many scenarios, by line of meant
	results []Result
	loose   []report.Loose // by rules of scenarios
	again   []string       // the scenarios that were played again
}

// NewReport begins a report that knows which differences are meant, and the rules of all scenarios.
func NewReport(meant []Meant, rules []Rule) *Report {
	return &Report{meant: meant, rules: rules, used: make([]int, len(meant))}
}

// Add takes in a scenario's differences, and returns those that are not meant.
func (r *Report) Add(s *Scenario, upstream, embedded *Outcome, differences []Difference) []Difference {
	r.mu.Lock()
	defer r.mu.Unlock()
	result := Result{Name: s.Name, About: s.About, Result: Same, Writes: writeTable(upstream, embedded)}
	needed := map[int]bool{}
	var left []Difference
	for _, d := range differences {
		i := slices.IndexFunc(r.meant, func(m Meant) bool { return m.covers(s.Name, d) })
		if i < 0 {
			left = append(left, d)
			continue
		}
		needed[i] = true
	}
	for i, m := range r.meant {
		if needed[i] {
			r.used[i]++
			result.Meant = append(result.Meant, m)
		}
	}
	switch {
	case len(left) > 0:
		result.Result = Different
	case len(needed) > 0:
		result.Result = MeantOnly
	}
	r.results = append(r.results, result)
	for _, rule := range s.Rules {
		r.loose = append(r.loose, report.Loose{Where: s.Name + ": " + rule.At, As: rule.As, Reason: rule.Reason})
	}
	return left
}

// Fail takes in a scenario that could not be played.
func (r *Report) Fail(s *Scenario) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = append(r.results, Result{Name: s.Name, About: s.About, Result: Different})
}

// Repeat takes in that a scenario was played again, because it differed at first.
func (r *Report) Repeat(s *Scenario) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.again = append(r.again, s.Name)
}

// Repeated returns the names of the scenarios that were played again.
func (r *Report) Repeated() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.again))
}

// Unneeded are the meant differences that were not seen.
func (r *Report) Unneeded() []Meant {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Meant
	for i, m := range r.meant {
		if r.used[i] == 0 {
			out = append(out, m)
		}
	}
	return out
}

func writeTable(upstream, embedded *Outcome) map[string][2]int {
	table := map[string][2]int{}
	for i, o := range []*Outcome{upstream, embedded} {
		for key, n := range countWrites(o.Writes) {
			key = strings.TrimPrefix(key, "write ")
			row := table[key]
			row[i] = n
			table[key] = row
		}
	}
	return table
}

// suite is the report as package report reads it. The lock must be held.
func (r *Report) suite() report.Suite {
	s := report.Suite{Name: "Controllers", Unit: "scenarios", Repeated: slices.Sorted(slices.Values(r.again))}
	for _, result := range r.results {
		row := report.Row{Name: result.Name, About: result.About}
		switch result.Result {
		case Same:
			row.Same = 1
		case MeantOnly:
			row.Meant = 1
		default:
			row.Different = 1
		}
		s.Rows = append(s.Rows, row)
	}
	for i, m := range r.meant {
		where := m.At
		if m.Scenario != "" {
			where = m.Scenario + ": " + where
		}
		s.Meant = append(s.Meant, report.Meant{Where: where, Reason: m.Reason, Times: r.used[i]})
	}
	for _, rule := range r.rules {
		s.Loose = append(s.Loose, report.Loose{Where: rule.At, As: rule.As, Reason: rule.Reason})
	}
	slices.SortStableFunc(r.loose, func(a, b report.Loose) int { return strings.Compare(a.Where, b.Where) })
	s.Loose = append(s.Loose, r.loose...)
	return s
}

// Write writes the report to controllers.json in the folder: what package report reads, and each scenario's result in
// full.
func (r *Report) Write(dir string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.results, func(a, b Result) int { return strings.Compare(a.Name, b.Name) })
	data, err := json.MarshalIndent(struct {
		report.Suite
		Scenarios []Result `json:"scenarios"`
	}{r.suite(), r.results}, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "controllers.json"), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
