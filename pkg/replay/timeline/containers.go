package timeline

import (
	"bytes"
	"slices"
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
		old, updated := valueOf(was, list), valueOf(is, list)
		if bytes.Equal(old, updated) {
			continue
		}
		olds := elementsOf(old)
		for _, c := range elementsOf(updated) {
			name := textOf(valueOf(c, "name"))
			i := slices.IndexFunc(olds, func(o []byte) bool { return textOf(valueOf(o, "name")) == name })
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
		Name: name, From: from, To: to, Reason: textOf(valueOf(state, "reason")),
		Message: textOf(valueOf(state, "message")), ExitCode: numberOf(valueOf(state, "exitCode")),
	}
	if n := numberOf(valueOf(after, "restartCount")); n != nil {
		out.Restarts = *n
		if was := numberOf(valueOf(before, "restartCount")); was != nil {
			out.Restarted = max(0, *n-*was)
		}
	}
	if out.Restarted > 0 {
		last := valueAt(after, "lastState", "terminated")
		out.LastReason = textOf(valueOf(last, "reason"))
		if out.ExitCode == nil {
			out.ExitCode = numberOf(valueOf(last, "exitCode"))
		}
	}
	return out, from != to || out.Reason != textOf(valueOf(old, "reason")) || out.Restarted > 0
}

// containerState returns the name of the state of a container, and what is known about it.
func containerState(status []byte) (string, []byte) {
	for _, name := range []string{"waiting", "running", "terminated"} {
		if state := valueAt(status, "state", name); len(state) > 0 && state[0] == '{' {
			return name, state
		}
	}
	return "", nil
}
