package redact

import (
	"regexp"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// placeholderPattern matches what stands for values: see Redactor.placeholder and bytesPlaceholder.
var placeholderPattern = regexp.MustCompile(`redacted-[0-9a-f]{8}|cmVkYWN0ZWQt[0-9A-Za-z]{11}=`)

// HasPlaceholder reports whether a part of a text stands for a value that was replaced.
func HasPlaceholder(text string) bool { return placeholderPattern.MatchString(text) }

// IsPlaceholder reports whether all of a text stands for a value.
func IsPlaceholder(text string) bool {
	return text != "" && placeholderPattern.FindString(text) == text
}

// MayBe reports whether a text may be what was redacted to another one: it is the same around the placeholders.
func MayBe(redacted, text string) bool {
	parts := placeholderPattern.Split(redacted, -1)
	if len(parts) == 1 {
		return redacted == text
	}
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	match, err := regexp.MatchString(`^(?s:`+strings.Join(parts, `.*`)+`)$`, text)
	return err == nil && match
}

// Names reports whether the rule names a field of an object of the stream, or what it is in, by its path as
// fields.Change has it. Elements of lists do not count. A rule with a pattern names no field.
func (r *Rule) Names(stream *replay.Stream, path string) bool {
	return r.pattern == nil && r.Matches(stream) && leadsTo(r.path, fieldsOf(path))
}

// leadsTo reports whether a path of a rule names a field, or what it is in.
func leadsTo(path Path, fields []string) bool {
	switch {
	case len(path) == 0:
		return true
	case path[0].element:
		return leadsTo(path[1:], fields)
	case path[0].any && leadsTo(path[1:], fields):
		return true
	case len(fields) == 0:
		return false
	}
	return path[0].matchesKey(fields[0]) && leadsTo(path[1:], fields[1:])
}

// RulesOf returns the rules by which a recording was redacted, as its header has them. The result is false if there was
// a pattern, which a header does not have.
func RulesOf(header replay.Header) ([]Rule, bool) {
	var out []Rule
	all := true
	for _, option := range header.Options {
		text, ok := strings.CutPrefix(option, Option)
		if !ok {
			continue
		}
		rule, err := ParseRule(text)
		if err != nil || rule.pattern != nil {
			all = false
			continue
		}
		out = append(out, rule)
	}
	return out, all
}

// Option is what a rule follows in the options of a header.
const Option = "--redact="
