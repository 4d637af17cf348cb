package nodes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusAt is the status of a pod that is first seen at epoch.
func statusAt(pod *corev1.Pod, readyAfter, at time.Duration) corev1.PodStatus {
	p, _ := parsePlan(pod, time.Second)
	m := newPodState(pod, p, readyAfter, epoch)
	m.advance(pod, epoch.Add(at))
	return m.status(pod, "172.18.0.2", epoch.Add(at))
}

func TestStatusOfReadyPod(t *testing.T) {
	pod := podOf("web", requesting(corev1.ResourceCPU, "100m"), func(p *corev1.Pod) {
		p.Generation = 2
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "token", MountPath: "/run/token", ReadOnly: true},
			{Name: "data", MountPath: "/data"}}
		p.Status.Phase = corev1.PodPending
		p.Status.NominatedNodeName = "node-9"
		p.Status.Conditions = []corev1.PodCondition{
			{Type: "PodScheduled", Status: "True", LastTransitionTime: metav1.Time{Time: epoch.Add(-time.Minute)}},
			{Type: "example.com/warm", Status: "True"},
		}
	})
	started, disabled, at := true, corev1.RecursiveReadOnlyDisabled, metav1.Time{Time: epoch}
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	condition := func(name corev1.PodConditionType, since metav1.Time) corev1.PodCondition {
		return corev1.PodCondition{Type: name, Status: "True", ObservedGeneration: 2, LastTransitionTime: since}
	}
	want := corev1.PodStatus{
		ObservedGeneration: 2,
		Phase:              corev1.PodRunning,
		NominatedNodeName:  "node-9", // not the kubelet's
		Conditions: []corev1.PodCondition{
			{Type: "example.com/warm", Status: "True"}, // not the kubelet's
			condition("PodReadyToStartContainers", at),
			condition("Initialized", at),
			condition("Ready", at),
			condition("ContainersReady", at),
			condition("PodScheduled", metav1.Time{Time: epoch.Add(-time.Minute)}), // it was true before
		},
		HostIP:    "172.18.0.2",
		HostIPs:   []corev1.HostIP{{IP: "172.18.0.2"}},
		StartTime: &at,
		QOSClass:  corev1.PodQOSBurstable,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name:               "web",
			State:              corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
			Ready:              true,
			Image:              "nginx:1",
			ImageID:            imageID("nginx:1"),
			ContainerID:        containerID(pod, "web", 0),
			Started:            &started,
			AllocatedResources: requests,
			Resources:          &corev1.ResourceRequirements{Requests: requests},
			VolumeMounts: []corev1.VolumeMountStatus{
				{Name: "token", MountPath: "/run/token", ReadOnly: true, RecursiveReadOnly: &disabled},
				{Name: "data", MountPath: "/data"},
			},
		}},
	}
	if diff := cmp.Diff(want, statusAt(pod, 0, 0)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestConditions(t *testing.T) {
	gate := func(conditions ...corev1.PodCondition) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/up"}}
			p.Status.Conditions = conditions
		}
	}
	tests := []struct {
		name       string
		reason     string
		pod        *corev1.Pod
		readyAfter time.Duration
		at         time.Duration
		want       map[corev1.PodConditionType]string // status, reason, message
	}{{
		name: "creating", reason: "before containers run, all but scheduling is open", pod: podOf("p"),
		readyAfter: 4 * time.Second,
		want: map[corev1.PodConditionType]string{
			"PodReadyToStartContainers": "False|PodSandboxNotReady|no pod sandbox exists", "Initialized": "True||",
			"PodScheduled":    "True||",
			"Ready":           "False|ContainersNotReady|containers with unready status: [web]",
			"ContainersReady": "False|ContainersNotReady|containers with unready status: [web]",
		},
	}, {
		name: "initializing", reason: "init containers that are not done are named", pod: podOf("p", withInit("a", "b")),
		readyAfter: 8 * time.Second, at: 3 * time.Second,
		want: map[corev1.PodConditionType]string{
			"PodReadyToStartContainers": "True||", "PodScheduled": "True||",
			"Initialized":     "False|ContainersNotInitialized|containers with incomplete status: [b]",
			"Ready":           "False|ContainersNotReady|containers with unready status: [web]",
			"ContainersReady": "False|ContainersNotReady|containers with unready status: [web]",
		},
	}, {
		name: "sidecar", reason: "a sidecar must be ready too", pod: podOf("p", withInit("proxy+")),
		readyAfter: 8 * time.Second,
		want: map[corev1.PodConditionType]string{
			"PodReadyToStartContainers": "False|PodSandboxNotReady|no pod sandbox exists", "PodScheduled": "True||",
			"Initialized":     "False|ContainersNotInitialized|containers with incomplete status: [proxy]",
			"Ready":           "False|ContainersNotReady|containers with unready status: [proxy web]",
			"ContainersReady": "False|ContainersNotReady|containers with unready status: [proxy web]",
		},
	}, {
		name: "gate missing", reason: "a gate without a condition is not met", pod: podOf("p", gate()),
		want: map[corev1.PodConditionType]string{
			"PodReadyToStartContainers": "True||", "Initialized": "True||", "PodScheduled": "True||",
			"ContainersReady": "True||",
			"Ready":           `False|ReadinessGatesNotReady|corresponding condition of pod readiness gate "example.com/up" does not exist.`,
		},
	}, {
		name: "gate closed", reason: "a gate must be True",
		pod: podOf("p", gate(corev1.PodCondition{Type: "example.com/up", Status: "False"})),
		want: map[corev1.PodConditionType]string{
			"PodReadyToStartContainers": "True||", "Initialized": "True||", "PodScheduled": "True||",
			"ContainersReady": "True||", "example.com/up": "False||",
			"Ready": `False|ReadinessGatesNotReady|the status of pod readiness gate "example.com/up" is not "True", but False`,
		},
	}, {
		name: "gate open", reason: "then the pod is ready",
		pod: podOf("p", gate(corev1.PodCondition{Type: "example.com/up", Status: "True"})),
		want: map[corev1.PodConditionType]string{
			"PodReadyToStartContainers": "True||", "Initialized": "True||", "PodScheduled": "True||",
			"ContainersReady": "True||", "example.com/up": "True||",
			"Ready": "True||",
		},
	}, {
		name: "succeeded", reason: "an ended pod is not ready, and has been initialized",
		pod: podOf("p", restart(corev1.RestartPolicyNever)), at: time.Second,
		want: map[corev1.PodConditionType]string{
			"PodReadyToStartContainers": "False|PodSandboxNotReady|pod sandbox is not ready",
			"Initialized":               "True|PodCompleted|", "PodScheduled": "True||",
			"Ready": "False|PodCompleted|", "ContainersReady": "False|PodCompleted|",
		},
	}, {
		name: "failed", reason: "neither is a failed one",
		pod: podOf("p", restart(corev1.RestartPolicyNever), annotated(ExitCodeAnnotation, "1")), at: time.Second,
		want: map[corev1.PodConditionType]string{
			"PodReadyToStartContainers": "False|PodSandboxNotReady|pod sandbox is not ready", "Initialized": "True||",
			"PodScheduled": "True||",
			"Ready":        "False|PodFailed|", "ContainersReady": "False|PodFailed|",
		},
	}, {
		name: "image", reason: "a pod whose image is missing has a network and nothing else",
		pod: podOf("p", annotated(SimulateAnnotation, "image-pull-error")),
		want: map[corev1.PodConditionType]string{
			"PodReadyToStartContainers": "True||", "Initialized": "True||", "PodScheduled": "True||",
			"Ready":           "False|ContainersNotReady|containers with unready status: [web]",
			"ContainersReady": "False|ContainersNotReady|containers with unready status: [web]",
		},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := map[corev1.PodConditionType]string{}
			for _, c := range statusAt(tt.pod, tt.readyAfter, tt.at).Conditions {
				got[c.Type] = string(c.Status) + "|" + c.Reason + "|" + c.Message
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestWaitingAndTerminated(t *testing.T) {
	crash := func() *corev1.Pod { return podOf("p", annotated(SimulateAnnotation, "crash-loop")) }
	image := func() *corev1.Pod { return podOf("p", annotated(SimulateAnnotation, "image-pull-error")) }
	at := func(d time.Duration) metav1.Time { return metav1.Time{Time: epoch.Add(d)} }
	tests := []struct {
		name        string
		reason      string
		pod         *corev1.Pod
		at          time.Duration
		state, last corev1.ContainerState
	}{{
		name: "error", reason: "an exit has a time and a code", pod: crash(), at: time.Second,
		state: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", StartedAt: at(0), FinishedAt: at(time.Second),
			ContainerID: containerID(podOf("p"), "web", 0),
		}},
	}, {
		name: "restarted", reason: "the exit before stays known", pod: crash(), at: 2 * time.Second,
		state: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(2 * time.Second)}},
		last: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", StartedAt: at(0), FinishedAt: at(time.Second),
			ContainerID: containerID(podOf("p"), "web", 0),
		}},
	}, {
		name: "back-off", reason: "the delay is named, and the exit is the last one", pod: crash(), at: 4 * time.Second,
		state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "CrashLoopBackOff", Message: "back-off 10s restarting failed container=web pod=p_default(uid-of-x)",
		}},
		last: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", StartedAt: at(2 * time.Second), FinishedAt: at(3 * time.Second),
			ContainerID: containerID(podOf("p"), "web", 1),
		}},
	}, {
		name: "pull", reason: "the runtime's error is in the message", pod: image(),
		state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason:  "ErrImagePull",
			Message: `rpc error: code = NotFound desc = failed to pull and unpack image "nginx:1": failed to resolve reference "nginx:1": nginx:1: not found`,
		}},
	}, {
		name: "pull back-off", reason: "so it is while waiting", pod: image(), at: time.Second,
		state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff", Message: `Back-off pulling image "nginx:1": ErrImagePull: ` + pullError("nginx:1"),
		}},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := statusAt(tt.pod, 0, tt.at).ContainerStatuses[0]
			if diff := cmp.Diff(tt.state, c.State); diff != "" {
				t.Errorf("%s: state (-want +got):\n%s", tt.reason, diff)
			}
			if diff := cmp.Diff(tt.last, c.LastTerminationState); diff != "" {
				t.Errorf("%s: last state (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestImageID(t *testing.T) {
	tests := map[string]string{ // by image: the repository in its id
		"nginx":                         "nginx",
		"nginx:1":                       "nginx",
		"example.com:5000/team/nginx":   "example.com:5000/team/nginx",
		"example.com:5000/team/nginx:1": "example.com:5000/team/nginx",
		"nginx:1@sha256:" + digest("x"): "nginx",
	}
	for image, repository := range tests {
		if got, want := imageID(image), repository+"@sha256:"+digest(image); got != want {
			t.Errorf("imageID(%q) = %q, want %q", image, got, want)
		}
	}
}
