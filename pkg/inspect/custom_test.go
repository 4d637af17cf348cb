package inspect

import "testing"

func TestCustomResources(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"ready, and of this generation",
			`{apiVersion: example.com/v1, kind: Cache, metadata: {generation: 2}, spec: {replicas: 3}, status: {readyReplicas: 3, conditions: [{type: Ready, status: "True", observedGeneration: 2}]}}`,
			Current, "", "3/3",
		},
		{
			"replicas without a count of the ready ones are not counted",
			`{apiVersion: example.com/v1, kind: Cache, spec: {replicas: 3}, status: {conditions: [{type: Ready, status: "True"}]}}`,
			Current, "", "",
		},
		{
			"not ready, with the reason",
			`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [{type: Ready, status: "False", reason: Joining, message: "2 of 3 members have joined"}]}}`,
			InProgress, "Joining: 2 of 3 members have joined", "",
		},
		{
			"not known to be ready, and no words",
			`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [{type: Ready, status: Unknown}]}}`,
			InProgress, "Ready=Unknown", "",
		},
		{
			"ready, and something that is bad by its name",
			`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [{type: Ready, status: "True"}, {type: BackupFailed, status: "True", reason: NoSpace}]}}`,
			Degraded, "BackupFailed=True NoSpace", "",
		},
		{
			"ready, and something unheard of is False: it may well be good so",
			`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [{type: Ready, status: "True"}, {type: Tls, status: "False"}]}}`,
			Current, "", "",
		},
		{
			"without a condition that sums up, what is False is taken for bad",
			`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [{type: Tls, status: "False", reason: SwitchedOff}]}}`,
			Degraded, "Tls=False SwitchedOff", "",
		},
		{
			"available of an older generation",
			`{apiVersion: example.com/v1, kind: Cache, metadata: {generation: 3}, spec: {}, status: {observedGeneration: 3, conditions: [{type: Available, status: "True", observedGeneration: 2}]}}`,
			InProgress, "Available=True is of generation 2, not 3", "",
		},
		{
			"the convention of kstatus: on its way",
			`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [{type: Reconciling, status: "True", reason: Resharding, message: "moving 3 shards"}]}}`,
			InProgress, "Resharding: moving 3 shards", "",
		},
		{
			"the convention of kstatus: stuck",
			`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [{type: Stalled, status: "True", reason: BadSpec}, {type: Ready, status: "False"}]}}`,
			Failed, "BadSpec", "",
		},
		{"an empty status that no controller has filled in", `{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {}}`, Unknown, "no status reported", ""},
		{"without a spec nothing is requested", `{apiVersion: example.com/v1, kind: CacheSettings, data: {}}`, Current, "", ""},
		{"kinds are known that have no status", `{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, spec: {groups: []}}`, Current, "", ""},
		{"kinds beside them have one", `{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, spec: {}}`, Unknown, "no status reported", ""},
		{
			"conditions that are of another shape leave a doubt",
			`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: {Ready: "True"}}}`,
			Unknown, "status.conditions is a map, not a list", "",
		},
		{
			"unless what can be read is bad enough",
			`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [5, {type: Ready, status: "False", reason: Down}]}}`,
			InProgress, "Down", "",
		},
		{"a status that is a word", `{apiVersion: example.com/v1, kind: Cache, spec: {}, status: fine}`, Unknown, `status is the text "fine", not a map`, ""},
		{
			"a status that is written as a boolean is understood",
			`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [{type: Ready, status: true}]}}`,
			Current, "", "",
		},
		{
			"a deletion that nothing holds up",
			`{apiVersion: example.com/v1, kind: Cache, metadata: {deletionTimestamp: "2026-01-02T03:04:05Z"}, spec: {}}`, Terminating, "being deleted", "",
		},
	})
}

