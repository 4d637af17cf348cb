package apidiff

import (
	"fmt"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/report"
)

// Sum makes the suite's report of results. meant are the lines of meant.yaml, which have counted the steps that needed
// them.
func Sum(results []FileResult, meant []*Meant) report.Suite {
	suite := report.Suite{Name: "API", Unit: "requests"}
	for _, file := range results {
		row := report.Row{Name: file.Name, About: file.About}
		for _, step := range file.Steps {
			count(&row.Counts, step.Outcome)
		}
		suite.Rows = append(suite.Rows, row)
	}
	for _, line := range meant {
		suite.Meant = append(suite.Meant, report.Meant{
			Where: line.Step + " " + line.Path, Reason: line.Reason, Times: line.count,
		})
	}
	return suite
}

func count(c *report.Counts, o Outcome) {
	switch o {
	case Same:
		c.Same++
	case MeantTo:
		c.Meant++
	case Different:
		c.Different++
	}
}

// Unneeded are the lines that no step needed. They mean something only after a run of the whole corpus.
func Unneeded(meant []*Meant) []*Meant {
	var unneeded []*Meant
	for _, line := range meant {
		if line.count == 0 {
			unneeded = append(unneeded, line)
		}
	}
	return unneeded
}

// mostShown is how much of a value a list of differences shows.
const mostShown = 400

// Describe lists the differences of a step as doc.go shows it.
func (r StepResult) Describe() string {
	var text strings.Builder
	for _, d := range r.Differences {
		a, b := around(d.Real, d.Embedded)
		fmt.Fprintf(&text, "%s  %s\n    real      %s\n    embedded  %s\n", r.ID, d.Path, a, b)
	}
	return text.String()
}

// around shortens two long values to the part where they differ.
func around(a, b string) (shortA, shortB string) {
	first := 0
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	start := max(0, first-mostShown/4)
	cut := func(s string) string {
		if len(s) <= mostShown {
			return s
		}
		from, to := min(start, len(s)), min(start+mostShown, len(s))
		return fmt.Sprintf("…%s… (%d bytes)", strings.ToValidUTF8(s[from:to], ""), len(s))
	}
	return cut(a), cut(b)
}
