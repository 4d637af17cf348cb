package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/imports"
)

func web(replicas int, image string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: %q}]}
`, replicas, image)
}

func set(replicas int, image string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: %d
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: %q}]}
`, replicas, image)
}

func agent(image string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: %q}]}
`, image)
}

// claiming is a StatefulSet whose pods have claims, to which admission adds a class and a finalizer.
const claiming = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: "pg:1", volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// podQuota allows no pods, as no controller says how many are used.
const podQuota = `
apiVersion: v1
kind: ResourceQuota
metadata: {name: pods}
spec: {hard: {pods: 2}}
`

// batchJob has pods that end as often as the controller looks, which puts the key off for a second at each event of a
// pod: so it may look after the end of one pod and before that of the other.
const batchJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: task}
spec:
  completions: 3
  parallelism: 2
  template:
    metadata: {annotations: {kubectl-reconcile.github.io/run-for: 1s}}
    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
`

// scaled has the pods of web, which use half of what they request, use twice of what is wanted.
const scaled = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 25}}}]
`

// measured is web with a request of CPU.
var measured = strings.Replace(web(1, "nginx:1"), "image:", "resources: {requests: {cpu: 100m}}, image:", 1)

// surging is a DaemonSet whose new pods are made beside the old ones, on one node at a time.
func surging(image string) string {
	return agent(image) + "  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}\n"
}

// slow is a Deployment whose pods count when they have been ready for some seconds.
func slow(image string) string { return web(2, image) + "  minReadySeconds: 2\n" }

func show(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSame(t *testing.T) {
	for _, tc := range []struct {
		name        string
		controllers []string
		manifests   []string
		reason      string
		tracedOnly  bool
	}{
		{
			"rollout", []string{"deployment", "replicaset"},
			[]string{web(3, "nginx:1"), web(3, "nginx:2"), web(1, "nginx:2")},
			"creations, a rolling update, and pods that are deleted because there are too many", false,
		},
		{
			"statefulset", []string{"statefulset"}, []string{set(3, "pg:1"), set(3, "pg:2"), set(1, "pg:2")},
			"pods have names, and are deleted because their revision is old", false,
		},
		{
			"daemonset", []string{"daemonset"}, []string{agent("a:1"), agent("a:2")},
			"several pods are created at once, and differ", false,
		},
		{
			"surge", []string{"daemonset"}, []string{surging("a:1"), surging("a:2")},
			"on which node the next pod is made is left to chance", false,
		},
		{
			"min ready", []string{"deployment", "replicaset"}, []string{slow("nginx:1"), slow("nginx:2")},
			"timers end at times that are reckoned from those in objects", false,
		},
		{
			"job", []string{"job"}, []string{batchJob},
			"pods are patched, and keys are put off for a second, which may end beside an event", false,
		},
		{
			"claims", []string{"statefulset"}, []string{claiming},
			"admission has added a class and a finalizer to claims", false,
		},
		{
			"quota", []string{"deployment", "replicaset"}, []string{podQuota, web(2, "nginx:1"), web(3, "nginx:1")},
			"pods are refused, again and again, which the trace has", true,
		},
		{
			"namespace", []string{"namespace"}, []string{
				"{apiVersion: v1, kind: Namespace, metadata: {name: doomed}}",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: doomed}}", "delete namespace doomed",
			},
			"all objects of a kind are deleted at once, and the last update ends a deletion", true,
		},
		{
			"autoscaler", []string{"horizontalpodautoscaling"}, []string{measured, scaled},
			"what simulated pods use is measured, and the target is of a kind that the controller does not watch", false,
		},
	} {
		for _, traced := range []bool{true, false} {
			if tc.tracedOnly && !traced {
				continue
			}
			t.Run(fmt.Sprintf("%s, traced %t", tc.name, traced), func(t *testing.T) {
				t.Parallel()
				if problem := compareSession(t, traced, tc.controllers, tc.manifests); problem != "" {
					t.Errorf("%s: %s", tc.reason, problem)
				}
			})
		}
	}
}

// TestAuditLog: the log of a real control plane says who wrote, and so which controller deleted what of a namespace.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../../replay/imports/testdata/audit-shop.input")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	source, err := imports.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	recording := &replay.Memory{Head: source.Header()}
	for {
		r, err := source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		recording.Append(r)
	}
	compared := []string{"deployment", "job", "namespace", "replicaset"}
	loaded, err := load(t.Context(), recording, replay.Moment{Start: true}, wantedBy(selected(t, compared...)))
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.attribute(loaded.controllersOf(compared)); err != nil {
		t.Fatal(err)
	}
	effects := map[string]int{}
	for _, ev := range loaded.events {
		if ev.effect != nil {
			effects[ev.effect.controller]++
		}
	}
	if diff := cmp.Diff(map[string]int{"deployment": 18, "job": 6, "namespace": 4, "replicaset": 19}, effects); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if problem := compareAgain(t, recording, compared); problem != "" {
		t.Error(problem)
	}
}

// The machine of a test may be so busy that a run falls behind the recorded times: it is made again then.
const (
	maxBehind = 300 * time.Millisecond
	maxRuns   = 5
)

// compareSession records a session with the controllers and runs them on the recording. It returns what is not the
// same.
func compareSession(t *testing.T, traced bool, controllers, manifests []string) string {
	t.Helper()
	return compareAgain(t, record(t, traced, controllers, manifests...), controllers)
}

// compareAgain runs controllers on a recording, until a run is not behind. It returns what is not the same.
func compareAgain(t *testing.T, recording replay.Recording, controllers []string) string {
	t.Helper()
	for range maxRuns - 1 {
		problem, behind := compareRecording(t, recording, controllers)
		if problem == "" || behind < maxBehind {
			return problem
		}
		t.Logf("made again, as it was %s behind", behind)
	}
	problem, _ := compareRecording(t, recording, controllers)
	return problem
}

// compareRecording runs controllers on a recording. It returns what is not the same, and how late the run was.
func compareRecording(t *testing.T, recording replay.Recording, controllers []string) (string, time.Duration) {
	t.Helper()
	var decisions []string
	result, err := Run(within(t), recording, Options{
		Controllers: selected(t, controllers...),
		observe:     func(text string) { decisions = append(decisions, text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	got := result.Counts()
	if result.IsSame() && got.Same >= result.Effects && got.Same > 0 {
		return "", 0
	}
	return fmt.Sprintf("%d effects, but the counts are %s, %s behind: %s\n%s", result.Effects, show(t, got),
		result.Behind, show(t, result.Keys), strings.Join(decisions, "\n")), time.Duration(result.Behind)
}
