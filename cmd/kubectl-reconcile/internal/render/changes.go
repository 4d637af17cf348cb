package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// ignoredFields are never shown: they change whenever something else does.
var ignoredFields = []string{
	"lastUpdateTime", "lastTransitionTime", "lastProbeTime", "lastHeartbeatTime",
	"kubectl.kubernetes.io/last-applied-configuration",
}

// bookkeeping matches fields that only record which version of an object was seen, and generated IDs.
var bookkeeping = regexp.MustCompile(`^metadata\.generation$|[oO]bservedGeneration$` +
	`|^metadata\.annotations\[(deployment\.kubernetes\.io/|deprecated\.daemonset\.template\.generation\])` +
	`|\.(containerID|imageID|hostIP)$|^status\.hostIPs\b`)

// ChangesOptions are the options of Changes.
type ChangesOptions struct {
	// Limit bounds the number of changes; 0 sets no bound.
	Limit int
	// All includes bookkeeping: generations, revisions, IDs of containers, addresses of hosts.
	All bool
}

// Changes writes field changes in short: "spec.replicas: 0 -> 3, Ready: True, readyReplicas: 2". The spec comes
// first, then metadata, conditions, what is ready, what is available, and the rest; within each the order is that
// given. If all changes are in the status, paths lose that prefix. Of a condition its status and reason are shown;
// another entry of a list that was added or removed is one change. The result is safe for a terminal, and empty if
// nothing is to be shown.
func Changes(changes []fields.Change, o ChangesOptions) string {
	all := ChangeTexts(changes, o)
	if o.Limit > 0 && len(all) > o.Limit {
		all = append(all[:o.Limit], fmt.Sprintf("%d more", len(all)-o.Limit))
	}
	return strings.Join(all, ", ")
}

// ChangeTexts returns the texts that Changes joins, whatever their number.
func ChangeTexts(changes []fields.Change, o ChangesOptions) []string {
	shown := slices.DeleteFunc(slices.Clone(changes), func(c fields.Change) bool {
		return !o.All && bookkeeping.MatchString(c.Path) ||
			slices.ContainsFunc(ignoredFields, func(s string) bool { return strings.Contains(c.Path, s) })
	})
	prefix := commonPrefix(shown)
	conditions, entries := map[string]*conditionChange{}, map[string]bool{}
	var parts [ranks][]string
	for _, c := range shown {
		m := conditionPath.FindStringSubmatch(c.Path)
		if m != nil {
			if conditions[m[1]] == nil {
				conditions[m[1]] = &conditionChange{}
			}
			conditions[m[1]].add(m[2], c)
			continue
		}
		rank := rankOf(c.Path)
		if name, change := addedOrRemovedEntry(changes, c.Path); name != "" {
			if !entries[name] {
				entries[name] = true
				parts[rank] = append(parts[rank], Escape(strings.TrimPrefix(name, prefix)+": "+change))
			}
			continue
		}
		parts[rank] = append(parts[rank], fieldText(strings.TrimPrefix(c.Path, prefix), c))
	}
	for _, name := range slices.Sorted(maps.Keys(conditions)) {
		if text := conditions[name].text(); text != "" {
			parts[rankCondition] = append(parts[rankCondition], Escape(name+": "+text))
		}
	}
	return slices.Concat(parts[:]...)
}

// The ranks of fields: the order in which they are shown.
const (
	rankSpec = iota // or data, and all else that is neither metadata nor status
	rankMetadata
	rankCondition
	rankReady
	rankAvailable
	rankRest
	rankEntry // of a list in the status
	ranks
)

// rankOf returns the rank of the field at a path.
func rankOf(path string) int {
	field := strings.ToLower(path[strings.LastIndexByte(path, '.')+1:])
	switch {
	case strings.HasPrefix(path, "metadata."):
		return rankMetadata
	case !strings.HasPrefix(path, statusPrefix):
		return rankSpec
	case strings.Contains(field, "ready") || strings.Contains(field, "healthy"):
		return rankReady
	case strings.Contains(field, "available"):
		return rankAvailable
	case strings.Contains(path, "["):
		return rankEntry
	}
	return rankRest
}

const statusPrefix = "status."

// commonPrefix returns the prefix of a status if nothing else has changed, else nothing.
func commonPrefix(changes []fields.Change) string {
	if slices.ContainsFunc(changes, func(c fields.Change) bool { return !strings.HasPrefix(c.Path, statusPrefix) }) {
		return ""
	}
	return statusPrefix
}

var entryPath = regexp.MustCompile(`^(.*?)\[([A-Za-z]+)=([^\]]*)\]`)

// addedOrRemovedEntry returns the entry of a list that a path leads into if the whole entry was added or removed,
// which its merge key shows: its name, such as "containerStatuses[web]", and "new" or "removed"; else both are empty.
// An autoscaler without metrics writes an entry whose key is empty: "currentMetrics[]".
func addedOrRemovedEntry(changes []fields.Change, path string) (name, change string) {
	m := entryPath.FindStringSubmatch(path)
	if m == nil {
		return "", ""
	}
	key := m[0] + "." + m[2]
	n := slices.IndexFunc(changes, func(c fields.Change) bool { return c.Path == key })
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

// conditionChange is what changed in one condition; a field that did not change is empty.
type conditionChange struct {
	status, reason, message string
	gone                    bool
}

// add notes the change of a field of the condition.
func (c *conditionChange) add(field string, change fields.Change) {
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

// text returns what is shown: status and reason, the message if only that changed, or "gone".
func (c *conditionChange) text() string {
	switch {
	case c.gone:
		return "gone"
	case c.status == "" && c.reason == "":
		return Cut(c.message, maxValue)
	case c.status == "" || c.reason == "":
		return c.status + c.reason
	}
	return c.status + " " + c.reason
}

// fieldText writes the change of one field.
func fieldText(path string, c fields.Change) string {
	switch {
	case c.Old == nil:
		return Escape(path + ": " + valueText(c.New))
	case c.New == nil:
		return Escape(path + ": removed")
	}
	return Escape(fmt.Sprintf("%s: %s -> %s", path, valueText(c.Old), valueText(c.New)))
}

// maxValue bounds what is shown of one value, in runes.
const maxValue = 48

// valueText returns a string as it is and any other value as JSON, cut to maxValue.
func valueText(v any) string {
	text, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		text = string(b)
	}
	return Cut(quotedIfEmpty(text), maxValue)
}

// quotedIfEmpty returns text, or quotes if it is empty, so that it can be seen.
func quotedIfEmpty(text string) string {
	if text == "" {
		return `""`
	}
	return text
}
