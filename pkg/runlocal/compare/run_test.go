package compare

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
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

// batchJob has pods that end between two looks of the controller, which puts the key off for a second at each event of a
// pod. If they ended after a second too, as they do by default, the recorded controller could look after the end of one
// pod and before that of the other, at a moment that a run on the recording need not look at.
const batchJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: task}
spec:
  completions: 3
  parallelism: 2
  template:
    metadata: {annotations: {kubectl-reconcile.github.io/run-for: 1.5s}}
    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
`

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
		// recordings is how many are made until one comes out the same.
		recordings int
		reason     string
	}{
		{
			"rollout", []string{"deployment", "replicaset"},
			[]string{web(3, "nginx:1"), web(3, "nginx:2"), web(1, "nginx:2")}, 1,
			"creations, a rolling update, and pods that are deleted because there are too many",
		},
		{
			"statefulset", []string{"statefulset"}, []string{set(3, "pg:1"), set(3, "pg:2"), set(1, "pg:2")}, 1,
			"pods have names, and are deleted because their revision is old",
		},
		{
			"daemonset", []string{"daemonset"}, []string{agent("a:1"), agent("a:2")}, 1,
			"several pods are created at once, and differ",
		},
		{
			"job", []string{"job"}, []string{batchJob}, 3,
			"pods are patched, and keys are put off for a second: on a slow machine that may end beside an event",
		},
	} {
		for _, traced := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, traced %t", tc.name, traced), func(t *testing.T) {
				t.Parallel()
				var problem string
				for range tc.recordings {
					if problem = compareSession(t, traced, tc.controllers, tc.manifests); problem == "" {
						return
					}
				}
				t.Errorf("%s: %s", tc.reason, problem)
			})
		}
	}
}

// compareSession records a session with the controllers and runs them on the recording. It returns what is not the
// same.
func compareSession(t *testing.T, traced bool, controllers, manifests []string) string {
	t.Helper()
	recording := record(t, traced, controllers, manifests...)
	var decisions []string
	result, err := Run(within(t), recording, Options{
		Controllers: selected(t, controllers...),
		observe:     func(text string) { decisions = append(decisions, text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	got := result.Counts()
	if result.IsSame() && got.Same >= result.Effects-got.ByTimer && got.Same > 0 {
		return ""
	}
	return fmt.Sprintf("%d effects, but the counts are %s: %s\n%s", result.Effects, show(t, got), show(t, result.Keys),
		strings.Join(decisions, "\n"))
}
