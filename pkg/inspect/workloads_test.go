package inspect

import "testing"

func TestDeployment(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"a rolled out one is as its spec asks",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2,
			  readyReplicas: 2, availableReplicas: 2, conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}}`,
			Current, "", "2/2",
		},
		{
			"pods that do not exist yet",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 2}, status: {}}`,
			InProgress, "not seen by its controller yet", "0/2",
		},
		{
			"without replicas the API server would have made it 1",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1}}`,
			InProgress, "0 of 1 updated pods available", "0/1",
		},
		{
			"a rollout under way",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 4, updatedReplicas: 1, readyReplicas: 3, availableReplicas: 3}}`,
			InProgress, "1 of 3 pods updated", "3/3",
		},
		{
			"all are updated, and not all available",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 2, availableReplicas: 2}}`,
			InProgress, "2 of 3 updated pods available", "2/3",
		},
		{
			"the last old pod goes",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 4, updatedReplicas: 3, readyReplicas: 4, availableReplicas: 4}}`,
			InProgress, "1 old pod to remove", "4/3",
		},
		{
			"after a scale down pods go",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 1}, status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3}}`,
			InProgress, "2 pods to remove", "3/1",
		},
		{
			"scaled to nothing is where its spec wants it",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 0}, status: {observedGeneration: 2,
			  conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}}`,
			Current, "scaled to 0", "0/0",
		},
		{
			"a generation that the controller has not seen makes all that it says old",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 4}, spec: {replicas: 2, paused: true}, status: {observedGeneration: 3, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2}}`,
			InProgress, "observed generation is 3, not yet 4", "2/2",
		},
		{
			"its deadline has passed",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 4, updatedReplicas: 1, readyReplicas: 3, availableReplicas: 3,
			  conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}`,
			Failed, "progress deadline exceeded: 1 of 3 pods updated", "3/3",
		},
		{
			"its ReplicaSet may not be made",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 3}, status: {observedGeneration: 2,
			  conditions: [{type: Progressing, status: "False", reason: ReplicaSetCreateError, message: "forbidden by a policy\nand more"}]}}`,
			Failed, "ReplicaSetCreateError: forbidden by a policy", "0/3",
		},
		{
			"paused half way is where its spec wants it",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 3, paused: true}, status: {observedGeneration: 2, replicas: 3, updatedReplicas: 1, readyReplicas: 3, availableReplicas: 3}}`,
			Suspended, "paused, 1 of 3 pods updated", "3/3",
		},
		{
			"paused while pods are missing is not: it is scaled all the same",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 3, paused: true}, status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 1, availableReplicas: 1}}`,
			InProgress, "paused, 1 of 3 pods available", "1/3",
		},
		{
			"nothing is missing but that the controller says so",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 1, progressDeadlineSeconds: 600}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1}}`,
			InProgress, "ReplicaSet not Available", "1/1",
		},
	})
}

func TestReplicaSet(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"an old one of a Deployment",
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 2}, spec: {replicas: 0}, status: {observedGeneration: 2, replicas: 0}}`,
			Current, "scaled to 0", "0/0",
		},
		{
			"its pods go",
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 2}, spec: {replicas: 0}, status: {observedGeneration: 2, replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 2, availableReplicas: 2}}`,
			InProgress, "2 pods to remove", "2/0",
		},
		{
			"pods are made",
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, spec: {replicas: 3}, status: {observedGeneration: 1, replicas: 1}}`,
			InProgress, "1 of 3 pods created", "0/3",
		},
		{
			"pods that are ready for too short a time",
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, spec: {replicas: 2, minReadySeconds: 9}, status: {observedGeneration: 1, replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 2, availableReplicas: 1}}`,
			InProgress, "1 of 2 ready pods available", "2/2",
		},
		{
			"all there",
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 2, availableReplicas: 2}}`,
			Current, "", "2/2",
		},
		{
			"some run, and more are forbidden",
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 1, fullyLabeledReplicas: 1, readyReplicas: 1, availableReplicas: 1,
			  conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: quota}]}}`,
			Degraded, "FailedCreate: quota", "1/2",
		},
		{
			"a pod without a label of the template: kstatus waits for it, and so its words are the reason",
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1}}`,
			InProgress, "Labelled: 0/1", "1/1",
		},
		{
			"a ReplicationController that is done",
			`{apiVersion: v1, kind: ReplicationController, metadata: {generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1}}`,
			Current, "", "1/1",
		},
	})
}

func TestStatefulSet(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"all there",
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, currentReplicas: 2, updatedReplicas: 2,
			  availableReplicas: 2, currentRevision: a, updateRevision: a}}`,
			Current, "", "2/2",
		},
		{
			"one after the other",
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 3}, status: {observedGeneration: 1, replicas: 1, readyReplicas: 1}}`,
			InProgress, "1 of 3 pods created", "1/3",
		},
		{
			"a rolling update",
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}},
			  status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, availableReplicas: 3, currentReplicas: 2, updatedReplicas: 1, currentRevision: a, updateRevision: b}}`,
			InProgress, "1 of 3 pods updated", "3/3",
		},
		{
			"a partition leaves pods as they are",
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}},
			  status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, availableReplicas: 3, currentReplicas: 2, updatedReplicas: 1, currentRevision: a, updateRevision: b}}`,
			Current, "1 of 3 pods updated, the others when its partition is lowered", "3/3",
		},
		{
			"updated by hand, and all pods run: nothing happens until somebody deletes one",
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 2, updateStrategy: {type: OnDelete}},
			  status: {observedGeneration: 2, replicas: 2, readyReplicas: 2, availableReplicas: 2, currentReplicas: 1, updatedReplicas: 1, currentRevision: a, updateRevision: b}}`,
			Current, "1 of 2 pods updated, the others when they are deleted (OnDelete)", "2/2",
		},
		{
			"too many pods",
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 1}, status: {observedGeneration: 2, replicas: 2, readyReplicas: 2, availableReplicas: 2}}`,
			InProgress, "1 pod to remove", "2/1",
		},
		{
			"scaled to nothing",
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 0}, status: {observedGeneration: 2, replicas: 0, availableReplicas: 0}}`,
			Current, "scaled to 0", "0/0",
		},
	})
}

