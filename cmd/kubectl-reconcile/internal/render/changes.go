package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// silent are fields that say nothing by themselves: they move whenever something else does.
var silent = []string{"lastUpdateTime", "lastTransitionTime", "lastProbeTime", "lastHeartbeatTime", "kubectl.kubernetes.io/last-applied-configuration"}

// Changes spells field changes shortly, at most that many of them (0 for all): "replicas: 0 -> 3, Ready: True". Fields
// lose the prefix status or spec if all that changed lies in it. Conditions are told by status and reason; other entries
// of lists that came or went are told as one, after the fields.
func Changes(changes []inspect.Change, most int) string {
	prefix := commonPrefix(changes)
	conditions, entries := map[string]*conditionChange{}, map[string]string{}
	var fields []string
	for _, c := range changes {
		switch path := strings.TrimPrefix(c.Path, prefix); {
		case slices.ContainsFunc(silent, func(s string) bool { return strings.Contains(c.Path, s) }):
		case conditionPath.MatchString(c.Path):
			m := conditionPath.FindStringSubmatch(c.Path)
			if conditions[m[1]] == nil {
				conditions[m[1]] = &conditionChange{}
			}
			conditions[m[1]].add(m[2], c)
		default:
			if name, change := wholeEntry(changes, c.Path); name != "" {
				entries[strings.TrimPrefix(name, prefix)] = change
				continue
			}
			fields = append(fields, fieldText(path, c))
		}
	}
	parts := fields
	for _, name := range slices.Sorted(maps.Keys(conditions)) {
		if text := conditions[name].text(); text != "" {
			parts = append(parts, Escape(name+": "+text))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		parts = append(parts, Escape(name+": "+entries[name]))
	}
	if most > 0 && len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("%d more", len(parts)-most))
	}
	return strings.Join(parts, ", ")
}

func commonPrefix(changes []inspect.Change) string {
	for _, prefix := range []string{"status.", "spec."} {
		if !slices.ContainsFunc(changes, func(c inspect.Change) bool { return !strings.HasPrefix(c.Path, prefix) }) {
			return prefix
		}
	}
	return ""
}

var entryPath = regexp.MustCompile(`^(.*?)\[([A-Za-z]+)=([^\]]*)\]`)

// wholeEntry is the entry of a list that the path leads into, if the whole of it came or went: its merge key did. It is
// spelt "containerStatuses[web]", and its change "new" or "removed". An autoscaler without metrics writes an entry whose
// key is empty: "currentMetrics[]".
func wholeEntry(changes []inspect.Change, path string) (name, change string) {
	m := entryPath.FindStringSubmatch(path)
	if m == nil {
		return "", ""
	}
	key := m[0] + "." + m[2]
	n := slices.IndexFunc(changes, func(c inspect.Change) bool { return c.Path == key })
	switch {
	case n >= 0 && changes[n].Old == nil:
		change = "new"
	case n >= 0 && changes[n].New == nil:
		change = "removed"
	default:
		return "", ""
	}
	return m[1] + "[" + m[3] + "]", change
}

var conditionPath = regexp.MustCompile(`^status\.conditions\[type=([^\]]+)\](?:\.(.+))?$`)

// conditionChange is what changed in one condition; what did not change is empty.
type conditionChange struct {
	status, reason, message string
	gone                    bool
}

func (c *conditionChange) add(field string, change inspect.Change) {
	text, _ := change.New.(string)
	switch field {
	case "status":
		c.status = text
	case "reason":
		c.reason = text
	case "message":
		c.message = text
	case "type":
		c.gone = change.New == nil
	}
}

func (c *conditionChange) text() string {
	switch {
	case c.gone:
		return "gone"
	case c.status == "" && c.reason == "":
		return Cut(c.message, widest)
	case c.status == "" || c.reason == "":
		return c.status + c.reason
	}
	return c.status + " " + c.reason
}

func fieldText(path string, c inspect.Change) string {
	switch {
	case c.Old == nil:
		return Escape(path + ": " + short(c.New))
	case c.New == nil:
		return Escape(path + ": removed")
	}
	return Escape(fmt.Sprintf("%s: %s -> %s", path, short(c.Old), short(c.New)))
}

// widest bounds how much of one value is shown, in runes.
const widest = 48

func short(v any) string {
	text, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		text = string(b)
	}
	return Cut(spelt(text), widest)
}

// spelt is text, so that an empty one can be seen.
func spelt(text string) string {
	if text == "" {
		return `""`
	}
	return text
}

// Cut shortens text to that many runes, the last of them then "…".
func Cut(text string, runes int) string {
	if r := []rune(text); len(r) > runes {
		return string(r[:runes-1]) + "…"
	}
	return text
}
