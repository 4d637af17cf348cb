package nodes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// Delays of the kubelet. They mirror genericPlegRelistPeriod, initialCrashLoopBackOff, imageBackOffPeriod and
// MaxImageBackOff of k8s.io/kubernetes/pkg/kubelet/kubelet.go, and MaxContainerBackOff of
// k8s.io/kubernetes/pkg/kubelet/apis/config/v1beta1/defaults.go.
const (
	// relistPeriod is about how long the kubelet takes to notice that a container has exited.
	relistPeriod = time.Second
	// initialBackoff delays the second restart of a container, and the second pull of an image; it doubles each time.
	initialBackoff = 10 * time.Second
	maxBackoff     = 300 * time.Second
)

// state is the state of a container.
type state int

const (
	created    state = iota // not started yet
	pulling                 // waits for the next pull, because its image was not found
	running                 //
	exited                  //
	backingOff              // exited, and waits for its restart
)

// container is a simulated container, as a container runtime would know it. Its times are exact to the nanosecond,
// those of the API to the second.
type container struct {
	spec *corev1.Container
	// runsOnce is true for an init container other than a sidecar: it is not restarted after success, which makes it
	// ready.
	runsOnce bool
	// plan is what the container will do; that of an init container has only the time when it exits.
	plan plan
	// readyAfter is the time from start to ready.
	readyAfter time.Duration

	state      state
	since      time.Time // when it entered the state
	exitCode   int32     // of the last exit
	restarts   int32
	started    time.Time     // the last start
	last       *exit         // the exit before the last start
	backoff    time.Duration // what the next restart or pull waits for; 0 before the first
	pullReason string        // the reason of a waiting container whose image cannot be pulled
	killed     bool
}

// exit is the end of a run.
type exit struct {
	started, finished time.Time
	code              int32
	restarts          int32 // of the run that ended
}

// containerEvent is an Event that the kubelet would record of a container.
type containerEvent struct {
	container       string // name
	init            bool
	warning         bool
	reason, message string
}

// due returns the time of the container's next transition; zero if there is none. start is when it may first start,
// zero if that is not known yet.
func (c *container) due(pod *corev1.Pod, start time.Time) time.Time {
	if c.killed {
		return time.Time{}
	}
	switch c.state {
	case created:
		return start
	case pulling:
		if c.pullReason == reasonErrImagePull {
			return c.since.Add(relistPeriod)
		}
		return c.since.Add(c.backoff)
	case running:
		if c.plan.ends {
			return c.started.Add(c.plan.runFor)
		}
	case exited:
		if !c.succeeded() && podutil.ContainerShouldRestart(*c.spec, pod.Spec, c.exitCode) {
			return c.since.Add(relistPeriod)
		}
	case backingOff:
		return c.since.Add(c.backoff)
	}
	return time.Time{}
}

// Reasons of a waiting container, from pkg/kubelet/images/types.go and pkg/kubelet/container/sync_result.go.
const (
	reasonErrImagePull     = "ErrImagePull"
	reasonImagePullBackOff = "ImagePullBackOff"
	reasonCrashLoopBackOff = "CrashLoopBackOff"
	reasonCreating         = "ContainerCreating"
	reasonInitializing     = "PodInitializing"
)

// transition makes the transition that is due at the time, and returns the Events that the kubelet would record.
func (c *container) transition(pod *corev1.Pod, at time.Time) []containerEvent {
	switch c.state {
	case created:
		if c.plan.failure == ImagePullError {
			return c.pull(at)
		}
		return c.start(at)
	case pulling:
		return c.retryPull(at)
	case running:
		c.exit(at, c.plan.exitCode)
	case exited:
		return c.restart(pod, at)
	case backingOff:
		return c.start(at)
	}
	return nil
}

// start starts the container, and counts a restart if it ran before.
func (c *container) start(at time.Time) []containerEvent {
	if c.state == exited || c.state == backingOff {
		c.last = c.lastExit()
		c.restarts++
		c.backoff = nextBackoff(c.backoff)
	}
	c.state, c.since, c.started = running, at, at
	image := fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", c.spec.Image)
	if c.spec.ImagePullPolicy == corev1.PullAlways {
		image = fmt.Sprintf("Successfully pulled image %q in 0s (0s including waiting). Image size: 0 bytes.",
			c.spec.Image)
	}
	return []containerEvent{
		{container: c.spec.Name, reason: "Pulled", message: image},
		{container: c.spec.Name, reason: "Created", message: "Container created"},
		{container: c.spec.Name, reason: "Started", message: "Container started"},
	}
}