func TestDaemonSet(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"all there",
			`{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, spec: {}, status: {observedGeneration: 1, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 2, numberAvailable: 2}}`,
			Current, "", "2/2",
		},
		{
			"its controller has not looked at it: it counts nothing yet, which is not that it wants nothing",
			`{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, spec: {}, status: {}}`,
			InProgress, "not seen by its controller yet", "0/0",
		},
		{
			"no node is right for it",
			`{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, spec: {}, status: {observedGeneration: 1, desiredNumberScheduled: 0, currentNumberScheduled: 0, numberReady: 0}}`,
			Current, "no node matches", "0/0",
		},
		{
			"a pod of three is not ready",
			`{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, spec: {}, status: {observedGeneration: 1, desiredNumberScheduled: 3, currentNumberScheduled: 3, updatedNumberScheduled: 3, numberReady: 2, numberAvailable: 2}}`,
			InProgress, "2 of 3 pods ready", "2/3",
		},
		{
			"a rollout under way: its progress says more than the pod that it just replaced",
			`{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 2}, spec: {}, status: {observedGeneration: 2, desiredNumberScheduled: 3, currentNumberScheduled: 3, updatedNumberScheduled: 1, numberReady: 2, numberAvailable: 2}}`,
			InProgress, "1 of 3 pods updated", "2/3",
		},
		{
			"a rollout that has not begun",
			`{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 2}, spec: {}, status: {observedGeneration: 2, desiredNumberScheduled: 3, currentNumberScheduled: 3, numberReady: 3, numberAvailable: 3}}`,
			InProgress, "0 of 3 pods updated", "3/3",
		},
	})
}

func TestJobs(t *testing.T) {
	judgeAll(t, []verdict{
		{"just made", `{apiVersion: batch/v1, kind: Job, spec: {completions: 2}, status: {}}`, InProgress, "not started", "0/2"},
		{
			"pods fail, and it continues",
			`{apiVersion: batch/v1, kind: Job, spec: {completions: 2}, status: {startTime: "2026-01-02T03:04:05Z", active: 1, failed: 3}}`,
			InProgress, "0 of 2 completed, 1 active, 3 failed", "0/2",
		},
		{
			"done", `{apiVersion: batch/v1, kind: Job, spec: {completions: 2}, status: {startTime: "2026-01-02T03:04:05Z", succeeded: 2, conditions: [{type: Complete, status: "True"}]}}`,
			Current, "completed", "2/2",
		},
		{
			"done and not gone",
			`{apiVersion: batch/v1, kind: Job, spec: {}, status: {startTime: "2026-01-02T03:04:05Z", succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: "True"}]}}`,
			InProgress, "1 of 1 completed, finishing", "1/1",
		},
		{
			"failed for good",
			`{apiVersion: batch/v1, kind: Job, spec: {}, status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: "Job has reached the specified backoff limit"}]}}`,
			Failed, "BackoffLimitExceeded: Job has reached the specified backoff limit", "0/1",
		},
		{
			"about to have failed",
			`{apiVersion: batch/v1, kind: Job, spec: {}, status: {startTime: "2026-01-02T03:04:05Z", active: 1, conditions: [{type: FailureTarget, status: "True", reason: DeadlineExceeded}]}}`,
			Failed, "DeadlineExceeded: its pods are being removed", "0/1",
		},
		{
			"suspended, and its pods still go",
			`{apiVersion: batch/v1, kind: Job, spec: {suspend: true}, status: {active: 2}}`,
			InProgress, "being suspended, 2 pods to remove", "0/1",
		},
		{"a CronJob with jobs under way", `{apiVersion: batch/v1, kind: CronJob, spec: {}, status: {active: [{name: a}, {name: b}]}}`, Current, "2 jobs active", ""},
		{"a suspended CronJob whose job continues", `{apiVersion: batch/v1, kind: CronJob, spec: {suspend: true}, status: {active: [{name: a}]}}`, Suspended, "suspended, 1 job active", ""},
	})
}
