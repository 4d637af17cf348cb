package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// Container is one container of a pod, as its spec names it and the kubelet reports it.
type Container struct {
	// Name is its name in the spec.
	Name string `json:"name"`
	// Type is container, init, sidecar (an init container that keeps running) or ephemeral.
	Type string `json:"type"`
	// Image is the image in the spec.
	Image string `json:"image,omitempty"`
	// State is running, waiting, terminated, or empty if the kubelet has not reported the container.
	State string `json:"state,omitempty"`
	// Reason and Message are those of the state: CrashLoopBackOff, Completed.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// ExitCode is the exit code of this run if State is terminated, else of the previous run; nil if there is neither.
	ExitCode *int64 `json:"exitCode,omitempty"`
	// LastReason is why its previous run ended: OOMKilled, Error.
	LastReason string `json:"lastReason,omitempty"`
	// Ready reports whether it passes its readiness probe.
	Ready bool `json:"ready"`
	// Started reports whether it has passed its startup probe.
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

// Containers returns the containers of a pod in the order of the spec: init containers first, then containers, then
// ephemeral ones; within each, those that only the status has come last. It is nil for an object that is not a pod.
func Containers(pod *unstructured.Unstructured) []Container {
	if pod == nil || pod.GetKind() != "Pod" {
		return nil
	}
	return containersOf(pod.Object)
}

// containersOf is Containers for an object that is known to be a pod.
func containersOf(pod untyped.Map) []Container {
	var out []Container
	seen := map[string]bool{}
	for _, field := range []struct{ spec, status, name string }{
		{"initContainers", "initContainerStatuses", InitContainer},
		{"containers", "containerStatuses", MainContainer},
		{"ephemeralContainers", "ephemeralContainerStatuses", EphemeralContainer},
	} {
		reported := map[string]untyped.Map{}
		statuses := pod.Maps("status", field.status)
		statuses = slices.DeleteFunc(statuses, func(s untyped.Map) bool { return s.Text("name") == "" })
		for _, s := range statuses {
			reported[s.Text("name")] = s
		}
		for _, c := range slices.Concat(pod.Maps("spec", field.spec), statuses) {
			kind := field.name
			if kind == InitContainer && c.Text("restartPolicy") == "Always" {
				kind = SidecarContainer
			}
			if known := field.name + " " + c.Text("name"); !seen[known] {
				seen[known] = true
				out = append(out, containerOf(c, kind, reported[c.Text("name")]))
			}
		}
	}
	return out
}

// addContainerProblems adds the problems of container statuses to f.
func addContainerProblems(pod untyped.Map, f *problems) {
	for _, field := range []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"} {
		found := pod.At("status", field)
		list, ok := found.([]any)
		if !ok && found != nil {
			f.unreadable("status.%s is %s, not a list", field, untyped.Describe(found))
		}
		for i, entry := range list {
			m, ok := entry.(map[string]any)
			if !ok {
				f.unreadable("status.%s[%d] is %s, not a map", field, i, untyped.Describe(entry))
			} else if name := m["name"]; untyped.Map(m).Text("name") == "" {
				f.unreadable("status.%s[%d].name is %s, not a name", field, i, untyped.Describe(name))
			}
		}
	}
}

func containerOf(spec untyped.Map, kind string, status untyped.Map) Container {
	c := Container{
		Name: spec.Text("name"), Type: kind, Image: spec.Text("image"),
		Ready: status.Flag("ready"), Started: status.Flag("started"), Restarts: status.Count(0, "restartCount"),
		LastReason: status.Text("lastState", "terminated", "reason"),
	}
	if code, ok := status.Number("lastState", "terminated", "exitCode"); ok {
		c.ExitCode = &code
	}
	for _, state := range []string{"waiting", "running", "terminated"} {
		if s := status.Sub("state", state); s != nil {
			c.State, c.Reason, c.Message = state, s.Text("reason"), s.Text("message")
			break
		}
	}
	if code, ok := status.Number("state", "terminated", "exitCode"); ok {
		c.ExitCode = &code
	}
	return c
}

// readyContainers counts as kubectl does: containers and sidecars, but not init containers that end.
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

