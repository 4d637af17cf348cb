package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Rule says how something is compared that Kubernetes itself does not determine: a count, or a field of an object,
// which can only be ignored.
type Rule struct {
	// At is a pattern of Difference.At; "*" matches any text.
	At string `json:"at"`
	// As is one of Exact, Presence, Ends and Ignored.
	As string `json:"as"`
	// Reason is why no more can be asked.
	Reason string `json:"reason"`
}

// Meant is a difference that is meant to be.
type Meant struct {
	// Scenario is a pattern of scenarios' names; empty means all.
	Scenario string `json:"scenario,omitempty"`
	// At is a pattern of Difference.At.
	At string `json:"at"`
	// Reason is why the embedded side, or the one that plays the kubelet on the real side, cannot do otherwise.
	Reason string `json:"reason"`
}

// The values of Rule.As.
const (
	// Exact is how everything is compared that no rule is about.
	Exact = "exact"
	// Presence is that both sides have some, or none has.
	Presence = "presence"
	// Ends is that a sequence begins and ends alike. Scenarios have no sequences.
	Ends = "ends"
	// Ignored is not to compare it.
	Ignored = "ignored"
)

func validateRules(rules []Rule) error {
	var errs []error
	for _, r := range rules {
		if r.At == "" || r.Reason == "" || !slices.Contains([]string{Exact, Presence, Ends, Ignored}, r.As) {
			errs = append(errs, fmt.Errorf("rule %q needs at, reason, and as: %s, %s, %s or %s",
				r.At, Exact, Presence, Ends, Ignored))
		}
		if strings.HasPrefix(r.At, "object ") && (r.As == Presence || r.As == Ends) {
			errs = append(errs, fmt.Errorf("rule %q: a field of an object can be ignored, not counted", r.At))
		}
	}
	return errors.Join(errs...)
}

// RuleFor is the first rule that fits, or the one that asks for everything.
func RuleFor(rules []Rule, at string) Rule {
	for _, r := range rules {
		if matches(r.At, at) {
			return r
		}
	}
	return Rule{As: Exact}
}

func (r Rule) allows(upstream, embedded int) bool {
	switch r.As {
	case Ignored:
		return true
	case Presence:
		return (upstream > 0) == (embedded > 0)
	}
	return upstream == embedded
}

// matches reports whether the text is of the pattern, in which "*" matches any text.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, `.*`) + `$`).MatchString(text)
}

func (m Meant) covers(scenario string, d Difference) bool {
	return (m.Scenario == "" || matches(m.Scenario, scenario)) && matches(m.At, d.At)
}

// LoadRules reads a file of rules.
func LoadRules(files fs.FS, name string) ([]Rule, error) {
	var rules []Rule
	if err := load(files, name, &rules); err != nil {
		return nil, err
	}
	return rules, validateRules(rules)
}

// LoadMeant reads a file of differences that are meant.
func LoadMeant(files fs.FS, name string) ([]Meant, error) {
	var lines []Meant
	if err := load(files, name, &lines); err != nil {
		return nil, err
	}
	for _, m := range lines {
		if m.At == "" || m.Reason == "" {
			return nil, fmt.Errorf("reading %q: a line needs at and reason: %+v", name, m)
		}
	}
	return lines, nil
}

// LoadNames reads a file of users and the controllers that they are.
func LoadNames(files fs.FS, name string) (Names, error) {
	var names Names
	return names, load(files, name, &names)
}

func load(files fs.FS, name string, into any) error {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return fmt.Errorf("reading %q: %w", name, err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		return fmt.Errorf("reading %q: %w", name, err)
	}
	return nil
}
