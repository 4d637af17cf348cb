package inspect

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// Polarity is which status of a condition is the good one.
type Polarity string

// The polarities.
const (
	Positive Polarity = "Positive" // True is good: Ready
	Negative Polarity = "Negative" // False is good: MemoryPressure
	Neutral  Polarity = "Neutral"  // neither is bad: Reconciling
)

// Polarities maps conditions to their polarity. The rules of a user's file come first, then the tables of built-in
// kinds and of common families of custom resources, then the words of the condition's name, then the default: True is
// good. Polarities are immutable and may be used concurrently. Nil is DefaultPolarities.
type Polarities struct {
	rules []polarityRule // of the user's file
}

// DefaultPolarities returns the polarities without a user's file.
func DefaultPolarities() *Polarities { return &Polarities{} }

// override returns the polarity that the user's file gives a condition of a kind; empty if it gives none.
func (p *Polarities) override(group, kind, condition string) Polarity {
	if p != nil {
		for _, r := range slices.Backward(p.rules) {
			if r.matches(group, kind, condition) {
				return r.polarity
			}
		}
	}
	return ""
}

// lookup returns the polarity of a condition of a kind, and whether it is only guessed.
func (p *Polarities) lookup(group, kind, condition string) (polarity Polarity, guessed bool) {
	if given := p.override(group, kind, condition); given != "" {
		return given, false
	}
	if known, ok := builtInPolarities[group+"/"+kind][condition]; ok {
		return known, false
	}
	for _, f := range polarityFamilies {
		if known, ok := f.conditions[condition]; ok && f.includes(group, kind) {
			return known, false
		}
	}
	return polarityOfName(condition), true
}

// conditionTable holds the conditions of a kind, or of a family of kinds.
type conditionTable map[string]Polarity

// newTable returns a table of names that are separated by blanks. No name may occur twice.
func newTable(positive, negative, neutral string) conditionTable {
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

// polarityFamily holds the conditions that the kinds of one or several projects share.
type polarityFamily struct {
	kind       string   // empty for all
	groups     []string // of the family, or the domains that these end in
	conditions conditionTable
}

func (f polarityFamily) includes(group, kind string) bool {
	return (f.kind == "" || f.kind == kind) && slices.ContainsFunc(f.groups, func(domain string) bool {
		before, ok := strings.CutSuffix(group, domain)
		return ok && (before == "" || strings.HasSuffix(before, "."))
	})
}

// polarityRule is an entry of a user's file.
type polarityRule struct {
	group, kind, condition string // names, or patterns with one *
	polarity               Polarity
}

func (r polarityRule) matches(group, kind, condition string) bool {
	return matches(r.group, group) && matches(r.kind, kind) && matches(r.condition, condition)
}

// matches reports whether a name matches a pattern, in which one * matches any text, also an empty one.
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
// In group, kind and type one * matches any text: "*.example.com". Of several entries that match a condition, the
// last one wins. An empty file overrides nothing. An unknown or duplicate key is an error, as is an entry without a
// type or polarity; the error names the entry, counted from 1.
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
	for _, field := range []struct{ name, pattern string }{
		{"group", r.group}, {"kind", r.kind}, {"type", r.condition},
	} {
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

// negativeWords are words in the name of a condition that is bad when it is True. They are matched whole.
var negativeWords = wordSet(`Abnormal Abort Aborted Blocked Blocking Broken Conflict Conflicted Conflicting Conflicts
	Corrupt Corrupted Corruption Crash Crashed Crashes Crashing Dangling Deadlock Deadlocked Degraded Denied
	Deprecated Disconnected Disrupted Disruption Err Error Errored Errors Evicted Eviction Exceeded Exceeds
	Exhausted Expired Fail Failed Failing Fails Failure Failures Fatal Fault Faulted Faults Faulty Fenced Hung
	Illegal Inaccessible Incompatible Inconsistent Insufficient Invalid Irreconcilable Lost Misconfigured
	Mismatch Mismatched Missing Not Offline Orphaned Outage Outdated Overload Overloaded Partitioned Pressure
	Problem Problems Quarantine Quarantined Readonly Refused Rejected Stale Stalled Stuck Terminating Throttled
	Throttling Timeout Unauthorized Unavailable Unbound Unhealthy Unknown Unreachable Unready Unrecoverable
	Unresolvable Unresponsive Unschedulable Unsupported Violated Violation Violations`)

// neutralWords are words in the name of a condition that is neither good nor bad when it is True. They are matched
// whole.
var neutralWords = wordSet("Deleted Disabled Drained Limited Paused Progress Progressive Suspended Warning Warnings")

// positiveLastWords are last words of the name of a condition that is good when it is True, whatever the words
// before: ErrorsResolved.
var positiveLastWords = wordSet("Accepted Available Configured Established Healthy Programmed Ready Reconciled " +
	"Resolved " +
	"Succeeded Synced Valid")

// positiveIngWords are words in "ing" that do not name an ongoing change: True is good.
var positiveIngWords = []string{"Running", "Serving", "Listening", "Working", "Binding", "Routing", "Networking"}

// polarityOfName derives the polarity from the words of a condition's name. The default is that True is good.
func polarityOfName(condition string) Polarity {
	words := wordsOf(condition)
	negated := false
	for _, w := range words {
		if w == "No" || w == "Without" { // NoErrors, WithoutConflicts
			negated = true
		}
	}
	last := ""
	if len(words) > 0 {
		last = words[len(words)-1]
	}
	bad := slices.ContainsFunc(words, func(w string) bool { return negativeWords[w] })
	switch {
	case bad && !negated && (!positiveLastWords[last] || slices.Contains(words, "Not")):
		return Negative
	case slices.ContainsFunc(words, func(w string) bool { return neutralWords[w] }):
		return Neutral
	case len(words) > 0 && !positiveLastWords[last] && (isOngoing(words[0]) || isOngoing(last)):
		return Neutral
	}
	return Positive
}

// isOngoing reports whether a word names an ongoing change: Reconciling, Updating, Scaling.
func isOngoing(word string) bool {
	return strings.HasSuffix(word, "ing") && !slices.Contains(positiveIngWords, word)
}

// wordsOf splits a name in CamelCase, or with separators, into words that begin with a capital: TLSReady becomes TLS
// and Ready.
func wordsOf(name string) []string {
	name = name[strings.LastIndexByte(name, '/')+1:] // without the domain, which readiness gates have
	letters := []rune(name)
	var words []string
	begin := 0
	for i, r := range letters {
		joint := !unicode.IsLetter(r) && !unicode.IsDigit(r)
		begins := i > begin && unicode.IsUpper(r) &&
			(!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if joint || begins {
			words = append(words, capitalizedWord(letters[begin:i])...)
			begin = i
		}
		if joint {
			begin = i + 1
		}
	}
	return append(words, capitalizedWord(letters[begin:])...)
}

// capitalizedWord returns the letters as a word with a capital, if there are any.
func capitalizedWord(letters []rune) []string {
	if len(letters) == 0 {
		return nil
	}
	return []string{string(unicode.ToUpper(letters[0])) + string(letters[1:])}
}
