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

const batchJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: task}
spec:
  completions: 3
  parallelism: 2
  template:
    metadata: {annotations: {reconcile.example.com/none: "1"}}
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
		reason      string
	}{
		{
			"rollout", []string{"deployment", "replicaset"},
			[]string{web(3, "nginx:1"), web(3, "nginx:2"), web(1, "nginx:2")},
			"creations, a rolling update, and pods that are deleted because there are too many",
		},
		{
			"statefulset", []string{"statefulset"}, []string{set(3, "pg:1"), set(3, "pg:2"), set(1, "pg:2")},
			"pods have names, and are deleted because their revision is old",
		},
		{
			"daemonset", []string{"daemonset"}, []string{agent("a:1"), agent("a:2")},
			"several pods are created at once, and differ",
		},
		{"job", []string{"job"}, []string{batchJob}, "pods are patched, and keys are put off for a second"},
	} {
		for _, traced := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, traced %t", tc.name, traced), func(t *testing.T) {
				t.Parallel()
				recording := record(t, traced, tc.controllers, tc.manifests...)
				var decisions []string
				result, err := Run(within(t), recording, Options{
					Controllers: selected(t, tc.controllers...),
					observe:     func(text string) { decisions = append(decisions, text) },
				})
				if err != nil {
					t.Fatal(err)
				}
				if !result.IsSame() {
					t.Errorf("%s: something differs: %s\n%s", tc.reason, show(t, result), strings.Join(decisions, "\n"))
				}
				if got := result.Counts(); got.Same < result.Effects-got.ByTimer || got.Same == 0 {
					t.Errorf("%s: %d effects, but the counts are %s", tc.reason, result.Effects, show(t, got))
				}
			})
		}
	}
}
