package redact

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Rule names values to redact. The zero value names none.
type Rule struct {
	text     string
	typeName string
	path     Path
	pattern  *regexp.Regexp
}

// Path leads to values in an object.
type Path []step

// step is one step of a path: a field or a key, an element of a list, or any of either.
type step struct {
	key     string
	any     bool
	element bool
	index   int // of an element, -1 for all
}

// matchesKey reports whether the step leads to a member of an object. Case does not matter, as it does not to servers
// that are lenient.
func (s step) matchesKey(key string) bool {
	return s.any || !s.element && strings.EqualFold(s.key, key)
}

// matchesIndex reports whether the step leads to an element of a list.
func (s step) matchesIndex(index int) bool {
	return s.any || s.element && (s.index < 0 || s.index == index)
}

// String returns the rule as it was parsed.
func (r *Rule) String() string { return r.text }

// Matches reports whether the rule is for objects of the stream. A rule with a pattern is for all.
func (r *Rule) Matches(stream *replay.Stream) bool {
	if r.pattern != nil || r.typeName == "*" {
		return true
	}
	name, group, qualified := strings.Cut(r.typeName, ".")
	if qualified && group != strings.ToLower(stream.Group) {
		return false
	}
	names := append([]string{stream.Resource, stream.Singular, stream.Kind}, stream.ShortNames...)
	return slices.ContainsFunc(names, func(n string) bool { return n != "" && strings.EqualFold(n, name) })
}

// ParseRule parses a rule: TYPE:PATH, or /PATTERN/, a regular expression whose matches are redacted in all texts. TYPE
// is a name of a kind as kubectl takes it, maybe with its group, or * for all. PATH is written as in kubectl's
// jsonpath: fields separated by dots, a dot in a key as \. or the key as ['key'], [0] or [*] for elements of lists, and
// * for anything. A list on the way is followed into all elements.
func ParseRule(text string) (Rule, error) {
	if pattern, ok := strings.CutPrefix(text, "/"); ok {
		return parsePattern(text, pattern)
	}
	typeName, path, ok := strings.Cut(text, ":")
	if !ok || typeName == "" {
		return Rule{}, errors.New("it is neither TYPE:PATH nor /PATTERN/")
	}
	steps, err := parsePath(path)
	if err != nil {
		return Rule{}, err
	}
	if leadsToIdentity(steps) {
		return Rule{}, errors.New("what identifies an object cannot be redacted")
	}
	return Rule{text: text, typeName: strings.ToLower(typeName), path: steps}, nil
}

func parsePattern(text, pattern string) (Rule, error) {
	pattern, ok := strings.CutSuffix(pattern, "/")
	if !ok || pattern == "" {
		return Rule{}, errors.New("a pattern is written between two slashes")
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return Rule{}, fmt.Errorf("the pattern is not valid: %w", err)
	}
	if compiled.MatchString("") {
		return Rule{}, errors.New("the pattern matches an empty text")
	}
	return Rule{text: text, pattern: compiled}, nil
}

// leadsToIdentity reports whether a path may lead to what names an object, or to all of its metadata.
func leadsToIdentity(path Path) bool {
	if len(path) == 0 || path[0].matchesKey("apiVersion") || path[0].matchesKey("kind") {
		return true
	}
	if !path[0].matchesKey("metadata") {
		return false
	}
	if len(path) == 1 {
		return true
	}
	return len(path) == 2 &&
		slices.ContainsFunc([]string{"name", "namespace", "uid", "resourceVersion"}, path[1].matchesKey)
}

// parsePath parses the path of a rule.
func parsePath(text string) (Path, error) {
	rest := strings.TrimPrefix(strings.TrimPrefix(text, "$"), ".")
	var out Path
	for rest != "" {
		var next step
		var err error
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			next, rest, err = parseBracket(inner)
		} else {
			next, rest, err = parseField(rest)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, next)
		if after, ok := strings.CutPrefix(rest, "."); ok {
			if after == "" {
				return nil, errors.New("the path ends with a dot")
			}
			rest = after
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the path is empty")
	}
	return out, nil
}

// parseField parses a step up to the next dot or bracket. A backslash takes the character after it as it is.
func parseField(text string) (step, string, error) {
	var key strings.Builder
	i := 0
	escaped := false
loop:
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			escaped = true
			key.WriteByte(text[i])
		case c == '.' || c == '[':
			break loop
		default:
			key.WriteByte(c)
		}
	}
	switch {
	case key.Len() == 0:
		return step{}, "", errors.New("a field of the path is empty")
	case key.String() == "*" && !escaped:
		return step{any: true}, text[i:], nil
	}
	return step{key: key.String()}, text[i:], nil
}

// parseBracket parses what follows a bracket: 'key'], "key"], *] or 0].
func parseBracket(text string) (step, string, error) {
	for _, quote := range []string{"'", `"`} {
		inner, ok := strings.CutPrefix(text, quote)
		if !ok {
			continue
		}
		key, rest, ok := strings.Cut(inner, quote+"]")
		if !ok || key == "" {
			return step{}, "", errors.New("a bracket of the path is not closed")
		}
		return step{key: key}, rest, nil
	}
	inner, rest, ok := strings.Cut(text, "]")
	if !ok {
		return step{}, "", errors.New("a bracket of the path is not closed")
	}
	if inner == "*" {
		return step{element: true, index: -1}, rest, nil
	}
	index, err := strconv.ParseUint(inner, 10, 31)
	if err != nil {
		return step{}, "", fmt.Errorf("[%s] is neither a number, nor *, nor a key in quotes", inner)
	}
	return step{element: true, index: int(index)}, rest, nil
}
