package nodes

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// podState is what kubelet and container runtime would know of one pod: the states of its simulated containers. The
// status for the API is made from it by status. It is not safe for concurrent use, except where a field says so: the
// engine never reconciles a pod twice at a time.
type podState struct {
	startTime  time.Time
	readyAfter time.Duration
	init       []*container // init containers and sidecars, in the order of the spec
	containers []*container
	ip         string    // empty until the sandbox exists; kubelet.mu guards it
	stopAt     time.Time // when a deleted pod's containers are stopped; zero while it is not deleted
	stopped    bool
	removed    bool // whether the deletion of the pod was requested
	// latest is the pod that the API answered the last write with; nil before the first write. kubelet.mu guards it.
	latest *corev1.Pod
}

// newPodState returns the state of a pod that is reconciled for the first time. It continues from the pod's status: the
// pod may have been loaded, or simulated by an earlier process.
func newPodState(pod *corev1.Pod, p plan, readyAfter time.Duration, now time.Time) *podState {
	ps := &podState{startTime: now, readyAfter: readyAfter, ip: pod.Status.PodIP}
	if pod.Status.StartTime != nil {
		ps.startTime = pod.Status.StartTime.Time
	}
	for i := range pod.Spec.InitContainers {
		c := &container{spec: &pod.Spec.InitContainers[i]}
		if !podutil.IsRestartableInitContainer(c.spec) {
			c.runsOnce = true
			c.plan = plan{ends: true, runFor: readyAfter / 4 / time.Duration(len(pod.Spec.InitContainers))}
		}
		c.restore(pod.Status.InitContainerStatuses)
		ps.init = append(ps.init, c)
	}
	for i := range pod.Spec.Containers {
		c := &container{spec: &pod.Spec.Containers[i], plan: p, readyAfter: readyAfter / 2}
		c.restore(pod.Status.ContainerStatuses)
		ps.containers = append(ps.containers, c)
	}
	return ps
}

// ready reports whether the container is ready, and if not, when it will be; zero if it will not.
func (c *container) ready(now time.Time) (bool, time.Time) {
	if c.state != running || c.plan.failure == NeverReady {
		return false, time.Time{}
	}
	if at := c.started.Add(c.readyAfter); now.Before(at) {
		return false, at
	}
	return true, time.Time{}
}

// restore sets the container's state to what its status says.
func (c *container) restore(statuses []corev1.ContainerStatus) {
	i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == c.spec.Name })
	if i < 0 {
		return
	}
	s := statuses[i]
	c.restarts = s.RestartCount
	for range s.RestartCount {
		c.backoff = nextBackoff(c.backoff)
	}
	if t := s.LastTerminationState.Terminated; t != nil {
		c.last = &exit{started: t.StartedAt.Time, finished: t.FinishedAt.Time, code: t.ExitCode,
			restarts: max(s.RestartCount-1, 0)}
	}
	switch {
	case s.State.Running != nil:
		c.state, c.started, c.since = running, s.State.Running.StartedAt.Time, s.State.Running.StartedAt.Time
	case s.State.Terminated != nil:
		t := s.State.Terminated
		c.state, c.started, c.since, c.exitCode = exited, t.StartedAt.Time, t.FinishedAt.Time, t.ExitCode
	case c.last != nil:
		c.state, c.started, c.since, c.exitCode = backingOff, c.last.started, c.last.finished, c.last.code
	}
}

// allContainers returns all containers, init containers first.
func (ps *podState) allContainers() []*container { return slices.Concat(ps.init, ps.containers) }

// advance makes all transitions that are due by now, in order and each at the time when it was due, and returns their
// Events.
func (ps *podState) advance(pod *corev1.Pod, now time.Time) []containerEvent {
	var notes []containerEvent
	for ps.stopAt.IsZero() {
		c, at := ps.nextTransition(pod)
		if c == nil || at.After(now) {
			break
		}
		for _, n := range c.transition(pod, at) {
			n.init = slices.Contains(ps.init, c)
			notes = append(notes, n)
		}
		ps.endSidecars(pod, at)
	}
	if !ps.stopAt.IsZero() && !ps.stopAt.After(now) {
		ps.kill(ps.stopAt)
	}
	return notes
}

// nextTransition returns the container with the earliest transition and its time; nil if no transition is due.
func (ps *podState) nextTransition(pod *corev1.Pod) (*container, time.Time) {
	var next *container
	var when time.Time
	for i, c := range ps.allContainers() {
		at := c.due(pod, ps.earliestStart(i))
		if !at.IsZero() && (next == nil || at.Before(when)) {
			next, when = c, at
		}
	}
	return next, when
}

// earliestStart returns when the i-th of allContainers may first start; zero while that is not known. Of the time from
// binding to ready, a quarter passes before init containers start, and half before the others do.
func (ps *podState) earliestStart(i int) time.Time {
	if i == 0 && len(ps.init) > 0 {
		return ps.startTime.Add(ps.readyAfter / 4)
	}
	begin := ps.startTime
	if len(ps.init) > 0 {
		before := ps.init[min(i, len(ps.init))-1]
		if !before.initialized() {
			return time.Time{}
		}
		begin = before.since
	}
	if half := ps.startTime.Add(ps.readyAfter / 2); i >= len(ps.init) && begin.Before(half) {
		return half
	}
	return begin
}

// initialized reports, of an init container, whether the next one may start.
func (c *container) initialized() bool {
	if c.runsOnce {
		return c.succeeded()
	}
	return c.state == running
}

// endSidecars stops the sidecars when all regular containers have finished.
func (ps *podState) endSidecars(pod *corev1.Pod, at time.Time) {
	if slices.ContainsFunc(ps.containers, func(c *container) bool { return !c.finished(pod) }) {
		return
	}
	for _, c := range ps.init {
		c.kill(at, 0)
	}
}

// stop plans the end of a deleted pod's containers at that time, and returns the Events of it. It does nothing if the
// end is planned already.
func (ps *podState) stop(at time.Time) []containerEvent {
	if !ps.stopAt.IsZero() {
		return nil
	}
	ps.stopAt = at
	var notes []containerEvent
	for _, c := range ps.allContainers() {
		if c.state == running {
			notes = append(notes, containerEvent{
				container: c.spec.Name, init: slices.Contains(ps.init, c),
				reason: "Killing", message: "Stopping container " + c.spec.Name,
			})
		}
	}
	return notes
}

// kill ends all containers. Regular ones and sidecars exit with 0 on SIGTERM, other init containers with 143.
func (ps *podState) kill(at time.Time) {
	for _, c := range ps.init {
		code := int32(0)
		if c.runsOnce {
			code = 143
		}
		c.kill(at, code)
	}
	for _, c := range ps.containers {
		c.kill(at, 0)
	}
	ps.stopped = true
}

// nextChange returns when the status changes next without a write of others; zero if it does not.
func (ps *podState) nextChange(pod *corev1.Pod, now time.Time) time.Time {
	if !ps.stopAt.IsZero() {
		if ps.stopped {
			return time.Time{}
		}
		return ps.stopAt
	}
	_, next := ps.nextTransition(pod)
	for _, c := range ps.allContainers() {
		if _, at := c.ready(now); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// hasSandbox reports whether the pod's sandbox exists: it is made just before the first container.
func (ps *podState) hasSandbox() bool {
	return slices.ContainsFunc(ps.allContainers(), func(c *container) bool { return c.state != created })
}
