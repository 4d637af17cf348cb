package apidiff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is one place where two answers differ.
type Difference struct {
	// Path leads into the answer, such as body.spec.containers[0].image.
	Path string `json:"path"`
	// Real and Embedded are the values as JSON, or Absent.
	Real     string `json:"real"`
	Embedded string `json:"embedded"`
}

// Absent is shown for a value that does not exist.
const Absent = "(absent)"

// missing is the value of a field that is not there; nil is JSON's null.
type missing struct{}

// Differences are the places where two answers differ, sorted by path. Bodies of answers with different codes have
// nothing to do with each other, so they count as one difference.
func Differences(reference, embedded Answer) []Difference {
	var found []Difference
	if reference.Code() != embedded.Code() {
		return []Difference{
			{Path: "body", Real: show(valueAt(reference, "body")), Embedded: show(valueAt(embedded, "body"))},
			{Path: "code", Real: show(valueAt(reference, "code")), Embedded: show(valueAt(embedded, "code"))},
		}
	}
	compare("", map[string]any(reference), map[string]any(embedded), &found)
	slices.SortStableFunc(found, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return found
}

func compare(path string, a, b any, found *[]Difference) {
	mapA, isMapA := a.(map[string]any)
	mapB, isMapB := b.(map[string]any)
	listA, isListA := a.([]any)
	listB, isListB := b.([]any)
	switch {
	case isMapA && isMapB:
		compareMaps(path, mapA, mapB, found)
	case isListA && isListB:
		compareLists(path, listA, listB, found)
	default:
		if textA, textB := show(a), show(b); textA != textB {
			*found = append(*found, Difference{Path: path, Real: textA, Embedded: textB})
		}
	}
}

func compareMaps(path string, a, b map[string]any, found *[]Difference) {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for key := range keys {
		compare(join(path, key), valueAt(a, key), valueAt(b, key), found)
	}
}

func valueAt(object map[string]any, key string) any {
	if value, ok := object[key]; ok {
		return value
	}
	return missing{}
}

// compareLists compares by names where all elements of both have unique names, so that an additional element does not
// make all after it differ, and by position otherwise.
func compareLists(path string, a, b []any, found *[]Difference) {
	namesA, namesB := elementNames(a), elementNames(b)
	if namesA == nil || namesB == nil {
		for i := range max(len(a), len(b)) {
			compare(fmt.Sprintf("%s[%d]", path, i), elementAt(a, i), elementAt(b, i), found)
		}
		return
	}
	mapA, mapB := map[string]any{}, map[string]any{}
	for i, name := range namesA {
		mapA[name] = a[i]
	}
	for i, name := range namesB {
		mapB[name] = b[i]
	}
	keys := maps.Clone(mapA)
	maps.Copy(keys, mapB)
	for name := range keys {
		compare(path+"["+name+"]", valueAt(mapA, name), valueAt(mapB, name), found)
	}
	common := func(names []string, other map[string]any) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := other[name]; return !ok })
	}
	if orderA, orderB := common(namesA, mapB), common(namesB, mapA); !slices.Equal(orderA, orderB) {
		*found = append(*found, Difference{
			Path: path + "(order)", Real: strings.Join(orderA, " "), Embedded: strings.Join(orderB, " "),
		})
	}
}

func elementAt(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return missing{}
}

// elementNames are the names of the elements, nil if one has none or two have the same. A text is its own name, an
// object of the API is named by its namespace and name, an entry of managedFields by its manager and operation.
func elementNames(list []any) []string {
	names := make([]string, 0, len(list))
	for _, element := range list {
		object, _ := element.(map[string]any)
		name, ok := element.(string)
		if object != nil {
			name, ok = object["name"].(string)
		}
		if metadata, isObject := object["metadata"].(map[string]any); isObject {
			name, ok = metadata["name"].(string)
			if namespace, isNamespaced := metadata["namespace"].(string); isNamespaced {
				name = namespace + "/" + name
			}
		}
		if key := managerKey(element); key != "" {
			name, ok = key, true
		}
		if !ok || slices.Contains(names, name) {
			return nil
		}
		names = append(names, name)
	}
	return names
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	if strings.ContainsAny(key, ".[]/ ") {
		return path + `["` + key + `"]`
	}
	return path + "." + key
}

// show is a value as JSON.
func show(value any) string {
	if value == any(missing{}) {
		return Absent
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(text.String(), "\n")
}
