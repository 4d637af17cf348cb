package plans

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// element is one element of the path of a field in a plan: a field, or an entry of a list, by a field of it that is
// different in each, or by its place.
type element struct {
	field, key, value string
	index             int // if neither field nor key is given
}

// listKey is how an entry of a list is named by a field of it.
var listKey = regexp.MustCompile(`^(type|name|uid|containerPort|port|ip|key|addresses)=(.*)$`)

// parsePath parses the path of a change: "spec.containers[name=web].image", "metadata.annotations[a.b/c]", "args[0]".
func parsePath(path string) []element {
	var out []element
	for path != "" {
		path = strings.TrimPrefix(path, ".")
		if inner, ok := strings.CutPrefix(path, "["); ok {
			inner, path, _ = strings.Cut(inner, "]")
			index, err := strconv.Atoi(inner)
			switch named := listKey.FindStringSubmatch(inner); {
			case named != nil:
				out = append(out, element{key: named[1], value: named[2]})
			case err == nil:
				out = append(out, element{index: index})
			default:
				out = append(out, element{field: inner})
			}
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		out = append(out, element{field: path[:end]})
		path = path[end:]
	}
	return out
}

// set returns a value of JSON in which the path leads to another one; nil removes what it leads to. What is on the way
// and is not there is made, and what becomes empty is removed. Maps and lists of the value may be changed.
func set(in any, path []element, to any) any {
	if len(path) == 0 {
		return to
	}
	at := path[0]
	if at.field != "" {
		m, ok := in.(map[string]any)
		if !ok {
			m = map[string]any{}
		}
		if value := set(m[at.field], path[1:], to); value != nil {
			m[at.field] = value
		} else {
			delete(m, at.field)
		}
		if len(m) == 0 {
			return nil
		}
		return m
	}
	list, _ := in.([]any) // what is no list is made one
	found := at.index
	if at.key != "" {
		for found = 0; found < len(list) && !at.names(list[found]); found++ {
		}
	}
	switch {
	case found >= len(list) && to == nil:
		return in
	case found >= len(list):
		var entry any
		if at.key != "" {
			entry = map[string]any{at.key: at.value} // by which it is found, until its own change comes
		}
		return append(list, set(entry, path[1:], to))
	}
	if to == nil && len(path) > 1 && path[1].field == at.key && at.key != "" {
		list[found] = nil // without the field by which it is found, it is gone
	} else {
		list[found] = set(list[found], path[1:], to)
	}
	if list[found] == nil {
		list = append(list[:found:found], list[found+1:]...)
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// names reports whether an entry of a list is the one that the element names.
func (e element) names(entry any) bool {
	m, ok := entry.(map[string]any)
	if !ok {
		return false
	}
	value := m[e.key]
	if list, ok := value.([]any); ok && len(list) > 0 {
		value = list[0]
	}
	return value != nil && fmt.Sprint(value) == e.value
}
