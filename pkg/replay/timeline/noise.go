package timeline

import (
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
)

// withoutNoise returns the changes without those that every write, or every heartbeat, makes; all if there are no
// others, unless heartbeats are what the objects are written for.
func withoutNoise(changes []fields.Change, heartbeats bool) []fields.Change {
	isOther := func(c fields.Change) bool { return !findings.IsHeartbeat(c.Path) }
	if !heartbeats && !slices.ContainsFunc(changes, isOther) &&
		!slices.ContainsFunc(changes, func(c fields.Change) bool { return c.Path == findings.LeaderAnnotation }) {
		return changes
	}
	return slices.DeleteFunc(changes, func(c fields.Change) bool { return findings.IsHeartbeat(c.Path) })
}

// unseen are the members of metadata that are not compared: every write changes them.
var unseen = []string{"managedFields", "resourceVersion"}