func TestFamilies(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"Flux: suspended",
			`{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, spec: {suspend: true}, status: {conditions: [{type: Ready, status: "True"}]}}`,
			Suspended, "suspended", "",
		},
		{
			"Flux: suspended in trouble",
			`{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, spec: {suspend: true}, status: {conditions: [{type: Ready, status: "False", reason: BuildFailed}]}}`,
			Suspended, "suspended, Ready=False BuildFailed", "",
		},
		{
			"Flux: the source could not be fetched, the last one still serves",
			`{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, spec: {}, status: {conditions: [{type: FetchFailed, status: "True", reason: GitOperationFailed}, {type: ArtifactInStorage, status: "True"}]}}`,
			Degraded, "FetchFailed=True GitOperationFailed", "",
		},
		{
			"Cluster API: paused by an annotation",
			`{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {annotations: {cluster.x-k8s.io/paused: ""}}, spec: {}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`,
			Suspended, "paused", "",
		},
		{
			"Cluster API: that nothing is rolled out, or deleted, is good",
			`{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, spec: {}, status: {phase: Provisioned, conditions: [{type: Available, status: "True"}, {type: RollingOut, status: "False"}, {type: Deleting, status: "False"}, {type: Paused, status: "False"}]}}`,
			Current, "", "",
		},
		{
			"Cluster API: a severity tells that False is meant",
			`{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, spec: {}, status: {phase: Provisioned, conditions: [{type: Ready, status: "True"}, {type: WorkersAvailable, status: "False", severity: Info, reason: Waiting}]}}`,
			Current, "", "",
		},
		{
			"Crossplane: ready, but the last change could not be made",
			`{apiVersion: s3.aws.upbound.io/v1beta1, kind: Bucket, spec: {}, status: {conditions: [{type: Ready, status: "True"}, {type: Synced, status: "False", reason: ReconcileError, message: denied}]}}`,
			Degraded, "Synced=False ReconcileError", "",
		},
		{
			"Crossplane: paused",
			`{apiVersion: s3.aws.upbound.io/v1beta1, kind: Bucket, metadata: {annotations: {crossplane.io/paused: "true"}}, spec: {}, status: {conditions: [{type: Ready, status: "True"}]}}`,
			Suspended, "paused", "",
		},
		{
			"Crossplane: not paused",
			`{apiVersion: s3.aws.upbound.io/v1beta1, kind: Bucket, metadata: {annotations: {crossplane.io/paused: "false"}}, spec: {}, status: {conditions: [{type: Ready, status: "True"}]}}`,
			Current, "", "",
		},
		{
			"Knative: a revision at rest is not active",
			`{apiVersion: serving.knative.dev/v1, kind: Revision, spec: {}, status: {conditions: [{type: Ready, status: "True"}, {type: Active, status: "False", reason: NoTraffic, severity: Info}]}}`,
			Current, "", "",
		},
		{
			"cert-manager: issuing is no trouble",
			`{apiVersion: cert-manager.io/v1, kind: Certificate, spec: {}, status: {conditions: [{type: Ready, status: "False", reason: DoesNotExist, message: "Issuing certificate as Secret does not exist"}, {type: Issuing, status: "True"}]}}`,
			InProgress, "DoesNotExist: Issuing certificate as Secret does not exist", "",
		},
		{
			"cert-manager: a request that was denied",
			`{apiVersion: cert-manager.io/v1, kind: CertificateRequest, spec: {}, status: {conditions: [{type: Denied, status: "True", reason: Policy}]}}`,
			Degraded, "Denied=True Policy", "",
		},
		{
			"Argo: a healthy application with a warning, which has no status",
			`{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {}, status: {health: {status: Healthy}, conditions: [{type: OrphanedResourceWarning, message: "2 orphaned resources"}]}}`,
			Degraded, "OrphanedResourceWarning=True", "",
		},
		{"Argo: a workflow that runs is on its way", `{apiVersion: argoproj.io/v1alpha1, kind: Workflow, spec: {}, status: {phase: Running}}`, InProgress, "Running", ""},
		{"Argo: a workflow that failed", `{apiVersion: argoproj.io/v1alpha1, kind: Workflow, spec: {}, status: {phase: Failed, message: "child failed"}}`, Failed, "Failed: child failed", ""},
		{
			"Argo: a rollout on its way is not healthy yet",
			`{apiVersion: argoproj.io/v1alpha1, kind: Rollout, spec: {replicas: 2}, status: {phase: Progressing, message: more replicas need to be updated, availableReplicas: 1, conditions: [{type: Healthy, status: "False"}, {type: Completed, status: "False"}]}}`,
			InProgress, "Progressing: more replicas need to be updated", "1/2",
		},
		{"Tekton: a run", `{apiVersion: tekton.dev/v1, kind: PipelineRun, spec: {}, status: {conditions: [{type: Succeeded, status: Unknown, reason: Running}]}}`, InProgress, "Running", ""},
		{"Tekton: a run that failed", `{apiVersion: tekton.dev/v1, kind: PipelineRun, spec: {}, status: {conditions: [{type: Succeeded, status: "False", reason: CouldntGetTask}]}}`, Failed, "CouldntGetTask", ""},
		{"Tekton: a run that is done", `{apiVersion: tekton.dev/v1, kind: PipelineRun, spec: {}, status: {conditions: [{type: Succeeded, status: "True"}]}}`, Current, "", ""},
		{
			"OpenShift: an operator that may not be upgraded is no worse for it",
			`{apiVersion: config.openshift.io/v1, kind: ClusterOperator, spec: {}, status: {conditions: [{type: Available, status: "True"}, {type: Degraded, status: "False"}, {type: Progressing, status: "False"}, {type: Upgradeable, status: "False"}]}}`,
			Current, "", "",
		},
		{"an unknown phase: the conditions decide", `{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {phase: Blue}}`, Current, "", ""},
	})
}

