package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// pod corrects kstatus, which takes a pod that failed for done, and one whose image cannot be pulled or whose init
// container crashes for one that is on its way.
func (o subject) pod() Status {
	containers := containersOf(o.values)
	switch o.text("status", "phase") {
	case "Succeeded":
		return o.because("completed")
	case "Failed":
		return o.failedPod(containers)
	case "Unknown":
		return o.is(Unknown, cmp.Or(o.text("status", "reason"), "its node does not answer"))
	}
	if s, held := o.unscheduled(); held {
		return s
	}
	if i := slices.IndexFunc(containers, Container.inTrouble); i >= 0 {
		c := containers[i]
		s := o.is(Failed, c.trouble(len(containers) > 1))
		s.Message = "container " + c.Name + ": " + cmp.Or(c.Reason, "Error") + after(": ", c.Message)
		return s
	}
	if o.base.Status == Current {
		return o.base
	}
	return o.because(o.podWaits(containers))
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
		reason = containers[i].trouble(len(containers) > 1)
	}
	return o.is(Failed, cmp.Or(strings.TrimPrefix(reason, ": "), "failed"))
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
		reason = "SchedulingGated" + after(": ", strings.Join(gates, ", "))
	}
	if c.isUnschedulable() {
		reason = "Unschedulable so far" + after(": ", firstLine(c.Message))
	}
	s := o.is(InProgress, reason)
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

// inTrouble says that a container cannot start, or does not keep running. The kubelet's other reasons to wait are those
// of a container on its way.
func (c Container) inTrouble() bool {
	if c.Type == EphemeralContainer {
		return false
	}
	starting := c.Reason == "" || c.Reason == "ContainerCreating" || c.Reason == "PodInitializing"
	return c.failed() || c.State == "waiting" && !starting
}

// trouble tells in short why a container does not run, with its name if the pod has others.
func (c Container) trouble(others bool) string {
	name := ""
	if others {
		name = "container " + c.Name
	}
	if c.Type == InitContainer {
		name = "init container " + c.Name
	}
	switch {
	case strings.Contains(c.Reason, "Image") || c.Reason == "RegistryUnavailable":
		return joined(c.Reason, name, c.Image)
	case c.Reason == "CrashLoopBackOff" || c.State == "terminated":
		return joined(without(c.Reason, "Error"), name, c.ended())
	}
	return joined(c.Reason, name, firstLine(c.Message))
}

// ended tells how the container ended last, and how often it was restarted.
func (c Container) ended() string {
	var parts []string
	switch last := cmp.Or(c.LastReason, c.Reason); {
	case last == "OOMKilled":
		parts = append(parts, without(last, c.Reason))
	case c.ExitCode != nil:
		parts = append(parts, fmt.Sprintf("exit code %d", *c.ExitCode))
	}
	if c.Restarts > 0 {
		parts = append(parts, "restarted "+times(c.Restarts))
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

// podWaits tells what a pod without trouble waits for.
func (o subject) podWaits(containers []Container) string {
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
			return c.waits(len(containers) > 1)
		}
	}
	switch {
	case done < inits && o.condition("Initialized").Status != "True":
		return short(done, inits, "init containers done")
	case o.text("status", "phase") == "Running":
		return cmp.Or(o.missingGate(), "not ready")
	}
	return "starting its containers"
}

// waits tells what a running container has still to pass.
func (c Container) waits(others bool) string {
	reason := "not ready"
	if !c.Started {
		reason = "not started"
	}
	name := ""
	if others {
		name = c.Name
	}
	return joined(reason, name, c.ended())
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

// joined makes "reason: name, detail" of what there is.
func joined(reason, name, detail string) string {
	rest := name
	if name != "" && detail != "" {
		rest += ", "
	}
	rest += detail
	if reason == "" {
		return rest
	}
	return reason + after(": ", rest)
}

// without is the text, or nothing if it is the other.
func without(text, other string) string {
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
