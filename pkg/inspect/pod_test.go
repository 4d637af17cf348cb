package inspect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPod(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"a pod that runs and is ready needs no reason",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}],
			  containerStatuses: [{name: web, ready: true, started: true, restartCount: 3, state: {running: {}}}]}}`,
			Current, "", "1/1",
		},
		{
			"sidecars are counted, as kubectl counts them; init containers are not",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, initContainers: [{name: migrate}, {name: proxy, restartPolicy: Always}], containers: [{name: web}]},
			  status: {phase: Running, conditions: [{type: Ready, status: "True"}],
			  initContainerStatuses: [{name: migrate, ready: true, state: {terminated: {exitCode: 0, reason: Completed}}},
			    {name: proxy, ready: true, started: true, state: {running: {}}}],
			  containerStatuses: [{name: web, ready: true, started: true, state: {running: {}}}]}}`,
			Current, "", "2/2",
		},
		{
			"what its node cannot give it after a change of its resources",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"},
			  {type: PodResizePending, status: "True", reason: Infeasible, message: "Node didn't have enough capacity: cpu"}],
			  containerStatuses: [{name: web, ready: true, started: true, state: {running: {}}}]}}`,
			InProgress, "PodResizePending Infeasible: Node didn't have enough capacity: cpu", "1/1",
		},
		{
			"a crash loop tells how it ends and how often it began",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}]}, status: {phase: Running, conditions: [{type: Ready, status: "False"}],
			  containerStatuses: [{name: web, restartCount: 5, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]}}`,
			Failed, "CrashLoopBackOff: exit code 1, restarted 5 times", "0/1",
		},
		{
			"OOMKilled is shown in place of the exit code",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}, {name: log}]}, status: {phase: Running,
			  containerStatuses: [{name: web, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}},
			    {name: log, ready: true, state: {running: {}}}]}}`,
			Failed, "CrashLoopBackOff: container web, OOMKilled, restarted once", "1/2",
		},
		{
			"between two starts the container is terminated, and not waiting",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}]}, status: {phase: Running,
			  containerStatuses: [{name: web, restartCount: 2, state: {terminated: {exitCode: 1, reason: Error}}}]}}`,
			Failed, "exit code 1, restarted 2 times", "0/1",
		},
		{
			"one that was killed for its memory, before it starts again",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}]}, status: {phase: Running,
			  containerStatuses: [{name: web, state: {terminated: {exitCode: 137, reason: OOMKilled}}}]}}`,
			Failed, "OOMKilled", "0/1",
		},
		{
			"a crash of a container that runs again is shown while it is not ready",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}]}, status: {phase: Running, conditions: [{type: Ready, status: "False"}],
			  containerStatuses: [{name: web, started: true, restartCount: 2, state: {running: {}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]}}`,
			InProgress, "not ready: exit code 1, restarted 2 times", "0/1",
		},
		{
			"a startup probe comes before a readiness probe",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}, {name: log}]}, status: {phase: Running, conditions: [{type: Ready, status: "False"}],
			  containerStatuses: [{name: log, ready: true, started: true, state: {running: {}}}, {name: web, started: false, state: {running: {}}}]}}`,
			InProgress, "not started: web", "1/2",
		},
		{
			"readiness gates hold up a pod whose containers are ready",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, readinessGates: [{conditionType: example.com/lb}], containers: [{name: web}]},
			  status: {phase: Running, conditions: [{type: Ready, status: "False"}],
			  containerStatuses: [{name: web, ready: true, started: true, state: {running: {}}}]}}`,
			InProgress, "waiting for readiness gate example.com/lb", "1/1",
		},
		{
			"no node fits a pod that was created long ago: only At reads the clock",
			`{apiVersion: v1, kind: Pod, metadata: {creationTimestamp: "2026-01-02T03:04:05Z"}, spec: {containers: [{name: web}]}, status: {phase: Pending, conditions: [
			  {type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available: 3 Insufficient cpu."}]}}`,
			InProgress, "Unschedulable so far: 0/3 nodes are available: 3 Insufficient cpu.", "0/1",
		},
		{
			"one that will only be made is judged alike",
			`{apiVersion: v1, kind: Pod, metadata: {creationTimestamp: "2999-01-02T03:04:05Z"}, spec: {containers: [{name: web}]}, status: {phase: Pending, conditions: [
			  {type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available: 3 Insufficient cpu."}]}}`,
			InProgress, "Unschedulable so far: 0/3 nodes are available: 3 Insufficient cpu.", "0/1",
		},
		{
			"a scheduler that has trouble itself has not said that no node takes the pod",
			`{apiVersion: v1, kind: Pod, spec: {containers: [{name: web}]}, status: {phase: Pending, conditions: [
			  {type: PodScheduled, status: "False", reason: SchedulerError, message: "no answer"}]}}`,
			InProgress, "SchedulerError: no answer", "0/1",
		},
		{
			"a gate that another controller opens is no failure",
			`{apiVersion: v1, kind: Pod, spec: {schedulingGates: [{name: example.com/quota}], containers: [{name: web}]}, status: {phase: Pending, conditions: [
			  {type: PodScheduled, status: "False", reason: SchedulingGated}]}}`,
			InProgress, "SchedulingGated: example.com/quota", "0/1",
		},
		{
			"a pod without a status",
			`{apiVersion: v1, kind: Pod, spec: {containers: [{name: web}]}}`,
			InProgress, "waiting to be scheduled", "0/1",
		},
		{
			"a pod whose init containers run",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, initContainers: [{name: a}, {name: b}], containers: [{name: web}]}, status: {phase: Pending,
			  initContainerStatuses: [{name: a, state: {terminated: {exitCode: 0}}}, {name: b, state: {running: {}}}],
			  containerStatuses: [{name: web, state: {waiting: {reason: PodInitializing}}}]}}`,
			InProgress, "1 of 2 init containers done", "0/1",
		},
		{
			"a pod whose images are pulled",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}]}, status: {phase: Pending,
			  containerStatuses: [{name: web, state: {waiting: {reason: ContainerCreating}}}]}}`,
			InProgress, "starting its containers", "0/1",
		},
		{
			"a sidecar that has not started holds up those after it",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, initContainers: [{name: proxy, restartPolicy: Always}], containers: [{name: web}]}, status: {phase: Pending,
			  initContainerStatuses: [{name: proxy, started: false, state: {running: {}}}]}}`,
			InProgress, "not started: proxy", "0/2",
		},
		{
			"a container that waits is not counted, as kubectl does not, whatever its readiness",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}]}, status: {phase: Running,
			  containerStatuses: [{name: web, ready: true, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}}]}}`,
			Failed, "CrashLoopBackOff: restarted once", "0/1",
		},
		{
			"an evicted pod has no containers that tell why",
			`{apiVersion: v1, kind: Pod, spec: {containers: [{name: web}]}, status: {phase: Failed, reason: Evicted, message: "The node was low on resource: memory."}}`,
			Failed, "Evicted: The node was low on resource: memory.", "0/1",
		},
		{"a pod that failed and tells nothing", `{apiVersion: v1, kind: Pod, spec: {}, status: {phase: Failed}}`, Failed, "failed", "0/0"},
		{"a pod that is done", `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}]}, status: {phase: Succeeded}}`, Current, "completed", "0/1"},
		{
			"a pod on a node that is lost", `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}]}, status: {phase: Unknown, reason: NodeLost}}`,
			Unknown, "NodeLost", "0/1",
		},
		{
			"a pod that is being deleted",
			`{apiVersion: v1, kind: Pod, metadata: {deletionTimestamp: "2026-01-02T03:04:05Z"}, spec: {containers: [{name: a}]}, status: {phase: Running}}`,
			Terminating, "waiting for its containers to stop", "0/1",
		},
		{
			"a finalizer is what holds it once they have",
			`{apiVersion: v1, kind: Pod, metadata: {deletionTimestamp: "2026-01-02T03:04:05Z", finalizers: [example.com/backup, x]}, spec: {}, status: {phase: Failed}}`,
			Terminating, "waiting for finalizer example.com/backup, x", "0/0",
		},
		{
			"a failed debugging container is no failure of the pod",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}], ephemeralContainers: [{name: debug}]}, status: {phase: Running,
			  conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: web, ready: true, state: {running: {}}}],
			  ephemeralContainerStatuses: [{name: debug, state: {terminated: {exitCode: 1}}}]}}`,
			Current, "", "1/1",
		},
		{
			"a generation that its kubelet has not seen does not bring back a pod that failed",
			`{apiVersion: v1, kind: Pod, metadata: {generation: 2}, spec: {}, status: {observedGeneration: 1, phase: Failed, reason: DeadlineExceeded}}`,
			Failed, "DeadlineExceeded", "0/0",
		},
		{
			"statuses that are of another shape leave a doubt",
			`{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: 3}}`,
			Unknown, "status.containerStatuses is the number 3, not a list", "0/1",
		},
	})
}

func TestPodMessage(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, spec: {nodeName: node-1, containers: [{name: web, image: nope}]}, status: {phase: Pending, `
	tests := []struct{ reason, status, want string }{
		{"the scheduler's own words", `conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available."}]`, "0/3 nodes are available."},
		{"the kubelet's own words", `containerStatuses: [{name: web, state: {waiting: {reason: ErrImagePull, message: "not found"}}}]`, "container web: ErrImagePull: not found"},
		{"none but the reason", `containerStatuses: [{name: web, state: {waiting: {reason: ImagePullBackOff}}}]`, "container web: ImagePullBackOff"},
		{"kstatus's where nothing is wrong", `containerStatuses: [{name: web, state: {waiting: {reason: ContainerCreating}}}]`, "Pod is in the Pending phase"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if got := StatusOf(fromYAML(t, pod+tt.status+"}}")); got.Message != tt.want {
				t.Errorf("message %q, want %q", got.Message, tt.want)
			}
		})
	}
}

