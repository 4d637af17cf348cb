package timeline

import (
	"bytes"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
)

// ContainerChange is a container of a pod whose state changed, or that was restarted.
type ContainerChange struct {
	Name string `json:"name"`
	// From and To are states: waiting, running or terminated. From is empty for a container that had none. They are the
	// same if only the reason or the number of restarts changed.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Reason and Message are those of the state after the change.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// ExitCode is that of a container that is terminated, or whose last run is.
	ExitCode *int64 `json:"exitCode,omitempty"`
	// LastReason is why the last run ended, if it was restarted.
	LastReason string `json:"lastReason,omitempty"`
	// Restarts is the number of restarts after the change, Restarted how many of them are new.
	Restarts  int64 `json:"restarts,omitempty"`
	Restarted int64 `json:"restarted,omitempty"`
}

// containerLists are the fields of the status of a pod that have containers.
var containerLists = []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"}

// containersOf returns the containers whose state or restarts differ in the status of two versions of a pod.
func containersOf(was, is []byte) []ContainerChange {
	var out []ContainerChange
	for _, list := range containerLists {
		old, updated := rawjson.ValueAt(was, list), rawjson.ValueAt(is, list)
		if bytes.Equal(old, updated) {
			continue
		}
		olds := rawjson.Elements(old)
		for _, c := range rawjson.Elements(updated) {
			name := rawjson.TextAt(c, "name")
			i := slices.IndexFunc(olds, func(o []byte) bool { return rawjson.TextAt(o, "name") == name })
			var previous []byte
			if i >= 0 {
				previous = olds[i]
			}
			if change, differs := containerChange(name, previous, c); differs && len(out) < maxSetSize {
				out = append(out, change)
			}
		}
	}
	return out
}

func containerChange(name string, before, after []byte) (ContainerChange, bool) {
	from, old := containerState(before)
	to, state := containerState(after)
	out := ContainerChange{
		Name: name, From: from, To: to, Reason: rawjson.TextAt(state, "reason"),
		Message: rawjson.TextAt(state, "message"), ExitCode: numberOf(rawjson.ValueAt(state, "exitCode")),
	}
	if n := numberOf(rawjson.ValueAt(after, "restartCount")); n != nil {
		out.Restarts = *n
		if was := numberOf(rawjson.ValueAt(before, "restartCount")); was != nil {
			out.Restarted = max(0, *n-*was)
		}
	}
	if out.Restarted > 0 {
		last := rawjson.ValueAt(after, "lastState", "terminated")
		out.LastReason = rawjson.TextAt(last, "reason")
		if out.ExitCode == nil {
			out.ExitCode = numberOf(rawjson.ValueAt(last, "exitCode"))
		}
	}
	return out, from != to || out.Reason != rawjson.TextAt(old, "reason") || out.Restarted > 0
}

// containerState returns the name of the state of a container, and what is known about it.
func containerState(status []byte) (string, []byte) {
	for _, name := range []string{"waiting", "running", "terminated"} {
		if state := rawjson.ValueAt(status, "state", name); len(state) > 0 && state[0] == '{' {
			return name, state
		}
	}
	return "", nil
}