// lastExit returns the exit of a container that has exited.
func (c *container) lastExit() *exit {
	return &exit{started: c.started, finished: c.since, code: c.exitCode, restarts: c.restarts}
}

// exit ends the run of the container.
func (c *container) exit(at time.Time, code int32) {
	c.state, c.since, c.exitCode = exited, at, code
}

// restart starts the container again, or makes it wait. It mirrors kubeGenericRuntimeManager.doBackOff of
// k8s.io/kubernetes/pkg/kubelet/kuberuntime/kuberuntime_manager.go: the first restart comes at once, and so does that
// of a container that ran for long.
func (c *container) restart(pod *corev1.Pod, at time.Time) []containerEvent {
	if c.since.Sub(c.started) > 2*maxBackoff {
		c.backoff = 0
	}
	if c.backoff == 0 {
		return c.start(at)
	}
	c.state = backingOff
	return []containerEvent{{
		container: c.spec.Name, warning: true, reason: "BackOff",
		message: fmt.Sprintf("Back-off restarting failed container %s in pod %s", c.spec.Name, podText(pod)),
	}}
}

// nextBackoff returns the back-off after b: the initial one after 0, then twice as long each time, up to maxBackoff.
func nextBackoff(b time.Duration) time.Duration {
	if b == 0 {
		return initialBackoff
	}
	return min(2*b, maxBackoff)
}

// pull fails to pull the image.
func (c *container) pull(at time.Time) []containerEvent {
	c.state, c.since, c.pullReason = pulling, at, reasonErrImagePull
	c.backoff = nextBackoff(c.backoff)
	return []containerEvent{
		{container: c.spec.Name, reason: "Pulling", message: fmt.Sprintf("Pulling image %q", c.spec.Image)},
		{
			container: c.spec.Name, warning: true, reason: "Failed",
			message: fmt.Sprintf("Failed to pull image %q: %s", c.spec.Image, pullError(c.spec.Image)),
		},
		{container: c.spec.Name, warning: true, reason: "Failed", message: "Error: " + reasonErrImagePull},
	}
}

// retryPull begins the back-off after a failed pull, or pulls again after the back-off.
func (c *container) retryPull(at time.Time) []containerEvent {
	if c.pullReason == reasonImagePullBackOff {
		return c.pull(at)
	}
	c.pullReason = reasonImagePullBackOff
	return []containerEvent{
		{container: c.spec.Name, reason: "BackOff", message: fmt.Sprintf("Back-off pulling image %q", c.spec.Image)},
		{container: c.spec.Name, warning: true, reason: "Failed", message: "Error: " + reasonImagePullBackOff},
	}
}

// pullError returns the error of a container runtime for an image that its registry does not have.
func pullError(image string) string {
	return fmt.Sprintf("rpc error: code = NotFound desc = failed to pull and unpack image %q: "+
		"failed to resolve reference %q: %s: not found",
		image, image, image)
}

// kill ends the container without a restart, with that exit code if it is running.
func (c *container) kill(at time.Time, code int32) {
	c.killed = true
	switch c.state {
	case running:
		c.exit(at, code)
	case backingOff:
		c.state = exited
	}
}

// succeeded reports whether an init container has completed.
func (c *container) succeeded() bool { return c.runsOnce && c.state == exited && c.exitCode == 0 }

// finished reports whether the container has exited and will not be restarted.
func (c *container) finished(pod *corev1.Pod) bool {
	return c.state == exited && c.due(pod, time.Time{}).IsZero()
}

// podText returns the name of a pod in messages. It mirrors Pod of k8s.io/kubernetes/pkg/kubelet/util/format/pod.go.
func podText(pod *corev1.Pod) string {
	return fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID)
}

