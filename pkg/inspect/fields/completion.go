package fields

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// CompletePath returns the paths that a text may become which is the beginning of the path of a field: those of the
// fields that some objects have one level below what the text names in full; sorted, each once. A path below which
// there is more ends with a dot or an opening bracket. Entries of lists are named by what identifies them, by name
// alone if they have one. What no user sets or looks for, such as managedFields, is left out. The objects are not
// changed.
func CompletePath(text string, objects ...*unstructured.Unstructured) []string {
	parent := pathBefore(text)
	var path Path
	if parent != "" {
		var err error
		if path, err = ParsePath(parent); err != nil {
			return nil
		}
	}
	endings := map[string]string{}
	for _, obj := range objects {
		at, err := path.find(obj)
		if err != nil {
			continue
		}
		for _, c := range fieldsIn(at.value) {
			if c.element.name != "" && isInternal(path, c.element.name) {
				continue
			}
			full := c.element.appendTo(parent)
			endings[full] = max(endings[full], ending(c.value)) // none is the least
		}
	}
	var out []string
	for full, end := range endings {
		if strings.HasPrefix(full+end, text) {
			out = append(out, full+end)
		}
	}
	slices.Sort(out)
	return out
}

// pathBefore returns the beginning of a path without its last element, which may not be complete.
func pathBefore(text string) string {
	cut, inBrackets := 0, false
	for i, c := range []byte(text) {
		switch {
		case c == ']':
			inBrackets = false
		case inBrackets:
		case c == '[':
			cut, inBrackets = i, true
		case c == '.':
			cut = i
		}
	}
	return text[:cut]
}

// isInternal reports whether a field below a path is one that no user sets or looks for.
func isInternal(path Path, name string) bool {
	switch len(path) {
	case 0:
		return name == "apiVersion" || name == "kind"
	case 1:
		return path[0].name == "metadata" && slices.Contains(bookkeeping, name)
	}
	return false
}

// fieldIn is a field of a map, or an entry of a list.
type fieldIn struct {
	element pathElement
	value   any
}

// fieldsIn returns the fields of a map, and the entries of a list if they are maps.
func fieldsIn(value any) []fieldIn {
	var out []fieldIn
	switch value := value.(type) {
	case map[string]any:
		for name, below := range value {
			if name != "" && !strings.ContainsAny(name, "[]") {
				out = append(out, fieldIn{pathElement{name: name}, below})
			}
		}
	case []any:
		for i, entry := range value {
			m, isMap := entry.(map[string]any)
			if !isMap {
				return nil
			}
			element := pathElement{bracket: strconv.Itoa(i)}
			if path, err := ParsePath("x" + entryName(i, entry)); err == nil {
				element = path[1]
			}
			name, _ := m["name"].(string)
			if _, err := strconv.Atoi(name); len(element.keys) == 1 && element.keys[0].key == "name" && err != nil {
				element = pathElement{bracket: name}
			}
			out = append(out, fieldIn{element, entry})
		}
	}
	return out
}

// ending returns what the path of a value continues with: a dot if fields follow, a bracket if those are in brackets,
// nothing if there are none, or some of each.
func ending(value any) string {
	out := ""
	for i, c := range fieldsIn(value) {
		first := "."
		if strings.HasPrefix(c.element.appendTo("x"), "x[") {
			first = "["
		}
		if i > 0 && first != out {
			return ""
		}
		out = first
	}
	return out
}
