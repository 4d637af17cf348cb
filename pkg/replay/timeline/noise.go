package timeline

import (
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
