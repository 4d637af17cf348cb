package nodes

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// stateOf simulates the containers of one pod. It is the kubelet's and the container runtime's memory of the pod; the
// API's view of it is made by status. It is not safe for concurrent use: the engine reconciles a pod once at a time.
type podState struct {
	startTime  time.Time
	readyAfter time.Duration
	init       []*container
	containers []*container
	ip         string    // empty until the sandbox is there; written under kubelet.mu
	stopAt     time.Time // when a deleted pod's containers are stopped; zero while it is not deleted
	stopped    bool
	removed    bool // whether the API was asked to remove the pod
	// latest is the pod as the API answered the last write; nil before the first. kubelet.mu guards it.
	latest *corev1.Pod
}

// newPodState returns the machine of a pod that is first seen. What its status says to run, runs on: it may have been
// loaded, or simulated by an earlier process.
func newPodState(pod *corev1.Pod, p plan, readyAfter time.Duration, now time.Time) *podState {
	m := &podState{startTime: now, readyAfter: readyAfter, ip: pod.Status.PodIP}
	if pod.Status.StartTime != nil {
		m.startTime = pod.Status.StartTime.Time
	}
	for i := range pod.Spec.InitContainers {
		c := &container{spec: &pod.Spec.InitContainers[i]}
		if !podutil.IsRestartableInitContainer(c.spec) {
			c.runsOnce = true
			c.plan = plan{ends: true, runFor: readyAfter / 4 / time.Duration(len(pod.Spec.InitContainers))}
		}
		c.restore(pod.Status.InitContainerStatuses)
		m.init = append(m.init, c)
	}
	for i := range pod.Spec.Containers {
		c := &container{spec: &pod.Spec.Containers[i], plan: p, readyAfter: readyAfter / 2}
		c.restore(pod.Status.ContainerStatuses)
		m.containers = append(m.containers, c)
	}
	return m
}

// restore takes over what a status says of the container.
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

// allContainers lists all of them, init containers first.
func (m *podState) allContainers() []*container { return slices.Concat(m.init, m.containers) }

// advance makes all transitions that are due by now, in order and each at its own time, and returns the events that
// they are worth.
func (m *podState) advance(pod *corev1.Pod, now time.Time) []containerEvent {
	var notes []containerEvent
	for m.stopAt.IsZero() {
		c, at := m.nextTransition(pod)
		if c == nil || at.After(now) {
			break
		}
		for _, n := range c.transition(pod, at) {
			n.init = slices.Contains(m.init, c)
			notes = append(notes, n)
		}
		m.endSidecars(pod, at)
	}
	if !m.stopAt.IsZero() && !m.stopAt.After(now) {
		m.kill(m.stopAt)
	}
	return notes
}

// nextTransition is the container with the earliest transition to come, nil if none comes by itself.
func (m *podState) nextTransition(pod *corev1.Pod) (*container, time.Time) {
	var next *container
	var when time.Time
	for i, c := range m.allContainers() {
		at := c.due(pod, m.earliestStart(i))
		if !at.IsZero() && (next == nil || at.Before(when)) {
			next, when = c, at
		}
	}
	return next, when
}

// earliestStart is when the i-th of containers may first start, zero while that is not known. Of the time from binding
// to ready, a quarter goes by before init containers start, and half before the others do.
func (m *podState) earliestStart(i int) time.Time {
	if i == 0 && len(m.init) > 0 {
		return m.startTime.Add(m.readyAfter / 4)
	}
	begin := m.startTime
	if len(m.init) > 0 {
		before := m.init[min(i, len(m.init))-1]
		if !before.initialized() {
			return time.Time{}
		}
		begin = before.since
	}
	if half := m.startTime.Add(m.readyAfter / 2); i >= len(m.init) && begin.Before(half) {
		return half
	}
	return begin
}

// initialized says of an init container that the next one may start.
func (c *container) initialized() bool {
	if c.runsOnce {
		return c.succeeded()
	}
	return c.state == running
}

// endSidecars stops restartable init containers when nothing is left that they could serve.
func (m *podState) endSidecars(pod *corev1.Pod, at time.Time) {
	if slices.ContainsFunc(m.containers, func(c *container) bool { return !c.finished(pod) }) {
		return
	}
	for _, c := range m.init {
		c.kill(at, 0)
	}
}

// stop begins the end of a deleted pod, whose containers take that long to stop, and returns the events of it.
func (m *podState) stop(at time.Time) []containerEvent {
	if !m.stopAt.IsZero() {
		return nil
	}
	m.stopAt = at
	var notes []containerEvent
	for _, c := range m.allContainers() {
		if c.state == running {
			notes = append(notes, containerEvent{
				container: c.spec.Name, init: slices.Contains(m.init, c),
				reason: "Killing", message: "Stopping container " + c.spec.Name,
			})
		}
	}
	return notes
}

// kill ends all containers. Regular ones and sidecars are well-behaved on SIGTERM, other init containers are not done.
func (m *podState) kill(at time.Time) {
	for _, c := range m.init {
		code := int32(0)
		if c.runsOnce {
			code = 143
		}
		c.kill(at, code)
	}
	for _, c := range m.containers {
		c.kill(at, 0)
	}
	m.stopped = true
}

// nextChange is when the status changes next by itself; zero if it does not.
func (m *podState) nextChange(pod *corev1.Pod, now time.Time) time.Time {
	if !m.stopAt.IsZero() {
		if m.stopped {
			return time.Time{}
		}
		return m.stopAt
	}
	_, next := m.nextTransition(pod)
	for _, c := range m.allContainers() {
		if _, at := c.ready(now); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// hasSandbox reports whether the pod's network is there: it is made just before the first container.
func (m *podState) hasSandbox() bool {
	return slices.ContainsFunc(m.allContainers(), func(c *container) bool { return c.state != created })
}
