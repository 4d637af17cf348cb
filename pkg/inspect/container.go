package inspect

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Container is one container of a pod, as its spec names it and the kubelet reports it.
type Container struct {
	// Name is its name in the spec.
	Name string `json:"name"`
	// Type is container, init, sidecar (an init container that goes on running) or ephemeral.
	Type string `json:"type"`
	// Image is the spec's.
	Image string `json:"image,omitempty"`
	// State is running, waiting, terminated, or empty if the kubelet has not reported the container.
	State string `json:"state,omitempty"`
	// Reason and Message are those of the state: CrashLoopBackOff, Completed.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// ExitCode is how it ended: now if its State is terminated, else the last time. Nil if it never did.
	ExitCode *int64 `json:"exitCode,omitempty"`
	// LastReason is the reason of its last end before it was restarted: OOMKilled, Error.
	LastReason string `json:"lastReason,omitempty"`
	// Ready says that it passes its readiness probe.
	Ready bool `json:"ready"`
	// Started says that it has passed its startup probe.
	Started bool `json:"started"`
	// Restarts counts how often it was restarted.
	Restarts int64 `json:"restarts"`
}

// The types of containers.
const (
	MainContainer      = "container"
	InitContainer      = "init"
	SidecarContainer   = "sidecar"
	EphemeralContainer = "ephemeral"
)

// Containers lists the containers of a pod: those that initialise it first, as they run, then the others, in the order
// of the spec; one that only the kubelet knows comes after those. It is empty for an object that is no pod.
func Containers(pod *unstructured.Unstructured) []Container {
	if pod == nil || pod.GetKind() != "Pod" {
		return nil
	}
	return containersOf(pod.Object)
}

func containersOf(pod values) []Container {
	var out []Container
	seen := map[string]bool{}
	for _, field := range []struct{ spec, status, name string }{
		{"initContainers", "initContainerStatuses", InitContainer},
		{"containers", "containerStatuses", MainContainer},
		{"ephemeralContainers", "ephemeralContainerStatuses", EphemeralContainer},
	} {
		reported := map[string]values{}
		statuses := slices.DeleteFunc(pod.maps("status", field.status), func(s values) bool { return s.text("name") == "" })
		for _, s := range statuses {
			reported[s.text("name")] = s
		}
		for _, c := range slices.Concat(pod.maps("spec", field.spec), statuses) {
			kind := field.name
			if kind == InitContainer && c.text("restartPolicy") == "Always" {
				kind = SidecarContainer
			}
			if known := field.name + " " + c.text("name"); !seen[known] {
				seen[known] = true
				out = append(out, containerOf(c, kind, reported[c.text("name")]))
			}
		}
	}
	return out
}

// containerFlaws notes container statuses that are none.
func containerFlaws(pod values, f *flaws) {
	for _, field := range []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"} {
		found := pod.at("status", field)
		list, ok := found.([]any)
		if !ok && found != nil {
			f.lost("status.%s is %s and no list", field, described(found))
		}
		for i, entry := range list {
			m, ok := entry.(map[string]any)
			if !ok {
				f.lost("status.%s[%d] is %s and no map", field, i, described(entry))
			} else if name := m["name"]; values(m).text("name") == "" {
				f.lost("status.%s[%d].name is %s and no name", field, i, described(name))
			}
		}
	}
}

func containerOf(spec values, kind string, status values) Container {
	c := Container{
		Name: spec.text("name"), Type: kind, Image: spec.text("image"),
		Ready: status.flag("ready"), Started: status.flag("started"), Restarts: status.count(0, "restartCount"),
		LastReason: status.text("lastState", "terminated", "reason"),
	}
	if code, ok := status.number("lastState", "terminated", "exitCode"); ok {
		c.ExitCode = &code
	}
	for _, state := range []string{"waiting", "running", "terminated"} {
		if s := status.sub("state", state); s != nil {
			c.State, c.Reason, c.Message = state, s.text("reason"), s.text("message")
			break
		}
	}
	if code, ok := status.number("state", "terminated", "exitCode"); ok {
		c.ExitCode = &code
	}
	return c
}

// readyContainers counts as kubectl does: containers and sidecars, not those that only initialise the pod.
func readyContainers(containers []Container) string {
	var ready, all int64
	for _, c := range containers {
		if c.Type != MainContainer && c.Type != SidecarContainer {
			continue
		}
		all++
		if c.Ready && c.State != "waiting" && c.State != "terminated" {
			ready++
		}
	}
	return ratio(ready, all)
}
