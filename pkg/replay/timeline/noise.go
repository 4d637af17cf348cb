package timeline

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// isNoise reports whether a field changes although nothing has changed: heartbeats, and times of the last look.
func isNoise(path string) bool {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "lastHeartbeatTime", "lastProbeTime", "lastUpdateTime":
		return true
	}
	return path == "spec.renewTime" || path == "metadata.annotations[control-plane.alpha.kubernetes.io/leader]"
}

// withoutNoise returns the changes without those that every write, or every heartbeat, makes.
func withoutNoise(changes []inspect.Change) []inspect.Change {
	return slices.DeleteFunc(changes, func(c inspect.Change) bool { return isNoise(c.Path) })
}

// unseen are the members of metadata that are not compared: every write changes them.
var unseen = []string{"managedFields", "resourceVersion"}

// secretFields matches the fields of a Secret whose values must not be shown.
var secretFields = regexp.MustCompile(`^(data|stringData)\b|` +
	`^metadata\.annotations(\[kubectl\.kubernetes\.io/last-applied-configuration\])?$`)

// hideSecrets replaces the values of a Secret: only that they changed is shown.
func hideSecrets(changes []inspect.Change) {
	for i := range changes {
		c := &changes[i]
		if !secretFields.MatchString(c.Path) {
			continue
		}
		if c.Old != nil {
			c.Old = inspect.HiddenValue
		}
		if c.New != nil {
			c.New = inspect.HiddenValue
		}
	}
}
