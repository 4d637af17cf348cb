package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
func containerFlaws(pod values, f *problems) {
	for _, field := range []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"} {
		found := pod.at("status", field)
		list, ok := found.([]any)
		if !ok && found != nil {
			f.unreadable("status.%s is %s and no list", field, describe(found))
		}
		for i, entry := range list {
			m, ok := entry.(map[string]any)
			if !ok {
				f.unreadable("status.%s[%d] is %s and no map", field, i, describe(entry))
			} else if name := m["name"]; values(m).text("name") == "" {
				f.unreadable("status.%s[%d].name is %s and no name", field, i, describe(name))
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

// pod corrects kstatus, which takes a pod that failed for done, and one whose image cannot be pulled or whose init
// container crashes for one that is on its way.
func (o subject) pod() Status {
	containers := containersOf(o.values)
	switch o.text("status", "phase") {
	case "Succeeded":
		return o.baseStatus("completed")
	case "Failed":
		return o.failedPod(containers)
	case "Unknown":
		return o.status(Unknown, cmp.Or(o.text("status", "reason"), "its node does not answer"))
	}
	if s, held := o.unscheduled(); held {
		return s
	}
	if i := slices.IndexFunc(containers, Container.cannotRun); i >= 0 {
		c := containers[i]
		s := o.status(Failed, c.failureReason(len(containers) > 1))
		s.Message = "container " + c.Name + ": " + cmp.Or(c.Reason, "Error") + withSeparator(": ", c.Message)
		return s
	}
	if o.base.Status == Current {
		return o.base
	}
	return o.baseStatus(o.podWaitReason(containers))
}

// podEnded reports whether the pod's phase is final.
func podEnded(pod values) bool {
	phase := pod.text("status", "phase")
	return phase == "Succeeded" || phase == "Failed"
}

// failedPod tells why: the pod was evicted or ran out of time, or its container failed.
func (o subject) failedPod(containers []Container) Status {
	reason := withReason(o.text("status", "reason"), firstLine(o.text("status", "message")))
	if i := slices.IndexFunc(containers, Container.failed); i >= 0 && reason == "" {
		reason = containers[i].failureReason(len(containers) > 1)
	}
	return o.status(Failed, cmp.Or(strings.TrimPrefix(reason, ": "), "failed"))
}

// unscheduled is of a pod that no node takes, or that is not to be scheduled yet. That no node takes it is normal where
// an autoscaler makes one: it has failed when that has lasted: see Report.At.
func (o subject) unscheduled() (Status, bool) {
	c := o.condition("PodScheduled")
	if c.Status != "False" {
		return Status{}, false
	}
	reason := reasonOf(c)
	if c.Reason == "SchedulingGated" {
		var gates []string
		for _, g := range o.maps("spec", "schedulingGates") {
			gates = append(gates, g.text("name"))
		}
		reason = "SchedulingGated" + withSeparator(": ", strings.Join(gates, ", "))
	}
	if c.isUnschedulable() {
		reason = "Unschedulable so far" + withSeparator(": ", firstLine(c.Message))
	}
	s := o.status(InProgress, reason)
	s.Message = cmp.Or(c.Message, s.Message)
	return s, true
}

// isUnschedulable reports whether the condition says that no node takes the pod.
func (c Condition) isUnschedulable() bool {
	return c.Type == "PodScheduled" && c.Status == "False" && c.Reason == "Unschedulable"
}

// failed says that the container has ended, and not well.
func (c Container) failed() bool {
	return c.State == "terminated" && c.ExitCode != nil && *c.ExitCode != 0 && c.Type != EphemeralContainer
}

// cannotRun says that a container cannot start, or does not keep running. The kubelet's other reasons to wait are those
// of a container on its way.
func (c Container) cannotRun() bool {
	if c.Type == EphemeralContainer {
		return false
	}
	starting := c.Reason == "" || c.Reason == "ContainerCreating" || c.Reason == "PodInitializing"
	return c.failed() || c.State == "waiting" && !starting
}

// failureReason tells in short why a container does not run, with its name if the pod has others.
func (c Container) failureReason(others bool) string {
	name := ""
	if others {
		name = "container " + c.Name
	}
	if c.Type == InitContainer {
		name = "init container " + c.Name
	}
	switch {
	case strings.Contains(c.Reason, "Image") || c.Reason == "RegistryUnavailable":
		return joinReason(c.Reason, name, c.Image)
	case c.Reason == "CrashLoopBackOff" || c.State == "terminated":
		return joinReason(unlessEqual(c.Reason, "Error"), name, c.lastExit())
	}
	return joinReason(c.Reason, name, firstLine(c.Message))
}

// podEnded tells how the container ended last, and how often it was restarted.
func (c Container) lastExit() string {
	var parts []string
	switch last := cmp.Or(c.LastReason, c.Reason); {
	case last == "OOMKilled":
		parts = append(parts, unlessEqual(last, c.Reason))
	case c.ExitCode != nil:
		parts = append(parts, fmt.Sprintf("exit code %d", *c.ExitCode))
	}
	if c.Restarts > 0 {
		parts = append(parts, "restarted "+times(c.Restarts))
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

// podWaitReason tells what a pod without trouble waits for.
func (o subject) podWaitReason(containers []Container) string {
	if o.text("spec", "nodeName") == "" && o.condition("PodScheduled").Status != "True" {
		return "waiting to be scheduled"
	}
	var inits, done int64
	for _, c := range containers {
		switch {
		case c.Type == InitContainer:
			inits++
			if c.State == "terminated" {
				done++
			}
		case c.Type == MainContainer && c.State == "running" && !c.Ready, c.Type == SidecarContainer && c.State == "running" && !c.Started:
			return c.waitReason(len(containers) > 1)
		}
	}
	switch {
	case done < inits && o.condition("Initialized").Status != "True":
		return shortfall(done, inits, "init containers done")
	case o.text("status", "phase") == "Running":
		return cmp.Or(o.missingGate(), "not ready")
	}
	return "starting its containers"
}

// waitReason tells what a running container has still to pass.
func (c Container) waitReason(others bool) string {
	reason := "not ready"
	if !c.Started {
		reason = "not started"
	}
	name := ""
	if others {
		name = c.Name
	}
	return joinReason(reason, name, c.lastExit())
}

// missingGate names the first of the pod's readiness gates that is not open.
func (o subject) missingGate() string {
	for _, g := range o.maps("spec", "readinessGates") {
		if name := g.text("conditionType"); o.condition(name).Status != "True" {
			return "waiting for readiness gate " + name
		}
	}
	return ""
}

// joinReason makes "reason: name, detail" of what there is.
func joinReason(reason, name, detail string) string {
	rest := name
	if name != "" && detail != "" {
		rest += ", "
	}
	rest += detail
	if reason == "" {
		return rest
	}
	return reason + withSeparator(": ", rest)
}

// unlessEqual is the text, or nothing if it is the other.
func unlessEqual(text, other string) string {
	if text == other {
		return ""
	}
	return text
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
