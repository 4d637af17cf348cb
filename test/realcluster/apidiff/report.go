package apidiff

import (
	"fmt"
	"strings"
)

// Counts are numbers of compared steps.
type Counts struct {
	Total     int `json:"total"`
	Same      int `json:"same"`
	Meant     int `json:"meant"`
	Different int `json:"different"`
}

func (c *Counts) add(o Outcome) {
	c.Total++
	switch o {
	case Same:
		c.Same++
	case MeantTo:
		c.Meant++
	case Different:
		c.Different++
	}
}

// Report is what api.json holds.
type Report struct {
	Suite string `json:"suite"`
	Counts
	Files []FileRow  `json:"files"`
	Lines []MeantRow `json:"meantLines"`
}

// FileRow sums up a file.
type FileRow struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Counts
}

// MeantRow is a line of meant.yaml with the number of steps that needed it.
type MeantRow struct {
	Step   string `json:"step"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Steps  int    `json:"steps"`
}

// NewReport sums results up.
func NewReport(results []FileResult, lines []*Meant) Report {
	report := Report{Suite: "api", Files: []FileRow{}, Lines: []MeantRow{}}
	for _, file := range results {
		row := FileRow{Name: file.Name, About: file.About}
		for _, step := range file.Steps {
			row.add(step.Outcome)
			report.add(step.Outcome)
		}
		report.Files = append(report.Files, row)
	}
	for _, line := range lines {
		report.Lines = append(report.Lines, MeantRow{Step: line.Step, Path: line.Path, Reason: line.Reason, Steps: line.count})
	}
	return report
}

// Unneeded are the lines that no step needed. They mean something only after a run of the whole corpus.
func (r Report) Unneeded() []MeantRow {
	var unneeded []MeantRow
	for _, line := range r.Lines {
		if line.Steps == 0 {
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
