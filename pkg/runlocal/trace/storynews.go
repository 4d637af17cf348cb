package trace

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// isOfStatus reports whether a write changes a status only.
func isOfStatus(r *Request) bool {
	if r.Subresource == "status" || r.Verb == "create" {
		return r.Subresource == "status"
	}
	changes := r.Change.Fields()
	isOther := func(c fields.Change) bool { return !strings.HasPrefix(c.Path, "status.") }
	return len(changes) > 0 && !slices.ContainsFunc(changes, isOther)
}

var (
	conditionField = regexp.MustCompile(`^status\.conditions\[type=([^\]]+)\]\.(status|reason|message)$`)
	// counted matches the numbers that people wait for.
	counted = regexp.MustCompile(`^status\.(readyReplicas|numberReady|succeeded|failed|desiredReplicas)$`)
	// containerField matches what a container reports that does not run.
	containerField = regexp.MustCompile(`^status\.(?:init)?[cC]ontainerStatuses\[name=[^\]]+\]\.state\.` +
		`(?:waiting\.(?:reason|message)|terminated\.(?:reason|exitCode))$`)
)

// steps are conditions that show how far an object has come, or are there from the start: what people wait for comes
// after them.
var steps = []string{
	"Progressing", "Initialized", "PodScheduled", "ContainersReady", "PodReadyToStartContainers", "AbleToScale",
	"ScalingActive", "ScalingLimited", "SuccessCriteriaMet", "NamesAccepted",
}

// news returns the changes of a status that tell something by themselves: conditions that change, or become true, the
// numbers of what is ready, phases, and why containers do not run. The numbers of an object that a controller made are
// repeated by those of its owner.
func news(kind string, changes []fields.Change, made bool) []fields.Change {
	told := map[string]bool{}
	for _, c := range changes {
		m := conditionField.FindStringSubmatch(c.Path)
		if m == nil || m[2] != "status" || kind == "Pod" && !toldOfPods(m[1], c) {
			continue
		}
		told[m[1]] = c.Old != nil && c.New != nil || c.New == "True" && !slices.Contains(steps, m[1]) || kind == "Pod"
	}
	var out []fields.Change
	for _, c := range changes {
		switch m := conditionField.FindStringSubmatch(c.Path); {
		case m != nil && told[m[1]] && (m[2] != "message" || m[1] == "PodScheduled"):
			out = append(out, c)
		case counted.MatchString(c.Path) && kind != "Pod" && !made:
			if c.New == nil {
				c.New = int64(0)
			}
			out = append(out, c)
		case c.Path == "status.phase" && (kind != "Pod" || c.New == "Failed" || c.New == "Succeeded"),
			c.Path == "status.reason" && c.New != nil,
			containerField.MatchString(c.Path) && isTrouble(c):
			out = append(out, c)
		}
	}
	if slices.ContainsFunc(out, func(c fields.Change) bool { return !isMessage(c) }) {
		return out
	}
	return nil
}

// toldOfPods reports whether a condition of a pod is told: that it is ready, or not any more, that no node fits it, and
// that it is about to be ended.
func toldOfPods(condition string, c fields.Change) bool {
	switch condition {
	case "Ready":
		return c.New == "True" || c.Old == "True"
	case "PodScheduled":
		return c.New == "False"
	}
	return condition == "DisruptionTarget"
}

// isMessage reports whether a change is one of a text that explains another field.
func isMessage(c fields.Change) bool { return strings.HasSuffix(c.Path, "essage") }

// isTrouble reports whether what a container reports is more than that it is being started, or has ended well.
func isTrouble(c fields.Change) bool {
	switch v := c.New.(type) {
	case string:
		return v != "ContainerCreating" && v != "PodInitializing" && v != "Completed"
	case int64:
		return v != 0
	case float64:
		return v != 0
	}
	return false
}

// newsKey returns what is the same each time that a pod tells the same. That an image cannot be pulled is told once,
// whether it is tried or waited for.
func newsKey(changes []fields.Change) string {
	var parts []string
	for _, c := range changes {
		switch text := fmt.Sprint(c.New); {
		case isMessage(c):
		case text == "ImagePullBackOff":
			parts = append(parts, c.Path, "ErrImagePull")
		default:
			parts = append(parts, c.Path, text)
		}
	}
	return strings.Join(parts, "\x00")
}
