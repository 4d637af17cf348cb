package inspect

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// values are the fields of an object, or of a part of one. They may have any type, whatever the API documents: a
// field that is missing or of another type reads as the zero value.
type values map[string]any

// at returns the value at the path; nil if there is none.
func (v values) at(path ...string) any {
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

// sub returns the map at the path; nil if there is none.
func (v values) sub(path ...string) values {
	m, _ := v.at(path...).(map[string]any)
	return m
}

// text returns the text at the path; "" if there is none.
func (v values) text(path ...string) string {
	s, _ := v.at(path...).(string)
	return s
}

// flag reports whether the value at the path is true.
func (v values) flag(path ...string) bool {
	b, _ := v.at(path...).(bool)
	return b
}

// maps returns the entries of a list that are maps; others are left out.
func (v values) maps(path ...string) []values {
	list, _ := v.at(path...).([]any)
	out := make([]values, 0, len(list))
	for _, entry := range list {
		if m, ok := entry.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// strings returns the entries of a list that are text; others are left out.
func (v values) strings(path ...string) []string {
	list, _ := v.at(path...).([]any)
	var out []string
	for _, entry := range list {
		if s, ok := entry.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// number returns the whole number at the path, and whether there is one.
func (v values) number(path ...string) (n int64, found bool) { return whole(v.at(path...)) }

// count returns the whole number at the path, or def.
func (v values) count(def int64, path ...string) int64 {
	if n, ok := v.number(path...); ok {
		return n
	}
	return def
}

// whole returns a whole number of any of the types that JSON decoders and typed converters produce.
func whole(v any) (int64, bool) {
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

// wholeText returns a whole number that was written as text, as some controllers do.
func wholeText(v any) (int64, bool) {
	s, ok := v.(string)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// time returns the time at the path; t is nil if there is none, and ok is false if the value there is not a time.
func (v values) time(path ...string) (t *metav1.Time, ok bool) {
	s, isText := v.at(path...).(string)
	if !isText || s == "" {
		return nil, isText || v.at(path...) == nil
	}
	parsed, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil, false
	}
	return &metav1.Time{Time: parsed}, true
}

// isBlank reports whether a value is null, or an empty text, list or map, or a list or map of such values.
func isBlank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return !slices.ContainsFunc(v, func(entry any) bool { return !isBlank(entry) })
	case map[string]any:
		for _, value := range v {
			if !isBlank(value) {
				return false
			}
		}
		return true
	}
	return false
}

// problem is a field of an object that does not have the type that its API documents.
type problem struct {
	text string
	// unreadable reports that a part of the object's status could not be read because of it.
	unreadable bool
}

// problems collects problems in the order of the object's fields.
type problems []problem

// tolerated adds a problem with a value that could still be read.
func (f *problems) tolerated(format string, args ...any) {
	*f = append(*f, problem{text: fmt.Sprintf(format, args...)})
}

// unreadable adds a problem with a value that could not be read.
func (f *problems) unreadable(format string, args ...any) {
	*f = append(*f, problem{text: fmt.Sprintf(format, args...), unreadable: true})
}

func (f *problems) texts() []string {
	var out []string
	for _, one := range *f {
		out = append(out, one.text)
	}
	return out
}

// unknownIfUnreadable returns s, or Unknown in place of Current if a part of the object could not be read.
func (f *problems) unknownIfUnreadable(s Status) Status {
	for _, one := range *f {
		if one.unreadable && s.Current() {
			s.Status, s.Reason, s.JudgedBy = Unknown, one.text, Generic
		}
	}
	return s
}

// describe names the JSON type of a value, with the value itself unless it is a list or a map.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("the boolean %t", v)
	case string:
		return fmt.Sprintf("the text %q", truncate(v))
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	return fmt.Sprintf("the number %v", v)
}

// truncate cuts a text from the object to 40 characters.
func truncate(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
