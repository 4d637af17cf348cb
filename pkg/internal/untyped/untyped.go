// Package untyped reads JSON values of objects of which nothing can be trusted to have the type that its API documents:
// what is missing, or of another type, reads as the zero value. It decodes nothing, and changes nothing: the values are
// those of unstructured objects, or of parts of them.
package untyped

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Map has the fields of an object, or of a part of one. A nil Map has none.
type Map map[string]any

// At returns the value at the path; nil if there is none.
func (v Map) At(path ...string) any {
	var found any = map[string]any(v)
	for _, name := range path {
		m, ok := found.(map[string]any)
		if !ok {
			return nil
		}
		found = m[name]
	}
	return found
}

// Sub returns the map at the path; nil if there is none.
func (v Map) Sub(path ...string) Map {
	m, _ := v.At(path...).(map[string]any)
	return m
}

// Text returns the text at the path; "" if there is none.
func (v Map) Text(path ...string) string {
	s, _ := v.At(path...).(string)
	return s
}

// Flag reports whether the value at the path is true.
func (v Map) Flag(path ...string) bool {
	b, _ := v.At(path...).(bool)
	return b
}

// List returns the list at the path; nil if there is none.
func (v Map) List(path ...string) []any {
	list, _ := v.At(path...).([]any)
	return list
}

// Maps returns the entries of a list that are maps; others are left out.
func (v Map) Maps(path ...string) []Map {
	list := v.List(path...)
	out := make([]Map, 0, len(list))
	for _, entry := range list {
		if m, ok := entry.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// Strings returns the entries of a list that are text; others are left out.
func (v Map) Strings(path ...string) []string {
	var out []string
	for _, entry := range v.List(path...) {
		if s, ok := entry.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Number returns the whole number at the path, and whether there is one.
func (v Map) Number(path ...string) (n int64, found bool) {
	return Whole(v.At(path...))
}

// Count returns the whole number at the path, or def.
func (v Map) Count(def int64, path ...string) int64 {
	if n, ok := v.Number(path...); ok {
		return n
	}
	return def
}

// Whole returns a whole number of any of the types that JSON decoders and typed converters produce.
func Whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int32:
		return int64(v), true
	case int:
		return int64(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), true
		}
	}
	return 0, false
}

// WholeText returns a whole number that was written as text, as some controllers do.
func WholeText(v any) (int64, bool) {
	s, ok := v.(string)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// Time returns the time at the path; t is nil if there is none, and ok is false if the value there is not a time.
func (v Map) Time(path ...string) (t *metav1.Time, ok bool) {
	s, isText := v.At(path...).(string)
	if !isText || s == "" {
		return nil, isText || v.At(path...) == nil
	}
	parsed, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil, false
	}
	return &metav1.Time{Time: parsed}, true
}

// IsBlank reports whether a value is null, or an empty text, list or map, or a list or map of such values.
func IsBlank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return !slices.ContainsFunc(v, func(entry any) bool { return !IsBlank(entry) })
	case map[string]any:
		for _, value := range v {
			if !IsBlank(value) {
				return false
			}
		}
		return true
	}
	return false
}

// Describe names the JSON type of a value, with the value itself unless it is a list or a map.
func Describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("the boolean %t", v)
	case string:
		return fmt.Sprintf("the text %q", Truncate(v))
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	return fmt.Sprintf("the number %v", v)
}

// Truncate cuts a text from an object to 40 characters, for messages.
func Truncate(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