// TestOmittedCounts: controllers leave out counts that are 0.
func TestOmittedCounts(t *testing.T) {
	const cache, cloneSet = `{apiVersion: example.com/v1, kind: Cache, metadata: {generation: 2}, spec: {replicas: 3}, status: {observedGeneration: 2, `,
		`{apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, metadata: {generation: 2}, spec: {replicas: 3, updateStrategy: `
	judgeAll(t, []verdict{
		{"no replica is ready", cache + `replicas: 3, updatedReplicas: 3}}`, InProgress, "0 of 3 replicas ready", "0/3"},
		{"nor was one made", cache + `updatedReplicas: 0}}`, InProgress, "0 of 3 replicas ready", "0/3"},
		{"only those that are not available are counted", cache + `replicas: 3, unavailableReplicas: 2}}`, InProgress, "1 of 3 replicas ready", "1/3"},
		{"all are available", cache + `replicas: 3, availableReplicas: 3}}`, Current, "", "3/3"},
		{"replicas alone", cache + `replicas: 3}}`, InProgress, "0 of 3 replicas ready", "0/3"},
		{"what the subresource scale needs counts nothing that is ready", cache + `replicas: 3, selector: "a=b"}}`, Current, "", ""},
		{"a condition knows better", cache + `replicas: 3, updatedReplicas: 3, conditions: [{type: Ready, status: "True"}]}}`, Current, "", "0/3"},
		{"scaled to 0", `{apiVersion: example.com/v1, kind: Cache, spec: {replicas: 0}, status: {replicas: 0, updatedReplicas: 0}}`, Current, "", "0/0"},
		{
			"one for each node",
			`{apiVersion: example.com/v1, kind: Agent, spec: {}, status: {desiredNumberScheduled: 3, currentNumberScheduled: 3, updatedNumberScheduled: 3}}`,
			InProgress, "0 of 3 pods ready", "",
		},
		{
			"parts that are counted each",
			`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {shards: [{name: a, replicas: 1, readyReplicas: 1}, {name: b, replicas: 2, updatedReplicas: 2}]}}`,
			InProgress, "b: 0 of 2 replicas ready", "",
		},
		{"a check takes the count for a pause", cloneSet + `{type: ReCreate}}, status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3}}`, InProgress, "0 of 3 replicas ready", "0/3"},
		{
			"so it does with counts of 0", cloneSet + `{type: ReCreate}}, status: {observedGeneration: 2, replicas: 3, readyReplicas: 0, updatedReplicas: 3, expectedUpdatedReplicas: 3}}`,
			InProgress, "0 of 3 replicas ready", "0/3",
		},
		{"and in an update that goes on", cloneSet + `{}}, status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, updatedReplicas: 1}}`, InProgress, "1 of 3 replicas updated", "3/3"},
		{
			"one that is to keep old replicas rests", cloneSet + `{partition: 2}}, status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, updatedReplicas: 1, updatedAvailableReplicas: 1, expectedUpdatedReplicas: 1}}`,
			Suspended, "Cloneset needs manual intervention", "3/3",
		},
		{
			"one that is paused rests", cloneSet + `{paused: true}}, status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, updatedReplicas: 1, updatedAvailableReplicas: 1}}`,
			Suspended, "Cloneset is paused", "3/3",
		},
	})
}