// TestPodConditions: of a pod that has ended, the phase tells how, and that nothing is ready any more is no news.
func TestPodConditions(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, spec: {containers: [{name: web}]}, status: {phase: %s, conditions: [
	  {type: Ready, status: "False", reason: %[2]s}, {type: ContainersReady, status: "False", reason: %[2]s}, {type: Initialized, status: "False"},
	  {type: PodReadyToStartContainers, status: "False", reason: PodSandboxNotReady}, {type: DisruptionTarget, status: "True"}]}}`
	for _, tt := range []struct{ phase, reason, want string }{
		{"Succeeded", "PodCompleted", "DisruptionTarget Initialized"},
		{"Failed", "PodFailed", "DisruptionTarget Initialized"},
		{"Running", "ContainersNotReady", "ContainersReady DisruptionTarget Initialized PodReadyToStartContainers Ready"},
	} {
		var bad []string
		for _, c := range Inspect(fromYAML(t, fmt.Sprintf(pod, tt.phase, tt.reason)), nil).Conditions {
			if c.Bad {
				bad = append(bad, c.Type)
			}
		}
		if got := strings.Join(bad, " "); got != tt.want {
			t.Errorf("of a pod that is %s, bad are %s; want %s", tt.phase, got, tt.want)
		}
	}
}

func TestContainers(t *testing.T) {
	pod := fromYAML(t, `
