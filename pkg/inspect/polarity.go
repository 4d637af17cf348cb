package inspect

import (
	"slices"
	"strings"
)

// Polarity says which status of a condition is the good one.
type Polarity string

// The polarities.
const (
	Positive Polarity = "Positive" // True is good: Ready
	Negative Polarity = "Negative" // False is good: MemoryPressure
	Neutral  Polarity = "Neutral"  // neither is bad: Reconciling
)

// Polarities know which status of a condition is the good one. The tables of built-in kinds and of common families of
// custom resources come first, then the words of the condition's name, then what is usual: True is good. They are
// never changed after they were made, and may be used concurrently.
type Polarities struct {
	rules []polarityRule // of the user's file, the last that matches wins
}

// DefaultPolarities are those without a file.
func DefaultPolarities() *Polarities { return &Polarities{} }

// of is the polarity of a condition of a kind, and whether it was only guessed.
func (p *Polarities) of(group, kind, condition string) (polarity Polarity, guessed bool) {
	if p != nil {
		for _, r := range slices.Backward(p.rules) {
			if r.matches(group, kind, condition) {
				return r.Polarity, false
			}
		}
	}
	for _, r := range knownPolarities {
		if r.matches(group, kind, condition) {
			return r.Polarity, false
		}
	}
	return polarityOfName(condition), true
}

// polarityRule is an entry of the tables, and of the user's file.
type polarityRule struct {
	// Group, Kind and Type are names, or patterns in which * stands for any letters.
	Group, Kind, Type string
	Polarity          Polarity
}

func (r polarityRule) matches(group, kind, condition string) bool {
	return matches(r.Group, group) && matches(r.Kind, kind) && matches(r.Type, condition)
}

// matches compares a name with a pattern that holds at most one *.
func matches(pattern, name string) bool {
	before, after, any := strings.Cut(pattern, "*")
	if !any {
		return pattern == name
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}
