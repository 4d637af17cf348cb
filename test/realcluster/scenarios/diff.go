package scenarios

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// fieldDiff is a field in which two trees differ. A missing value is nil.
type fieldDiff struct {
	path               string
	upstream, embedded any
}

// diffTrees lists the fields that differ, sorted by path. Of a subtree that only one has, the root alone is listed.
func diffTrees(path string, upstream, embedded any) []fieldDiff {
	if reflect.DeepEqual(upstream, embedded) {
		return nil
	}
	switch r := upstream.(type) {
	case map[string]any:
		if e, ok := embedded.(map[string]any); ok {
			return diffMaps(path, r, e)
		}
	case []any:
		if e, ok := embedded.([]any); ok {
			return diffLists(path, r, e)
		}
	}
	return []fieldDiff{{path: path, upstream: upstream, embedded: embedded}}
}

func diffMaps(path string, upstream, embedded map[string]any) []fieldDiff {
	keys := slices.Collect(maps.Keys(upstream))
	keys = slices.AppendSeq(keys, maps.Keys(embedded))
	slices.Sort(keys)
	var out []fieldDiff
	for _, key := range slices.Compact(keys) {
		r, inReal := upstream[key]
		e, inEmbedded := embedded[key]
		if inReal && inEmbedded {
			out = append(out, diffTrees(join(path, key), r, e)...)
			continue
		}
		out = append(out, fieldDiff{
			path: join(path, key), upstream: orAbsent(r, inReal), embedded: orAbsent(e, inEmbedded),
		})
	}
	return out
}

// diffLists compares items that stand at the same place; those of a list of named items are told by their names.
func diffLists(path string, upstream, embedded []any) []fieldDiff {
	if r, ok := named(upstream); ok {
		if e, ok := named(embedded); ok {
			out := diffMaps(path, r, e)
			if order := diffTrees(path+" (order)", names(upstream), names(embedded)); len(out) == 0 {
				out = order
			}
			return out
		}
	}
	var out []fieldDiff
	for i := range max(len(upstream), len(embedded)) {
		var r, e any = absent{}, absent{}
		if i < len(upstream) {
			r = upstream[i]
		}
		if i < len(embedded) {
			e = embedded[i]
		}
		out = append(out, diffTrees(fmt.Sprintf("%s[%d]", path, i), r, e)...)
	}
	return out
}

// absent is the value of a field that is not there.
type absent struct{}

// String says so.
func (absent) String() string { return "(none)" }

func orAbsent(v any, there bool) any {
	if !there {
		return absent{}
	}
	return v
}

// named reads a list whose items all have a unique type or name.
func named(list []any) (map[string]any, bool) {
	out := map[string]any{}
	for i, name := range names(list) {
		key, ok := name.(string)
		if _, twice := out[key]; !ok || twice {
			return nil, false
		}
		out[key] = list[i]
	}
	return out, true
}

func names(list []any) []any {
	out := make([]any, len(list))
	for i, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		for _, field := range []string{"type", "name"} {
			if name, ok := m[field].(string); ok {
				out[i] = name
				break
			}
		}
	}
	return out
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func join(path, key string) string {
	if plainKey.MatchString(key) {
		return path + "." + key
	}
	return path + "[" + strings.ReplaceAll(key, "\n", " ") + "]"
}
