package findings

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// Only is what alone differs in a version of an object of which the rest is written as it was.
type Only string

// The values of Only.
const (
	// OnlyOrder means the order of lists, OnlyTimes times and heartbeats.
	OnlyOrder         Only = "Order"
	OnlyTimes         Only = "Times"
	OnlyOrderAndTimes Only = "OrderAndTimes"
)

// OnlyOf returns what alone differs by the changes; empty if something else does, or nothing. That a reordered list of
// a spec makes a generation does not count; a time in a spec is what its writer wants.
func OnlyOf(changes []fields.Change) Only {
	var order, times, generation bool
	for _, c := range changes {
		switch {
		case isGeneration(c.Path):
			generation = true
		case isTimes(c):
			times = true
		case IsOrder(c):
			order = true
		case isList(c) && canonical(c.Old, true, true) == canonical(c.New, true, true):
			order, times = true, true
		default:
			return ""
		}
	}
	switch {
	case order && times && !generation:
		return OnlyOrderAndTimes
	case times && !generation:
		return OnlyTimes
	case order && !times:
		return OnlyOrder
	}
	return ""
}

func isGeneration(path string) bool {
	return path == "metadata.generation" || strings.HasSuffix(path, "observedGeneration")
}

// IsOrder reports whether a change is one of the order of a list alone.
func IsOrder(c fields.Change) bool {
	return isList(c) && canonical(c.Old, false, true) == canonical(c.New, false, true)
}

// isList reports whether a change is one of a list that keeps its length.
func isList(c fields.Change) bool {
	old, is := c.Old.([]any)
	updated, both := c.New.([]any)
	return is && both && len(old) == len(updated)
}

// IsHeartbeat reports whether a field changes although nothing has changed: heartbeats, and times of the last look.
func IsHeartbeat(path string) bool {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "lastHeartbeatTime", "lastProbeTime", "lastUpdateTime":
		return true
	}
	return path == "spec.renewTime" || path == LeaderAnnotation
}

// LeaderAnnotation is the path of what some elect a leader by, in place of a Lease.
const LeaderAnnotation = "metadata.annotations[control-plane.alpha.kubernetes.io/leader]"

// heartbeat matches fields of a status that are heartbeats, whatever their values are.
var heartbeat = regexp.MustCompile(`^status\b.*[hH]eart[bB]eat[^.\[\]]*$`)

// isTimes reports whether a change is one of times alone.
func isTimes(c fields.Change) bool {
	if c.Old == nil || c.New == nil {
		return false
	}
	if IsHeartbeat(c.Path) || heartbeat.MatchString(c.Path) {
		return true
	}
	switch old := c.Old.(type) {
	case string:
		if len(old) < len(time.DateTime) || c.New == fields.HiddenValue {
			return false
		}
	case []any:
	default: // maps are compared field by field
		return false
	}
	return canonical(c.Old, true, false) == canonical(c.New, true, false)
}

// rfc3339 matches a time in a text.
var rfc3339 = regexp.MustCompile(`\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)`)

// isTime reports whether a text is a time and nothing else.
func isTime(text string) bool { return text != "" && rfc3339.ReplaceAllString(text, "") == "" }

// canonical returns a JSON value as a text: without times all times are the same, and with sorted the order of lists
// does not matter.
func canonical(v any, withoutTimes, sorted bool) string {
	switch v := v.(type) {
	case string:
		if withoutTimes {
			v = rfc3339.ReplaceAllString(v, "T")
		}
		return encoded(v)
	case []any:
		out := make([]string, len(v))
		for i := range v {
			out[i] = canonical(v[i], withoutTimes, sorted)
		}
		if sorted {
			slices.Sort(out)
		}
		return "[" + strings.Join(out, ",") + "]"
	case map[string]any:
		var out []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, encoded(key)+":"+canonical(v[key], withoutTimes, sorted))
		}
		return "{" + strings.Join(out, ",") + "}"
	}
	return encoded(v)
}

// encoded returns a value as JSON, empty if it is none.
func encoded(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(out)
}

// Rewrites are the writes of an object that changed nothing but the order of lists, or times.
type Rewrites struct {
	Object Object `json:"object"`
	// Only is what alone changed: Order, Times or OrderAndTimes.
	Only Only `json:"only"`
	// Writes counts them.
	Writes int `json:"writes"`
	// PerMinute is over the whole time. Absent if that is not known.
	PerMinute float64 `json:"perMinute,omitempty"`
	// Fields are those that changed, sorted, at most 8.
	Fields []string `json:"fields"`
	// Writers are the names of those that wrote, sorted; none if they are not known.
	Writers []string `json:"writers,omitempty"`
}

// maxNames bounds the fields and writers that are kept of what is reported.
const maxNames = 8

// rewritten are the writes of an object of which one thing alone differed.
type rewritten struct {
	Rewrites
	quick series // at short intervals
}

func (r *rewritten) add(changes []fields.Change, writer string, at time.Time) {
	r.quick.add(at, loopGap)
	r.Writes++
	for _, c := range changes {
		if !isGeneration(c.Path) {
			r.Fields = AddName(r.Fields, c.Path)
		}
	}
	r.Writers = AddName(r.Writers, writer)
}

// AddName adds a name to a sorted list of at most 8, without duplicates; an empty one is left out.
func AddName(list []string, name string) []string {
	at, found := slices.BinarySearch(list, name)
	if found || name == "" || len(list) == maxNames {
		return list
	}
	return slices.Insert(slices.Clip(list), at, name) // a copy, as others may have the list
}
