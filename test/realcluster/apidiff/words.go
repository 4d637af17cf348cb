package apidiff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// text replaces what is known or recognised in a string.
func (n *normaliser) text(s string) string {
	for _, value := range n.order {
		s = strings.ReplaceAll(s, value, n.words[value])
	}
	s = n.addresses.ReplaceAllString(s, "<server>")
	s = timePattern.ReplaceAllStringFunc(s, n.time)
	s = jwtPattern.ReplaceAllStringFunc(s, n.token)
	s = versionInJSON.ReplaceAllString(s, "${1}<version>")
	s = versionText.ReplaceAllStringFunc(s, n.version)
	s = portText.ReplaceAllStringFunc(s, func(found string) string {
		number, rest, _ := strings.Cut(found, ":")
		return cmp.Or(n.ports[number], number) + ":" + rest
	})
	return s
}

// time is a word for a time that the server made, and the time itself otherwise. The fraction's length is part of the
// word, for it is part of a field's format; so is how far ahead the time is, in steps that are longer than a file is
// played.
func (n *normaliser) time(s string) string {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Sub(n.now).Abs() > nearby || n.isLiteral(s) {
		return s
	}
	if _, fraction, ok := strings.Cut(s, "."); ok {
		return "<time with " + fractionName(len(strings.TrimRight(fraction, "Z"))) + ">"
	}
	if ahead := t.Sub(n.now).Round(10 * time.Minute); ahead > 0 {
		return fmt.Sprintf("<time in %s>", ahead)
	}
	return "<time>"
}

func fractionName(digits int) string {
	switch digits {
	case 6:
		return "microseconds"
	case 9:
		return "nanoseconds"
	default:
		return "a fraction"
	}
}

// version hides the numbers in a piece of a message, unless the file has them.
func (n *normaliser) version(s string) string {
	return numberText.ReplaceAllStringFunc(s, func(number string) string {
		if n.isLiteral("resourceVersion="+number) || n.isLiteral(`resourceVersion: "`+number) {
			return number
		}
		return "<version>"
	})
}

// sortManagers brings the managers of a metadata into an order that does not depend on the second in which each of them
// wrote.
func sortManagers(metadata map[string]any) {
	if managers, ok := metadata["managedFields"].([]any); ok {
		slices.SortStableFunc(managers, func(a, b any) int { return strings.Compare(managerKey(a), managerKey(b)) })
	}
}

// sortConflicts brings the causes of a conflict between managers into an order: the server lists managers in the order
// of a map.
func sortConflicts(details map[string]any) {
	causes, _ := details["causes"].([]any)
	text := func(cause any, key string) string {
		object, _ := cause.(map[string]any)
		value, _ := object[key].(string)
		return value
	}
	for _, cause := range causes {
		if text(cause, "reason") != "FieldManagerConflict" {
			return
		}
	}
	slices.SortFunc(causes, func(a, b any) int {
		return cmp.Or(strings.Compare(text(a, "field"), text(b, "field")),
			strings.Compare(text(a, "message"), text(b, "message")))
	})
}

// sortRules brings the rules of a review into an order: RBAC collects them in the order of a map. Rules of other
// objects, such as admission policies, keep the order in which they were written.
func sortRules(status map[string]any) {
	if _, isReview := status["incomplete"]; !isReview {
		return
	}
	for _, key := range []string{"resourceRules", "nonResourceRules"} {
		rules, _ := status[key].([]any)
		slices.SortFunc(rules, func(a, b any) int { return strings.Compare(show(a), show(b)) })
	}
}

// managerKey tells the entries of managedFields apart: as managers are, by name, operation, version and subresource. ""
// is none of them.
func managerKey(entry any) string {
	object, _ := entry.(map[string]any)
	manager, ok := object["manager"].(string)
	operation, _ := object["operation"].(string)
	if !ok || operation == "" {
		return ""
	}
	key := operation + " by " + manager
	if version, ok := object["apiVersion"].(string); ok {
		key += " in " + version
	}
	if subresource, ok := object["subresource"].(string); ok {
		key += " of " + subresource
	}
	return key
}

// forgetAges hides the ages in the rows of an object that is a Table; they depend on how fast the server is.
func (n *normaliser) forgetAges(table map[string]any) {
	rows, isTable := table["rows"].([]any)
	if columns, ok := table["columnDefinitions"].([]any); ok && isTable {
		n.columns = columns
	}
	for _, row := range rows {
		object, _ := row.(map[string]any)
		cells, _ := object["cells"].([]any)
		for i, cell := range cells {
			text, ok := cell.(string)
			if ok && i < len(n.columns) && isAge(n.columns[i]) && agePattern.MatchString(text) {
				cells[i] = "<age>"
			}
		}
	}
}

// isAge reports whether a column shows how long ago something was.
func isAge(column any) bool {
	object, _ := column.(map[string]any)
	name, _ := object["name"].(string)
	return slices.Contains([]string{"Age", "Created At", "Last Seen", "First Seen", "Duration", "Last Schedule"}, name)
}