// status returns the container's status. It mirrors Kubelet.convertToAPIContainerStatuses of
// k8s.io/kubernetes/pkg/kubelet/kubelet_pods.go.
func (c *container) status(pod *corev1.Pod, now time.Time) corev1.ContainerStatus {
	isRunning := c.state == running
	s := corev1.ContainerStatus{
		Name:         c.spec.Name,
		Image:        c.spec.Image,
		RestartCount: c.restarts,
		Started:      &isRunning,
		VolumeMounts: mountStatuses(c.spec.VolumeMounts),
	}
	s.Ready, _ = c.ready(now)
	s.Ready = s.Ready || c.succeeded()
	if c.last != nil {
		s.LastTerminationState.Terminated = c.last.terminated(pod, c.spec.Name)
	}
	switch c.state {
	case created:
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: reasonCreating}
		if len(pod.Spec.InitContainers) > 0 {
			s.State.Waiting.Reason = reasonInitializing
		}
	case pulling:
		s.State.Waiting = c.waitingForImage()
	case running:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: *seconds(c.started)}
	case exited:
		s.State.Terminated = c.lastExit().terminated(pod, c.spec.Name)
	case backingOff:
		s.LastTerminationState.Terminated = c.lastExit().terminated(pod, c.spec.Name)
		s.State.Waiting = &corev1.ContainerStateWaiting{
			Reason: reasonCrashLoopBackOff,
			Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s",
				c.backoff, c.spec.Name, podText(pod)),
		}
	}
	if c.state == running || c.state == exited || c.state == backingOff {
		c.describeRun(pod, &s)
	}
	return s
}

// describeRun sets the fields that a container has only when it was created by the runtime.
func (c *container) describeRun(pod *corev1.Pod, s *corev1.ContainerStatus) {
	s.ImageID = imageID(c.spec.Image)
	s.ContainerID = containerID(pod, c.spec.Name, c.restarts)
	s.Resources = c.spec.Resources.DeepCopy()
	s.AllocatedResources = c.spec.Resources.Requests.DeepCopy()
	if c.spec.Lifecycle != nil {
		s.StopSignal = c.spec.Lifecycle.StopSignal
	}
}

// waitingForImage returns the state of a container whose image cannot be pulled.
func (c *container) waitingForImage() *corev1.ContainerStateWaiting {
	message := pullError(c.spec.Image)
	if c.pullReason == reasonImagePullBackOff {
		message = fmt.Sprintf("Back-off pulling image %q: %s: %s", c.spec.Image, reasonErrImagePull, message)
	}
	return &corev1.ContainerStateWaiting{Reason: c.pullReason, Message: message}
}

// terminated returns the exit as a container state. The reason depends only on the code: none is killed for lack of
// memory.
func (e *exit) terminated(pod *corev1.Pod, name string) *corev1.ContainerStateTerminated {
	reason := "Completed"
	if e.code != 0 {
		reason = "Error"
	}
	return &corev1.ContainerStateTerminated{
		ExitCode:    e.code,
		Reason:      reason,
		StartedAt:   *seconds(e.started),
		FinishedAt:  *seconds(e.finished),
		ContainerID: containerID(pod, name, e.restarts),
	}
}

// mountStatuses returns the statuses of mounts. None is recursively read-only, because nothing is mounted.
func mountStatuses(mounts []corev1.VolumeMount) []corev1.VolumeMountStatus {
	var all []corev1.VolumeMountStatus
	for _, m := range mounts {
		s := corev1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			disabled := corev1.RecursiveReadOnlyDisabled
			s.RecursiveReadOnly = &disabled
		}
		all = append(all, s)
	}
	return all
}

// containerID returns an ID that depends only on the pod, the container and its restarts, so that output is stable.
func containerID(pod *corev1.Pod, name string, restarts int32) string {
	return runtimeName + "://" + digest(fmt.Sprintf("%s/%s/%d", pod.UID, name, restarts))
}

// imageID returns a reference by digest, where the digest is that of the reference itself.
func imageID(image string) string {
	repository, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndex(repository, ":"); colon > strings.LastIndex(repository, "/") {
		repository = repository[:colon]
	}
	return repository + "@sha256:" + digest(image)
}

// digest returns the SHA-256 sum of the text, in hex.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
