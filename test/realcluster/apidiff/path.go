package apidiff

import (
	"fmt"
	"regexp"
	"strconv"
)

// every is the path element [], all elements of a list.
const every = -1

// pathElement matches one element of a path: .key, ["key"], [0] or [].
var pathElement = regexp.MustCompile(`^(?:\.([^.\[\]]+)|\["([^"]+)"\]|\[(\d*)\])`)

// parsePath reads paths such as .items[].metadata.labels["app.kubernetes.io/name"]; . is the whole document. Elements
// are strings and ints.
func parsePath(text string) ([]any, error) {
	if text == "." {
		return nil, nil
	}
	var path []any
	for rest := text; rest != ""; {
		match := pathElement.FindStringSubmatch(rest)
		if match == nil {
			return nil, fmt.Errorf("cannot read the path %q at %q", text, rest)
		}
		rest = rest[len(match[0]):]
		switch {
		case match[1] != "":
			path = append(path, match[1])
		case match[2] != "":
			path = append(path, match[2])
		case match[3] != "":
			index, err := strconv.Atoi(match[3])
			if err != nil {
				return nil, fmt.Errorf("cannot read the path %q: %w", text, err)
			}
			path = append(path, index)
		default:
			path = append(path, every)
		}
	}
	if len(path) == 0 {
		return nil, fmt.Errorf("cannot read the path %q", text)
	}
	return path, nil
}

// find is what is at path in tree, nil if there is nothing. [] makes a list of what is found in each element.
func find(tree any, path []any) any {
	for i, element := range path {
		switch element := element.(type) {
		case string:
			object, _ := tree.(map[string]any)
			tree = object[element]
		case int:
			list, _ := tree.([]any)
			if element == every {
				found := make([]any, 0, len(list))
				for _, item := range list {
					found = append(found, find(item, path[i+1:]))
				}
				return found
			}
			if element >= len(list) {
				return nil
			}
			tree = list[element]
		}
	}
	return tree
}

// lookup is find with a path that was checked when the corpus was loaded.
func lookup(tree any, text string) any {
	path, err := parsePath(text)
	if err != nil {
		return nil
	}
	return find(tree, path)
}
