package nodes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// podLife is a pod's life in virtual time, without an API.
type podLife struct {
	pod                   *corev1.Pod
	readyAfter, stopAfter time.Duration
	deleteAt              time.Duration // 0 for never
	until                 time.Duration // 0 for as long as it takes, no longer than a day
}

// lines returns every status that the kubelet would write: time, phase, containers, whether ready.
func (l podLife) lines() []string {
	p, _ := parsePlan(l.pod, time.Second)
	m := newPodState(l.pod, p, l.readyAfter, epoch)
	end := epoch.Add(24 * time.Hour)
	if l.until > 0 {
		end = epoch.Add(l.until)
	}
	var lines []string
	for now := epoch; !now.After(end); {
		if l.deleteAt > 0 && !now.Before(epoch.Add(l.deleteAt)) {
			l.pod.DeletionTimestamp = &metav1.Time{Time: now}
			m.stop(now.Add(l.stopAfter))
		}
		m.advance(l.pod, now)
		l.pod.Status = m.status(l.pod, "", now)
		line := describe(&l.pod.Status)
		if len(lines) == 0 || !strings.HasSuffix(lines[len(lines)-1], " "+line) {
			lines = append(lines, fmt.Sprintf("%v %s", now.Sub(epoch), line))
		}
		next := m.nextChange(l.pod, now)
		if l.deleteAt > 0 && l.pod.DeletionTimestamp == nil && (next.IsZero() || next.After(epoch.Add(l.deleteAt))) {
			next = epoch.Add(l.deleteAt)
		}
		if next.IsZero() {
			break
		}
		now = next
	}
	return lines
}

func describe(s *corev1.PodStatus) string {
	words := []string{string(s.Phase)}
	for _, c := range append(append([]corev1.ContainerStatus(nil), s.InitContainerStatuses...), s.ContainerStatuses...) {
		word := c.Name + ":"
		switch {
		case c.State.Waiting != nil:
			word += c.State.Waiting.Reason
		case c.State.Running != nil:
			word += "running"
		case c.State.Terminated != nil:
			word += fmt.Sprintf("%s(%d)", c.State.Terminated.Reason, c.State.Terminated.ExitCode)
		}
		if c.RestartCount > 0 {
			word += fmt.Sprintf("#%d", c.RestartCount)
		}
		words = append(words, word)
	}
	if podutil.IsPodReadyConditionTrue(*s) {
		words = append(words, "Ready")
	}
	return strings.Join(words, " ")
}

func withInit(names ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, name := range names {
			c := corev1.Container{Name: strings.TrimSuffix(name, "+"), Image: "init"}
			if strings.HasSuffix(name, "+") { // a sidecar
				always := corev1.ContainerRestartPolicyAlways
				c.RestartPolicy = &always
			}
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		}
	}
}

