package inspect

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// podCausesOf returns the causes of a pod of which the spec, the status and Events are given.
func podCausesOf(t *testing.T, fields string, events ...Event) []Cause {
	t.Helper()
	pod := fromYAML(t, `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, creationTimestamp: "2026-01-01T00:00:00Z"}
`+fields)
	now := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)
	return Causes(pod, Inspect(pod, nil).At(now), Observations{Events: events, Now: now})
}

func causeTypes(causes []Cause) string {
	var out []string
	for _, c := range causes {
		out = append(out, strings.TrimSpace(string(c.Type)+" "+c.Part))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// TestSetupEvents: Events are kept for an hour, so that one about a volume or the sandbox may be of a time before these
// were set up. Messages are those of the kubelet of Kubernetes v1.37.1.
func TestSetupEvents(t *testing.T) {
	mount := Event{
		Type: "Warning", Reason: "FailedMount", Count: 3, By: "kubelet",
		Message: `MountVolume.SetUp failed for volume "tls" : secret "tls" not found`,
	}
	sandbox := Event{
		Type: "Warning", Reason: "FailedCreatePodSandBox", Count: 3, By: "kubelet",
		Message: "Failed to create pod sandbox: rpc error: code = Unknown desc = plugin is not ready",
	}
	const spec = `
spec: {nodeName: node-1, volumes: [{name: tls, secret: {secretName: tls}}], containers: [{name: web, image: "nginx:1"}]}
`
	status := func(ready, waiting string) string {
		return spec + `
status: {phase: Pending, conditions: [{type: PodScheduled, status: "True"}, {type: PodReadyToStartContainers, status: "` + ready + `"}],
  containerStatuses: [{name: web, image: "nginx:1", ready: false, started: false, restartCount: 0, state: {waiting: {` + waiting + `}}}]}
`
	}
	for _, row := range []struct {
		reason, fields string
		event          Event
		want           string
	}{
		{"the volume is waited for", status("False", "reason: ContainerCreating"), mount, "MissingObject volume tls"},
		{"the sandbox is waited for", status("False", "reason: ContainerCreating"), sandbox, "SandboxFailed"},
		{"there is a sandbox, which comes after volumes", status("True", "reason: ContainerCreating"), mount, "PodStarting"},
		{
			"the image is pulled after volumes were mounted, also by kubelets without the condition",
			status("Unknown", `reason: ImagePullBackOff, message: "Back-off pulling image \"nginx:1\""`), mount, "ImagePull container web",
		},
		{
			"a container was configured after volumes were mounted", status("Unknown", `reason: CreateContainerConfigError, message: "secret \"db\" not found"`),
			mount, "MissingObject container web",
		},
	} {
		if got := causeTypes(podCausesOf(t, row.fields, row.event)); got != row.want {
			t.Errorf("%s: %s, want %s", row.reason, got, row.want)
		}
	}
}

// TestKilledContainer: an Event about a container is not about another whose name ends alike.
func TestKilledContainer(t *testing.T) {
	const status = `
spec: {nodeName: node-1, containers: [{name: web, image: "nginx:1"}, {name: my-web, image: "nginx:1"}]}
status: {phase: Running, conditions: [{type: PodScheduled, status: "True"}], containerStatuses: [
  {name: web, image: "nginx:1", ready: false, started: true, restartCount: 3, lastState: {terminated: {reason: Error, exitCode: 1}},
    state: {waiting: {reason: CrashLoopBackOff}}},
  {name: my-web, image: "nginx:1", ready: true, started: true, restartCount: 3, state: {running: {}}}]}
`
	for _, row := range []struct{ reason, message, want string }{
		{"its own", "Container web failed liveness probe, will be restarted", "LivenessProbe container web"},
		{"its own, as it started", "Container web failed startup probe, will be restarted", "StartupProbe container web"},
		{"another's", "Container my-web failed liveness probe, will be restarted", "ContainerExits container web"},
	} {
		event := Event{Type: "Normal", Reason: "Killing", Message: row.message, Count: 1, By: "kubelet"}
		if got := causeTypes(podCausesOf(t, status, event)); got != row.want {
			t.Errorf("%s: %s, want %s", row.reason, got, row.want)
		}
	}
}

// TestKilledInitContainer: the kubelet's words for init containers that keep running.
func TestKilledInitContainer(t *testing.T) {
	event := Event{Type: "Normal", Reason: "Killing", Message: "Init container proxy failed liveness probe", Count: 1, By: "kubelet"}
	causes := podCausesOf(t, `
spec: {nodeName: node-1, initContainers: [{name: proxy, image: "proxy:1", restartPolicy: Always}], containers: [{name: web, image: "nginx:1"}]}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "True"}],
  initContainerStatuses: [{name: proxy, image: "proxy:1", ready: false, started: true, restartCount: 1,
    lastState: {terminated: {reason: Error, exitCode: 137}}, state: {waiting: {reason: CrashLoopBackOff}}}],
  containerStatuses: [{name: web, image: "nginx:1", ready: false, started: false, restartCount: 0, state: {waiting: {reason: PodInitializing}}}]}
`, event)
	if got := causeTypes(causes); got != "LivenessProbe sidecar container proxy" {
		t.Error(got)
	}
}

// TestStartingIsNoCauseForLong: that a pod starts explains a wait of a minute, and hardly one of hours.
func TestStartingIsNoCauseForLong(t *testing.T) {
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: web, creationTimestamp: "2026-01-01T10:00:00Z"}
spec: {nodeName: node-1, containers: [{name: web, image: "nginx:1"}]}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2026-01-01T10:00:00Z"}],
  containerStatuses: [{name: web, image: "nginx:1", state: {waiting: {reason: ContainerCreating}}}]}
`
	obj := fromYAML(t, pod)
	began := obj.GetCreationTimestamp().Time
	for _, row := range []struct {
		after time.Duration
		want  Certainty
	}{
		{10 * time.Second, Certain},
		{5 * time.Minute, Likely}, // an image may be large
		{3 * time.Hour, Possible},
	} {
		causes := Causes(obj, Inspect(obj, nil), Observations{Now: began.Add(row.after)})
		if len(causes) != 1 || causes[0].Type != PodStarting || causes[0].Certainty != row.want {
			t.Errorf("after %s: %+v", row.after, causes)
		}
	}
}

// TestDetailsAreBounded: a detail is for people, whatever a program, a webhook or a controller writes.
func TestDetailsAreBounded(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	exited := podCausesOf(t, `
spec: {nodeName: node-1, containers: [{name: web, image: "nginx:1"}]}
status: {phase: Running, conditions: [{type: PodScheduled, status: "True"}], containerStatuses: [
  {name: web, image: "nginx:1", ready: false, started: true, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}},
    lastState: {terminated: {reason: Error, exitCode: 1, message: "`+long+`"}}}]}
`)
	if len(exited) != 1 || !strings.HasPrefix(exited[0].Detail, "exit code 1: word ") ||
		!strings.HasSuffix(exited[0].Detail, ", restarted 3 times") {
		t.Errorf("what was counted is lost behind what the program has written: %+v", exited)
	}
	for _, row := range []struct {
		reason string
		causes []Cause
	}{
		{"the last words of a container", exited},
		{"why a pod has failed", podCausesOf(t, `status: {phase: Failed, reason: Evicted, message: "`+long+`"}`)},
		{"why a container cannot start", podCausesOf(t, `
spec: {nodeName: node-1, containers: [{name: web, image: "nginx:1"}]}
status: {phase: Pending, containerStatuses: [{name: web, image: "nginx:1", state: {waiting: {reason: CreateContainerError, message: "`+long+`"}}}]}
`)},
		{"why no node fits", podCausesOf(t, `status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", message: "`+long+`"}]}`)},
	} {
		if len(row.causes) != 1 {
			t.Errorf("%s: %+v", row.reason, row.causes)
		}
		for _, c := range row.causes {
			if n := utf8.RuneCountInString(c.Detail); n > maxDetailLength || n < 100 {
				t.Errorf("%s: %d characters", row.reason, n)
			}
		}
	}
}
