package nodes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// status is the container's part of the pod's status. It mirrors convertToAPIContainerStatuses in pkg/kubelet/kubelet_pods.go.
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
			Reason:  reasonCrashLoopBackOff,
			Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", c.backoff, c.spec.Name, podText(pod)),
		}
	}
	if c.state == running || c.state == exited || c.state == backingOff {
		c.describeRun(pod, &s)
	}
	return s
}

// describeRun fills in what is known of a container only once it was made.
func (c *container) describeRun(pod *corev1.Pod, s *corev1.ContainerStatus) {
	s.ImageID = imageID(c.spec.Image)
	s.ContainerID = containerID(pod, c.spec.Name, c.restarts)
	s.Resources = c.spec.Resources.DeepCopy()
	s.AllocatedResources = c.spec.Resources.Requests.DeepCopy()
	if c.spec.Lifecycle != nil {
		s.StopSignal = c.spec.Lifecycle.StopSignal
	}
}

func (c *container) waitingForImage() *corev1.ContainerStateWaiting {
	message := pullError(c.spec.Image)
	if c.pullReason == reasonImagePullBackOff {
		message = fmt.Sprintf("Back-off pulling image %q: %s: %s", c.spec.Image, reasonErrImagePull, message)
	}
	return &corev1.ContainerStateWaiting{Reason: c.pullReason, Message: message}
}

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

// mountStatuses says of every mount whether it is recursively read-only: nothing is mounted, so none is.
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

// containerID is made of what tells the run apart, so that two runs of a session agree.
func containerID(pod *corev1.Pod, name string, restarts int32) string {
	return runtimeName + "://" + digest(fmt.Sprintf("%s/%s/%d", pod.UID, name, restarts))
}

// imageID looks like a reference by digest; the digest is that of the reference.
func imageID(image string) string {
	repository, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndex(repository, ":"); colon > strings.LastIndex(repository, "/") {
		repository = repository[:colon]
	}
	return repository + "@sha256:" + digest(image)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
