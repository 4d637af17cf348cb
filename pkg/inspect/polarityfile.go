package inspect

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// polarityRule is an entry of a file.
type polarityRule struct {
	group, kind, condition string // names, or patterns with one *
	polarity               Polarity
}

func (r polarityRule) matches(group, kind, condition string) bool {
	return matches(r.group, group) && matches(r.kind, kind) && matches(r.condition, condition)
}

// matches compares a name with a pattern, in which one * stands for any letters, none too.
func matches(pattern, name string) bool {
	before, after, open := strings.Cut(pattern, "*")
	if !open {
		return pattern == name
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// polarityFile is the form of the file that ReadPolarities reads.
type polarityFile struct {
	Polarities []polarityEntry `json:"polarities"`
}

type polarityEntry struct {
	Group    *string `json:"group"`
	Kind     string  `json:"kind"`
	Type     string  `json:"type"`
	Polarity string  `json:"polarity"`
}

// ReadPolarities reads a YAML (or JSON) file of rules, which override the defaults:
//
//	polarities:
//	- group: db.example.com   # of the kind; "" is the core group; left out: any
//	  kind: Database          # left out: any
//	  type: Throttled         # of the condition; must be given
//	  polarity: negative      # positive: True is good; negative: False is good; neutral: neither is bad
//
// In group, kind and type one * stands for any letters: "*.example.com". Of several entries that match a condition, the
// last counts. An empty file overrides nothing. A key that is not among these, or is there twice, is an error, as is an
// entry without a type or polarity; the error names the entry, counted from 1.
func ReadPolarities(r io.Reader) (*Polarities, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading the polarities: %w", err)
	}
	var file polarityFile
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return nil, fmt.Errorf("reading the polarities: %w", err)
	}
	p := DefaultPolarities()
	for i, entry := range file.Polarities {
		rule, err := entry.rule()
		if err != nil {
			return nil, fmt.Errorf("reading the polarities: entry %d: %w", i+1, err)
		}
		p.rules = append(p.rules, rule)
	}
	return p, nil
}

func (e polarityEntry) rule() (polarityRule, error) {
	r := polarityRule{group: "*", kind: "*", condition: e.Type}
	if e.Group != nil {
		r.group = *e.Group
	}
	if e.Kind != "" {
		r.kind = e.Kind
	}
	if e.Type == "" {
		return r, errors.New("type: must name a condition, or be a pattern")
	}
	for _, field := range []struct{ name, pattern string }{{"group", r.group}, {"kind", r.kind}, {"type", r.condition}} {
		if strings.Count(field.pattern, "*") > 1 {
			return r, fmt.Errorf("%s: %q has more than one *", field.name, field.pattern)
		}
	}
	switch strings.ToLower(e.Polarity) {
	case "positive":
		r.polarity = Positive
	case "negative":
		r.polarity = Negative
	case "neutral":
		r.polarity = Neutral
	default:
		return r, fmt.Errorf("polarity: must be positive, negative or neutral, not %q", e.Polarity)
	}
	return r, nil
}
