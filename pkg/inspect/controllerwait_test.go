package inspect

import "testing"

// TestWaitsForController: an object waits for its controller alone if that has pods to make or to replace, and none has
// to become ready before.
func TestWaitsForController(t *testing.T) {
	for _, row := range []struct {
		reason, object string
		want           bool
	}{
		{"all pods are there", `{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 2}, status: {replicas: 2}}`, false},
		{"pods are missing", `{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 2}, status: {replicas: 1}}`, true},
		{"one is too many",
			`{apiVersion: v1, kind: ReplicationController, spec: {replicas: 1}` +
				`, status: {replicas: 2}}`, true},
		{"no pod is wanted", `{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 0}}`, false},
		{"it is being deleted",
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {replicas: 2}}`, false},

		{"a rollout waits for pods",
			`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3}` +
				`, status: {replicas: 4, updatedReplicas: 1, availableReplicas: 3}}`, false},
		{"a rollout waits for nothing",
			`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3}` +
				`, status: {replicas: 4, updatedReplicas: 1, availableReplicas: 4}}`, true},
		{"it was scaled",
			`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3}` +
				`, status: {replicas: 1, updatedReplicas: 1}}`, true},
		{"it is paused",
			`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, paused: true}` +
				`, status: {replicas: 1}}`, false},
		{"it is as it should be",
			`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3}` +
				`, status: {replicas: 3, updatedReplicas: 3, availableReplicas: 3}}`, false},
		{"its pods are not ready",
			`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3}` +
				`, status: {replicas: 3, updatedReplicas: 3}}`, false},

		{"the next pod",
			`{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 3}` +
				`, status: {replicas: 1, readyReplicas: 1}}`, true},
		{"the pod before is not ready",
			`{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 3}` +
				`, status: {replicas: 1}}`, false},
		{"pods are made at once",
			`{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 3, podManagementPolicy: Parallel}` +
				`, status: {replicas: 1}}`, true},
		{"pods to replace",
			`{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 1}` +
				`, status: {replicas: 1, readyReplicas: 1, currentRevision: a, updateRevision: b}}`, true},
		{"a partition",
			`{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 1, updateStrategy: {rollingUpdate: {partition: 1}}}` +
				`, status: {replicas: 1, readyReplicas: 1, currentRevision: a, updateRevision: b}}`, false},
		{"somebody else deletes pods",
			`{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 1, updateStrategy: {type: OnDelete}}` +
				`, status: {replicas: 1, readyReplicas: 1, currentRevision: a, updateRevision: b}}`, false},

		{"a node has no pod",
			`{apiVersion: apps/v1, kind: DaemonSet` +
				`, status: {desiredNumberScheduled: 2, currentNumberScheduled: 1}}`, true},
		{"a pod is not ready",
			`{apiVersion: apps/v1, kind: DaemonSet` +
				`, status: {desiredNumberScheduled: 2, currentNumberScheduled: 2, numberReady: 1}}`, false},

		{"no pod was ever made", `{apiVersion: batch/v1, kind: Job, spec: {completions: 1}}`, true},
		{"a pod runs", `{apiVersion: batch/v1, kind: Job, spec: {completions: 1}, status: {active: 1}}`, false},
		{"the next one is delayed", `{apiVersion: batch/v1, kind: Job, spec: {completions: 1}, status: {failed: 1}}`, false},
		{"it is suspended", `{apiVersion: batch/v1, kind: Job, spec: {completions: 1, suspend: true}}`, false},

		{"a kind of which nothing is known", `{apiVersion: example.com/v1, kind: Widget, spec: {replicas: 2}}`, false},
		{"values of other types", `{apiVersion: apps/v1, kind: Deployment, spec: 7, status: [1]}`, true},
	} {
		if got := WaitsForController(fromYAML(t, row.object)); got != row.want {
			t.Errorf("%s: %t", row.reason, got)
		}
	}
	if WaitsForController(nil) {
		t.Error("nil waits")
	}
}