func TestLife(t *testing.T) {
	tests := []struct {
		name   string
		reason string
		life   podLife
		want   []string
	}{{
		name:   "at once",
		reason: "without delay a pod is ready by one status",
		life:   podLife{pod: podOf("p")},
		want:   []string{"0s Running web:running Ready"},
	}, {
		name:   "by phases",
		reason: "half the time goes by before containers run, half before they are ready",
		life:   podLife{pod: podOf("p"), readyAfter: 4 * time.Second},
		want:   []string{"0s Pending web:ContainerCreating", "2s Running web:running", "4s Running web:running Ready"},
	}, {
		name:   "init containers at once",
		reason: "init containers cost no status either",
		life:   podLife{pod: podOf("p", withInit("a", "b"))},
		want:   []string{"0s Running a:Completed(0) b:Completed(0) web:running Ready"},
	}, {
		name:   "init containers by phases",
		reason: "they run one after the other, in the second quarter",
		life:   podLife{pod: podOf("p", withInit("a", "b")), readyAfter: 8 * time.Second},
		want: []string{
			"0s Pending a:PodInitializing b:PodInitializing web:PodInitializing",
			"2s Pending a:running b:PodInitializing web:PodInitializing",
			"3s Pending a:Completed(0) b:running web:PodInitializing",
			"4s Running a:Completed(0) b:Completed(0) web:running",
			"8s Running a:Completed(0) b:Completed(0) web:running Ready",
		},
	}, {
		name:   "sidecar",
		reason: "a sidecar starts before the rest and runs beside it",
		life:   podLife{pod: podOf("p", withInit("proxy+")), readyAfter: 4 * time.Second},
		want: []string{
			"0s Pending proxy:PodInitializing web:PodInitializing",
			"1s Pending proxy:running web:PodInitializing",
			"2s Running proxy:running web:running",
			"4s Running proxy:running web:running Ready",
		},
	}, {
		name:   "job",
		reason: "a pod that is not restarted succeeds after its time",
		life:   podLife{pod: podOf("p", restart(corev1.RestartPolicyNever), annotated(RunForAnnotation, "3s"))},
		want:   []string{"0s Running web:running Ready", "3s Succeeded web:Completed(0)"},
	}, {
		name:   "job with a sidecar",
		reason: "the sidecar does not keep the pod from ending",
		life:   podLife{pod: podOf("p", restart(corev1.RestartPolicyNever), withInit("proxy+"))},
		want:   []string{"0s Running proxy:running web:running Ready", "1s Succeeded proxy:Completed(0) web:Completed(0)"},
	}, {
		name:   "failed job",
		reason: "an exit code makes it fail",
		life:   podLife{pod: podOf("p", restart(corev1.RestartPolicyNever), annotated(ExitCodeAnnotation, "3"))},
		want:   []string{"0s Running web:running Ready", "1s Failed web:Error(3)"},
	}, {
		name:   "on failure, success",
		reason: "success is not repeated",
		life:   podLife{pod: podOf("p", restart(corev1.RestartPolicyOnFailure))},
		want:   []string{"0s Running web:running Ready", "1s Succeeded web:Completed(0)"},
	}, {
		name:   "on failure, failure",
		reason: "failure is repeated, at first at once",
		life: podLife{pod: podOf("p", restart(corev1.RestartPolicyOnFailure), annotated(ExitCodeAnnotation, "3")),
			until: 3 * time.Second},
		want: []string{
			"0s Running web:running Ready", "1s Running web:Error(3)", "2s Running web:running#1 Ready",
			"3s Running web:Error(3)#1",
		},
	}, {
		name:   "crash loop",
		reason: "delays are counted from the exit and double: none, 10s, 20s",
		life:   podLife{pod: podOf("p", annotated(SimulateAnnotation, "crash-loop")), until: 40 * time.Second},
		want: []string{
			"0s Running web:running Ready",
			"1s Running web:Error(1)",
			"2s Running web:running#1 Ready",
			"3s Running web:Error(1)#1",
			"4s Running web:CrashLoopBackOff#1",
			"13s Running web:running#2 Ready",
			"14s Running web:Error(1)#2",
			"15s Running web:CrashLoopBackOff#2",
			"34s Running web:running#3 Ready",
			"35s Running web:Error(1)#3",
			"36s Running web:CrashLoopBackOff#3",
		},
	}, {
		name:   "a long run ends the back-off",
		reason: "what ran for more than ten minutes is restarted at once",
		life: podLife{
			pod: podOf("p", annotated(RunForAnnotation, "11m")), until: 35 * time.Minute,
		},
		want: []string{
			"0s Running web:running Ready",
			"11m0s Running web:Completed(0)",
			"11m1s Running web:running#1 Ready",
			"22m1s Running web:Completed(0)#1",
			"22m2s Running web:running#2 Ready",
			"33m2s Running web:Completed(0)#2",
			"33m3s Running web:running#3 Ready",
		},
	}, {
		name:   "crash of a pod that is not restarted",
		reason: "then it is a failure for good",
		life:   podLife{pod: podOf("p", restart(corev1.RestartPolicyNever), annotated(SimulateAnnotation, "crash-loop"))},
		want:   []string{"0s Running web:running Ready", "1s Failed web:Error(1)"},
	}, {
		name:   "image pull error",
		reason: "pulls are repeated 10s and 20s after the one before",
		life:   podLife{pod: podOf("p", annotated(SimulateAnnotation, "image-pull-error")), until: 31 * time.Second},
		want: []string{
			"0s Pending web:ErrImagePull", "1s Pending web:ImagePullBackOff", "10s Pending web:ErrImagePull",
			"11s Pending web:ImagePullBackOff", "30s Pending web:ErrImagePull", "31s Pending web:ImagePullBackOff",
		},
	}, {
		name:   "never ready",
		reason: "it runs, and that is all",
		life:   podLife{pod: podOf("p", annotated(SimulateAnnotation, "never-ready")), readyAfter: 2 * time.Second},
		want:   []string{"0s Pending web:ContainerCreating", "1s Running web:running"},
	}, {
		name:   "deleted",
		reason: "containers exit with 0 on SIGTERM",
		life:   podLife{pod: podOf("p"), deleteAt: 5 * time.Second, stopAfter: 2 * time.Second},
		want:   []string{"0s Running web:running Ready", "7s Succeeded web:Completed(0)"},
	}, {
		name:   "deleted before it ran",
		reason: "what never ran has failed",
		life:   podLife{pod: podOf("p"), readyAfter: time.Minute, deleteAt: 5 * time.Second},
		want:   []string{"0s Pending web:ContainerCreating", "5s Failed web:ContainerCreating"},
	}, {
		name:   "deleted while initializing",
		reason: "an init container that was stopped is not done",
		life:   podLife{pod: podOf("p", withInit("a")), readyAfter: 8 * time.Second, deleteAt: 3 * time.Second},
		want: []string{
			"0s Pending a:PodInitializing web:PodInitializing", "2s Pending a:running web:PodInitializing",
			"3s Failed a:Error(143) web:PodInitializing",
		},
	}, {
		name:   "deleted while crashing",
		reason: "the last exit is what counts",
		life:   podLife{pod: podOf("p", annotated(SimulateAnnotation, "crash-loop")), deleteAt: 5 * time.Second},
		want: []string{
			"0s Running web:running Ready", "1s Running web:Error(1)", "2s Running web:running#1 Ready",
			"3s Running web:Error(1)#1", "4s Running web:CrashLoopBackOff#1", "5s Failed web:Error(1)#1",
		},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.life.lines()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestLifeGoesOn(t *testing.T) {
	tests := []struct {
		name   string
		reason string
		change []func(*corev1.Pod)
		before time.Duration
		until  time.Duration
		want   []string
	}{{
		name:   "running",
		reason: "a loaded pod runs on and is not started again",
		before: time.Second,
		want:   []string{"0s Running web:running Ready"},
	}, {
		name:   "a job half done",
		reason: "the time that it has run counts",
		change: []func(*corev1.Pod){restart(corev1.RestartPolicyNever), annotated(RunForAnnotation, "10s")},
		before: 4 * time.Second,
		want:   []string{"0s Running web:running Ready", "6s Succeeded web:Completed(0)"},
	}, {
		name:   "in the back-off",
		reason: "restarts and their delay are restored from the status",
		change: []func(*corev1.Pod){annotated(SimulateAnnotation, "crash-loop")},
		before: 16 * time.Second,
		until:  20 * time.Second,
		want: []string{
			"0s Running web:CrashLoopBackOff#2", "18s Running web:running#3 Ready", "19s Running web:Error(1)#3",
			"20s Running web:CrashLoopBackOff#3",
		},
	}, {
		name:   "just exited",
		reason: "an exit in the status is followed by a restart",
		change: []func(*corev1.Pod){annotated(SimulateAnnotation, "crash-loop")},
		before: time.Second,
		until:  time.Second,
		want:   []string{"0s Running web:Error(1)", "1s Running web:running#1 Ready"},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			first := podLife{pod: podOf("p", tt.change...), until: tt.before}
			first.lines()
			// A second kubelet sees the pod later; its times are as if the pod had lived from then on.
			shiftTimes(&first.pod.Status, -tt.before)
			got := podLife{pod: first.pod, until: tt.until}.lines()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// shiftTimes moves all times of the status.
func shiftTimes(s *corev1.PodStatus, by time.Duration) {
	move := func(t *metav1.Time) { t.Time = t.Add(by) }
	move(s.StartTime)
	for i := range s.ContainerStatuses {
		c := &s.ContainerStatuses[i]
		for _, state := range []corev1.ContainerState{c.State, c.LastTerminationState} {
			if state.Running != nil {
				move(&state.Running.StartedAt)
			}
			if state.Terminated != nil {
				move(&state.Terminated.StartedAt)
				move(&state.Terminated.FinishedAt)
			}
		}
	}
}

func TestEventsOfALife(t *testing.T) {
	tests := []struct {
		name    string
		reason  string
		pod     *corev1.Pod
		until   time.Duration
		deleted bool
		want    []string
	}{{
		name: "ready", reason: "as a kubelet reports a start",
		pod: podOf("p", withInit("a")),
		want: []string{
			`initContainers{a} Pulled: Container image "init" already present on machine and can be accessed by the pod`,
			"initContainers{a} Created: Container created",
			"initContainers{a} Started: Container started",
			`containers{web} Pulled: Container image "nginx:1" already present on machine and can be accessed by the pod`,
			"containers{web} Created: Container created",
			"containers{web} Started: Container started",
		},
	}, {
		name: "pull", reason: "an image that is always pulled is pulled",
		pod: podOf("p", func(p *corev1.Pod) { p.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways }),
		want: []string{
			`containers{web} Pulled: Successfully pulled image "nginx:1" in 0s (0s including waiting). Image size: 0 bytes.`,
			"containers{web} Created: Container created",
			"containers{web} Started: Container started",
		},
	}, {
		name: "image pull error", reason: "errors and back-off are warnings, as with a kubelet",
		pod: podOf("p", annotated(SimulateAnnotation, "image-pull-error")), until: 2 * time.Second,
		want: []string{
			`containers{web} Pulling: Pulling image "nginx:1"`,
			`containers{web} Warning Failed: Failed to pull image "nginx:1": ` + pullError("nginx:1"),
			"containers{web} Warning Failed: Error: ErrImagePull",
			`containers{web} BackOff: Back-off pulling image "nginx:1"`,
			"containers{web} Warning Failed: Error: ImagePullBackOff",
		},
	}, {
		name: "deleted", reason: "running containers are stopped",
		pod: podOf("p", withInit("a", "proxy+")), deleted: true,
		want: []string{
			"initContainers{proxy} Killing: Stopping container proxy",
			"containers{web} Killing: Stopping container web",
		},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := parsePlan(tt.pod, time.Second)
			m := newPodState(tt.pod, p, 0, epoch)
			notes := m.advance(tt.pod, epoch.Add(tt.until))
			if tt.deleted {
				notes = append(m.stop(epoch), m.stop(epoch)...)
			}
			var got []string
			for _, n := range notes {
				line := "containers{" + n.container + "} "
				if n.init {
					line = "initC" + line[1:]
				}
				if n.warning {
					line += "Warning "
				}
				got = append(got, line+n.reason+": "+n.message)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}