apiVersion: v1
kind: Pod
spec:
  initContainers: [{name: migrate, image: m:1}, {name: proxy, image: p:1, restartPolicy: Always}]
  containers: [{name: web, image: w:1}, {name: log, image: l:1}]
  ephemeralContainers: [{name: debug, image: sh}]
status:
  initContainerStatuses:
  - {name: migrate, restartCount: 1, state: {terminated: {exitCode: 0, reason: Completed}}, lastState: {terminated: {exitCode: 2, reason: Error}}}
  - {name: proxy, ready: true, started: true, state: {running: {startedAt: "2026-01-02T03:04:05Z"}}}
  containerStatuses:
  - {name: stray, state: {waiting: {reason: ContainerCreating}}}
  - {name: web, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}
`)
	zero, killed := int64(0), int64(137)
	want := []Container{
		{Name: "migrate", Type: InitContainer, Image: "m:1", State: "terminated", Reason: "Completed", ExitCode: &zero, LastReason: "Error", Restarts: 1},
		{Name: "proxy", Type: SidecarContainer, Image: "p:1", State: "running", Ready: true, Started: true},
		{Name: "web", Type: MainContainer, Image: "w:1", State: "waiting", Reason: "CrashLoopBackOff", Message: "back-off", ExitCode: &killed, LastReason: "OOMKilled", Restarts: 4},
		{Name: "log", Type: MainContainer, Image: "l:1"},
		{Name: "stray", Type: MainContainer, State: "waiting", Reason: "ContainerCreating"},
		{Name: "debug", Type: EphemeralContainer, Image: "sh"},
	}
	if diff := cmp.Diff(want, Containers(pod)); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	if got := Containers(fromYAML(t, `{apiVersion: apps/v1, kind: Deployment, spec: {containers: [{name: x}]}}`)); got != nil {
		t.Errorf("a Deployment has containers: %v", got)
	}
	if got := Containers(nil); got != nil {
		t.Errorf("nothing has containers: %v", got)
	}
}
