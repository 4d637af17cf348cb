package fields

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// Path names a field of an object, as Change.Path does. ParsePath makes one; nil names the whole object.
type Path []pathElement

// pathElement selects what is one level below a value. Exactly one of its parts is set.
type pathElement struct {
	// name is a field of a map.
	name string
	// keys are fields, and their values as text, of the entry of a list.
	keys []keyValue
	// value is an entry of a list that is no map, as text.
	value *string
	// bracket is text in brackets: a field of a map whose name has dots, or of a list the index of an entry, its
	// name, or the entry itself.
	bracket string
}

type keyValue struct{ key, value string }

// ParsePath parses the path of a field: spec.replicas, spec.template.spec.containers[name=web].image,
// metadata.annotations[example.com/team], spec.ports[0], metadata.finalizers[=example.com/backup]. Of an entry of a
// list it is enough to give one of the fields that identify it. A leading dot and braces around the path, as JSONPath
// has them, are ignored.
func ParsePath(text string) (Path, error) {
	rest := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "{"), "}")
	rest = strings.TrimPrefix(rest, ".")
	if rest == "" {
		return nil, errors.New("the path is empty")
	}
	var out Path
	for rest != "" {
		var e pathElement
		var err error
		switch {
		case rest[0] == '[':
			e, rest, err = cutBracket(rest)
		case rest[0] == '.' && len(out) > 0:
			e, rest, err = cutName(rest[1:])
		case len(out) == 0:
			e, rest, err = cutName(rest)
		default:
			err = fmt.Errorf("%q must begin with . or [", untyped.Truncate(rest))
		}
		if err != nil {
			return nil, fmt.Errorf("reading the path %q: %w", untyped.Truncate(text), err)
		}
		out = append(out, e)
	}
	return out, nil
}

// cutName cuts the name of a field from the beginning of a path.
func cutName(path string) (pathElement, string, error) {
	end := strings.IndexAny(path, ".[]")
	if end < 0 {
		end = len(path)
	}
	switch {
	case end == 0:
		return pathElement{}, "", errors.New("the name of a field is empty")
	case end < len(path) && path[end] == ']':
		return pathElement{}, "", errors.New("there is a ] without a [")
	}
	return pathElement{name: path[:end]}, path[end:], nil
}

