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

// Polarities know which status of a condition is the good one. A file's rules come first, then the tables of built-in
// kinds and of common families of custom resources, then the words of the condition's name, then what is usual: True is
// good. They do not change after they were made, and may be used concurrently. Nil is DefaultPolarities.
type Polarities struct {
	rules []polarityRule // of the user's file
}

// DefaultPolarities are those without a file.
func DefaultPolarities() *Polarities { return &Polarities{} }

// byFile is the polarity that the user's file gives a condition of a kind; empty if it gives none.
func (p *Polarities) byFile(group, kind, condition string) Polarity {
	if p != nil {
		for _, r := range slices.Backward(p.rules) {
			if r.matches(group, kind, condition) {
				return r.polarity
			}
		}
	}
	return ""
}

// of is the polarity of a condition of a kind, and whether it was only guessed.
func (p *Polarities) of(group, kind, condition string) (polarity Polarity, guessed bool) {
	if given := p.byFile(group, kind, condition); given != "" {
		return given, false
	}
	if known, ok := builtInPolarities[group+"/"+kind][condition]; ok {
		return known, false
	}
	for _, f := range polarityFamilies {
		if known, ok := f.conditions[condition]; ok && f.has(group, kind) {
			return known, false
		}
	}
	return polarityOfName(condition), true
}

// conditionTable is of the conditions of a kind, or of a family of kinds.
type conditionTable map[string]Polarity

// table makes one of names with blanks between them, each of which is there once.
func table(positive, negative, neutral string) conditionTable {
	t := conditionTable{}
	for _, list := range []struct {
		polarity Polarity
		names    string
	}{{Positive, positive}, {Negative, negative}, {Neutral, neutral}} {
		for name := range strings.FieldsSeq(list.names) {
			t[name] = list.polarity
		}
	}
	return t
}

// polarityFamily is of projects whose kinds share their conditions.
type polarityFamily struct {
	kind       string   // empty for all
	groups     []string // of the family, or the domains that these end in
	conditions conditionTable
}

func (f polarityFamily) has(group, kind string) bool {
	return (f.kind == "" || f.kind == kind) && slices.ContainsFunc(f.groups, func(domain string) bool {
		before, ok := strings.CutSuffix(group, domain)
		return ok && (before == "" || strings.HasSuffix(before, "."))
	})
}
