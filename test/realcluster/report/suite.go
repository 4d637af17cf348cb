package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Suite is the result of a differential suite.
type Suite struct {
	// Name is one word, such as "API".
	Name string `json:"name"`
	// Unit is what is counted, in the plural, such as "requests".
	Unit string `json:"unit"`
	// Rows are in the order in which they are to be shown.
	Rows []Row `json:"rows"`
	// Meant are the differences that are meant.
	Meant []Meant `json:"meant"`
	// Loose is what is not compared, or not exactly.
	Loose []Loose `json:"loose,omitempty"`
	// Repeated are the names of the rows that were played more than once, because they differed at first. They are
	// shown in the table, and not on the page, which is the same after each run.
	Repeated []string `json:"repeated,omitempty"`
}

// Row sums up what is compared together: a file of requests, or a scenario.
type Row struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Counts
}

// Counts are numbers of what was compared.
type Counts struct {
	Same int `json:"same"`
	// Meant is what differs as it is meant to.
	Meant int `json:"meant"`
	// Different is what differs otherwise.
	Different int `json:"different"`
}

// Total is all that was compared.
func (c Counts) Total() int { return c.Same + c.Meant + c.Different }

// Meant is a difference that is meant.
type Meant struct {
	// Where is what differs, in the words of the suite.
	Where  string `json:"where"`
	Reason string `json:"reason"`
	// Times is how many of the suite's units it was found in.
	Times int `json:"times"`
}

// Loose is something that is not compared exactly, because neither side determines it.
type Loose struct {
	// Where is what, in the words of the suite; As is how it is compared, and Reason why.
	Where  string `json:"where"`
	As     string `json:"as"`
	Reason string `json:"reason"`
}

// Counts are those of all rows.
func (s Suite) Counts() Counts {
	var sum Counts
	for _, row := range s.Rows {
		sum.Same += row.Same
		sum.Meant += row.Meant
		sum.Different += row.Different
	}
	return sum
}

// Write writes the suite to a folder, which must be there, over what was there of that name.
func Write(dir string, s Suite) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report of %s: %w", s.Name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, strings.ToLower(s.Name)+".json"), data, 0o600); err != nil {
		return fmt.Errorf("writing the report of %s: %w", s.Name, err)
	}
	return nil
}

// Read reads all suites of a folder, sorted by name. That there are none is an error.
func Read(dir string) ([]Suite, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("looking for reports in %s: %w", dir, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("reading reports: there are none in %s", dir)
	}
	var suites []Suite
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a report: %w", err)
		}
		var s Suite
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, fmt.Errorf("reading the report %s: %w", file, err)
		}
		suites = append(suites, s)
	}
	slices.SortFunc(suites, func(a, b Suite) int { return strings.Compare(a.Name, b.Name) })
	return suites, nil
}