// cutBracket cuts a part in brackets from the beginning of a path. Text in quotes may contain brackets.
func cutBracket(path string) (pathElement, string, error) {
	quote, end := byte(0), -1
	for i := 1; i < len(path) && end < 0; i++ {
		switch c := path[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ']':
			end = i
		}
	}
	if end < 0 {
		return pathElement{}, "", errors.New("a [ is not closed")
	}
	inner, rest := path[1:end], path[end+1:]
	if inner == "" {
		return pathElement{}, "", errors.New("[] is empty")
	}
	if !strings.Contains(inner, "=") {
		return pathElement{bracket: unquote(inner)}, rest, nil
	}
	if value, ok := strings.CutPrefix(inner, "="); ok {
		value = unquote(value)
		return pathElement{value: &value}, rest, nil
	}
	var e pathElement
	for part := range strings.SplitSeq(inner, ",") {
		key, value, ok := strings.Cut(part, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return pathElement{}, "", fmt.Errorf("[%s] must have the form [key=value]", untyped.Truncate(inner))
		}
		e.keys = append(e.keys, keyValue{key, unquote(strings.TrimSpace(value))})
	}
	return e, rest, nil
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// String returns the path as ParsePath takes it.
func (p Path) String() string {
	out := ""
	for _, e := range p {
		out = e.appendTo(out)
	}
	return out
}

// appendTo returns the path with the element appended.
func (e pathElement) appendTo(path string) string {
	switch {
	case e.value != nil:
		return path + "[=" + *e.value + "]"
	case len(e.keys) > 0:
		parts := make([]string, len(e.keys))
		for i, k := range e.keys {
			parts[i] = k.key + "=" + k.value
		}
		return path + "[" + strings.Join(parts, ",") + "]"
	case e.name != "":
		return join(path, e.name)
	}
	return path + "[" + e.bracket + "]"
}

// entryKey matches the beginning of an entry of a list, in a path, that has the key by which it is identified, and
// plainBracket an element in brackets that needs none, or that key.
var (
	entryKey     = regexp.MustCompile(`\[[A-Za-z]+=`)
	plainBracket = regexp.MustCompile(`\[([^][./=]+)\]`)
)

// Overlap reports whether two paths, as text, name the same field, or one of them a field below the other. Keys of
// entries of lists may be left out: status.conditions[Ready] is status.conditions[type=Ready].
func Overlap(a, b string) bool {
	simple := func(path string) string {
		return plainBracket.ReplaceAllString(entryKey.ReplaceAllString(path, "["), ".$1")
	}
	a, b = simple(a), simple(b)
	return IsPart(a, b) || IsPart(b, a)
}

// IsPart reports whether a path, as text, is another one or leads below it.
func IsPart(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// PathError is why a path does not lead to a field of an object.
type PathError struct {
	// Path is the path as far as it leads; empty if its first element is not there.
	Path string
	// Missing is the element that is not there: the name of a field, or an entry in brackets.
	Missing string
	// There are the fields or entries that are there, sorted; empty if Path is neither a map nor a list.
	There []string
}

// Error implements error.
func (e *PathError) Error() string {
	where := e.Path
	if where == "" {
		where = "the object"
	}
	return fmt.Sprintf("%s has no %s", where, e.Missing)
}

// place is a field of an object: its value, and the way to it.
type place struct {
	value any
	steps []step
}

// step is one level of the way to a field.
type step struct {
	// name is the field of a map; for a list, entry and index are the entry.
	name  string
	list  bool
	entry any
	index int
}

// find returns the field that the path leads to. The error is a *PathError if it leads to none.
func (p Path) find(obj *unstructured.Unstructured) (place, error) {
	at := place{}
	if obj != nil {
		at.value = obj.Object
	}
	for i, e := range p {
		s, value, ok := e.below(at.value)
		if !ok {
			return place{}, &PathError{Path: p[:i].String(), Missing: e.appendTo(""), There: fieldsBelow(at.value)}
		}
		at.value, at.steps = value, append(at.steps, s)
	}
	return at, nil
}

// below returns what the element selects of a value; false if there is nothing.
func (e pathElement) below(value any) (step, any, bool) {
	switch value := value.(type) {
	case map[string]any:
		name := e.name + e.bracket
		found, ok := value[name]
		return step{name: name}, found, ok && name != ""
	case []any:
		index, isIndex := strconv.Atoi(e.bracket)
		for i, entry := range value {
			if isIndex == nil && i == index || isIndex != nil && e.selects(entry) {
				return step{list: true, entry: entry, index: i}, entry, true
			}
		}
	}
	return step{}, nil, false
}

// selects reports whether the element, which is no index, selects the entry of a list.
func (e pathElement) selects(entry any) bool {
	m, isMap := entry.(map[string]any)
	switch {
	case e.value != nil:
		return !isMap && valueText(entry) == *e.value
	case len(e.keys) > 0:
		return isMap && !slices.ContainsFunc(e.keys, func(k keyValue) bool {
			found, ok := m[k.key]
			return !ok || valueText(found) != k.value
		})
	case e.bracket == "":
		return false
	case isMap:
		return m["name"] == e.bracket
	}
	return valueText(entry) == e.bracket
}

// fieldsBelow lists what is one level below a value, as path elements.
func fieldsBelow(value any) []string {
	switch value := value.(type) {
	case map[string]any:
		return slices.Sorted(maps.Keys(value))
	case []any:
		out := make([]string, 0, len(value))
		for i, entry := range value {
			out = append(out, entryName(i, entry))
		}
		return out
	}
	return nil
}

// entryName names the entry of a list by its merge key, if it has one, else by its index.
func entryName(index int, entry any) string {
	m, ok := entry.(map[string]any)
	for _, key := range mergeKeys {
		if text, isKey := keyText(m[key]); ok && isKey {
			return "[" + key + "=" + text + "]"
		}
	}
	return "[" + strconv.Itoa(index) + "]"
}

// The prefixes of the keys of fieldsV1, as sigs.k8s.io/structured-merge-diff/v6/fieldpath/serialize-pe.go writes them.
const (
	fieldPrefix = "f:" // the field of a map
	keyPrefix   = "k:" // the entry of a list with these fields, as JSON
	valuePrefix = "v:" // the entry of a list with this value, as JSON
	indexPrefix = "i:" // the entry of a list with this index
)

// matchesKey reports whether a key of fieldsV1 stands for the step.
func (s step) matchesKey(key string) bool {
	switch prefix, rest := key[:min(2, len(key))], key[min(2, len(key)):]; {
	case !s.list:
		return prefix == fieldPrefix && rest == s.name
	case prefix == indexPrefix:
		return rest == strconv.Itoa(s.index)
	case prefix == valuePrefix:
		var value any
		return json.Unmarshal([]byte(rest), &value) == nil && sameValue(value, s.entry)
	case prefix == keyPrefix:
		entry, isMap := s.entry.(map[string]any)
		var fields map[string]any
		if !isMap || json.Unmarshal([]byte(rest), &fields) != nil || len(fields) == 0 {
			return false
		}
		for name, value := range fields {
			if found, ok := entry[name]; !ok || !sameValue(value, found) {
				return false
			}
		}
		return true
	}
	return false
}

// sameValue reports whether two JSON values are equal, whatever the Go types of their numbers.
func sameValue(a, b any) bool {
	m, isNumber := untyped.Whole(a)
	n, isNumberToo := untyped.Whole(b)
	if isNumber && isNumberToo {
		return m == n
	}
	return reflect.DeepEqual(a, b)
}

// elementOfKey returns the path element that a key of fieldsV1 stands for; false for the key "." and unknown ones.
func elementOfKey(key string) (pathElement, bool) {
	prefix, rest := key[:min(2, len(key))], key[min(2, len(key)):]
	switch prefix {
	case fieldPrefix:
		return pathElement{name: rest}, rest != ""
	case indexPrefix:
		return pathElement{bracket: rest}, rest != ""
	case valuePrefix:
		var value any
		if json.Unmarshal([]byte(rest), &value) != nil {
			return pathElement{}, false
		}
		text := valueText(value)
		return pathElement{value: &text}, true
	case keyPrefix:
		var fields map[string]any
		if json.Unmarshal([]byte(rest), &fields) != nil || len(fields) == 0 {
			return pathElement{}, false
		}
		var e pathElement
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			e.keys = append(e.keys, keyValue{name, valueText(fields[name])})
		}
		return e, true
	}
	return pathElement{}, false
}
