package apidiff

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// Meant is a difference that is meant, a line of meant.yaml.
type Meant struct {
	// Step is a glob of FILE/STEP, Path one of the difference's path; * is any text. Both must match.
	Step string `json:"step"`
	Path string `json:"path"`
	// Reason explains why the difference is right, for a reader who knows Kubernetes.
	Reason string `json:"reason"`

	step, path *regexp.Regexp
	count      int
}

// ParseMeant reads meant.yaml. Unknown fields and lines without a reason are errors. An empty file means no lines.
func ParseMeant(data []byte) ([]*Meant, error) {
	var lines []*Meant
	if err := yaml.UnmarshalStrict(data, &lines); err != nil {
		return nil, fmt.Errorf("reading the meant differences: %w", err)
	}
	var problems []error
	for i, line := range lines {
		if line.Step == "" || line.Path == "" || line.Reason == "" {
			problems = append(problems, fmt.Errorf("meant difference %d: step, path and reason must be given", i))
		}
		line.step, line.path = glob(line.Step), glob(line.Path)
	}
	return lines, errors.Join(problems...)
}

// glob is a pattern in which * matches any text and everything else itself.
func glob(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
}

// meansAll reports whether every difference of the step is meant, and counts the step for each line that was needed.
func meansAll(lines []*Meant, step string, differences []Difference) bool {
	needed := map[*Meant]bool{}
	all := true
	for _, difference := range differences {
		found := false
		for _, line := range lines {
			if line.step.MatchString(step) && line.path.MatchString(difference.Path) {
				needed[line], found = true, true
			}
		}
		all = all && found
	}
	for line := range needed {
		line.count++
	}
	return all
}