// pod corrects kstatus, which reports a failed pod as Current, and one whose image cannot be pulled or whose init
// container crashes as InProgress.
func (o subject) pod() Status {
	containers := containersOf(o.Map)
	switch o.Text("status", "phase") {
	case "Succeeded":
		return o.baseStatus("completed")
	case "Failed":
		return o.failedPod(containers)
	case "Unknown":
		return o.status(Unknown, cmp.Or(o.Text("status", "reason"), "its node does not answer"))
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
	if c := o.resize(); c.Status == "True" && o.base.Status == Current {
		return o.status(InProgress, c.Type+" "+reasonOf(c))
	}
	if o.base.Status == Current {
		return o.base
	}
	return o.baseStatus(o.podWaitReason(containers))
}

// resize is the condition by which the kubelet reports that it cannot give the containers of a pod what its spec was
// changed to request, or not yet (allocation_manager.go of k8s.io/kubernetes/pkg/kubelet/allocation); zero if there is
// none.
func (o subject) resize() Condition {
	if c := o.condition("PodResizePending"); c.Status == "True" {
		return c
	}
	return o.condition("PodResizeInProgress")
}

// podEnded reports whether the pod's phase is final.
func podEnded(pod untyped.Map) bool {
	phase := pod.Text("status", "phase")
	return phase == "Succeeded" || phase == "Failed"
}

// failedPod returns the status of a pod whose phase is Failed: it was evicted, exceeded its deadline, or a container
// failed.
func (o subject) failedPod(containers []Container) Status {
	reason := withReason(o.Text("status", "reason"), firstLine(o.Text("status", "message")))
	if i := slices.IndexFunc(containers, Container.failed); i >= 0 && reason == "" {
		reason = containers[i].failureReason(len(containers) > 1)
	}
	return o.status(Failed, cmp.Or(strings.TrimPrefix(reason, ": "), "failed"))
}

// unscheduled returns the status of a pod that is not scheduled, and whether it is one. That no node fits is normal
// where an autoscaler adds nodes; the pod has Failed only when it has lasted: see Report.At.
func (o subject) unscheduled() (Status, bool) {
	c := o.condition("PodScheduled")
	if c.Status != "False" {
		return Status{}, false
	}
	reason := reasonOf(c)
	if c.Reason == "SchedulingGated" {
		var gates []string
		for _, g := range o.Maps("spec", "schedulingGates") {
			gates = append(gates, g.Text("name"))
		}
		reason = "SchedulingGated" + withSeparator(": ", strings.Join(gates, ", "))
	}
	if c.isUnschedulable() {
		reason = ReasonUnschedulable + " so far" + withSeparator(": ", firstLine(c.Message))
	}
	s := o.status(InProgress, reason)
	s.Message = cmp.Or(c.Message, s.Message)
	return s, true
}

// ReasonUnschedulable is what the reason of a pod begins with that no node fits.
const ReasonUnschedulable = "Unschedulable"

// isUnschedulable reports whether the condition is that no node fits the pod.
func (c Condition) isUnschedulable() bool {
	return c.Type == "PodScheduled" && c.Status == "False" && c.Reason == ReasonUnschedulable
}

// failed reports whether the container has ended with an error.
func (c Container) failed() bool {
	return c.State == "terminated" && c.ExitCode != nil && *c.ExitCode != 0 && c.Type != EphemeralContainer
}

// cannotRun reports whether the container cannot start, or does not keep running. Waiting with one of the kubelet's
// other reasons is normal.
func (c Container) cannotRun() bool {
	if c.Type == EphemeralContainer {
		return false
	}
	starting := c.Reason == "" || c.Reason == "ContainerCreating" || c.Reason == "PodInitializing"
	return c.failed() || c.State == "waiting" && !starting
}

// failureReason returns in short why a container does not run, with its name if the pod has others.
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

// lastExit returns how the container last ended, and how often it was restarted.
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

// podWaitReason returns what a pod whose containers can run waits for.
func (o subject) podWaitReason(containers []Container) string {
	if o.Text("spec", "nodeName") == "" && o.condition("PodScheduled").Status != "True" {
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
		case c.Type == MainContainer && c.State == "running" && !c.Ready,
			c.Type == SidecarContainer && c.State == "running" && !c.Started:
			return c.waitReason(len(containers) > 1)
		}
	}
	switch {
	case done < inits && o.condition("Initialized").Status != "True":
		return shortfall(done, inits, "init containers done")
	case o.Text("status", "phase") == "Running":
		return cmp.Or(o.missingGate(), "not ready")
	}
	return "starting its containers"
}

// waitReason returns which probe a running container has not passed yet.
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

// missingGate names the first of the pod's readiness gates whose condition is not True.
func (o subject) missingGate() string {
	for _, g := range o.Maps("spec", "readinessGates") {
		if name := g.Text("conditionType"); o.condition(name).Status != "True" {
			return "waiting for readiness gate " + name
		}
	}
	return ""
}

// joinReason returns "reason: name, detail" without the parts that are empty.
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

// unlessEqual returns text, or "" if it equals other.
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
