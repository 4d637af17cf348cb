package inspect

import "testing"

// TestChanging: an object that works, and has a condition of its family for being changed, is InProgress.
func TestChanging(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"Cluster API: machines are replaced, and enough of them run",
			`{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment, spec: {}, status: {phase: Running, conditions: [{type: Available, status: "True"},
			  {type: MachinesUpToDate, status: "False", reason: NotUpToDate}, {type: RollingOut, status: "True", reason: RollingOut, message: "Rolling out 1 not up-to-date replicas"}]}}`,
			InProgress, "RollingOut: Rolling out 1 not up-to-date replicas", "",
		},
		{
			"Cluster API: machines that wait to be replaced",
			`{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment, spec: {}, status: {phase: Running, conditions: [{type: Available, status: "True"}, {type: MachinesUpToDate, status: "False"}, {type: RollingOut, status: "False"}]}}`,
			Current, "", "",
		},
		{
			"OpenShift: an operator on its way to another version",
			`{apiVersion: config.openshift.io/v1, kind: ClusterOperator, spec: {}, status: {conditions: [{type: Available, status: "True"}, {type: Degraded, status: "False"},
			  {type: Progressing, status: "True", reason: Rollout, message: "1 of 3 nodes"}]}}`,
			InProgress, "Rollout: 1 of 3 nodes", "",
		},
		{
			"OpenShift: failures come first",
			`{apiVersion: config.openshift.io/v1, kind: ClusterOperator, spec: {}, status: {conditions: [{type: Available, status: "True"}, {type: Degraded, status: "True", reason: NodeDown}, {type: Progressing, status: "True"}]}}`,
			Degraded, "Degraded=True NodeDown", "",
		},
		{
			"a kind that no table knows may mean anything by it",
			`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True"}]}}`,
			Current, "", "",
		},
		{
			"ready by the last spec, and being made so by the next",
			`{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, spec: {}, status: {conditions: [{type: Ready, status: "True"}, {type: Reconciling, status: "True", reason: NewRevision, message: "new upstream revision"}]}}`,
			InProgress, "NewRevision: new upstream revision", "",
		},
		{
			"ready, and kstatus waits for something else: its words are the reason",
			`{apiVersion: example.com/v1, kind: Cache, metadata: {generation: 2}, spec: {}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True"}, {type: Reconciling, status: "True"}]}}`,
			InProgress, "Reconciling=True", "",
		},
	})
}

// TestRunsThatEnd: what was true while they ran is False when they are done.
func TestRunsThatEnd(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"Kubeflow: done",
			`{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {}, status: {conditions: [{type: Created, status: "True"}, {type: Running, status: "False"}, {type: Succeeded, status: "True"}]}}`,
			Current, "", "",
		},
		{
			"Kubeflow: failed",
			`{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {}, status: {conditions: [{type: Running, status: "False"}, {type: Failed, status: "True", reason: BackoffLimit}]}}`,
			Failed, "BackoffLimit", "",
		},
		{
			"of a family that no table has",
			`{apiVersion: example.com/v1, kind: Import, spec: {}, status: {conditions: [{type: Connected, status: "False"}, {type: Complete, status: "True"}]}}`,
			Current, "", "",
		},
		{"Argo: an analysis that is done", `{apiVersion: argoproj.io/v1alpha1, kind: AnalysisRun, spec: {}, status: {phase: Successful}}`, Current, "", ""},
		{"Argo: an analysis without a result", `{apiVersion: argoproj.io/v1alpha1, kind: AnalysisRun, spec: {}, status: {phase: Inconclusive}}`, Degraded, "Inconclusive", ""},
		{"Argo: an experiment runs for a time", `{apiVersion: argoproj.io/v1alpha1, kind: Experiment, spec: {}, status: {phase: Running}}`, InProgress, "Running", ""},
		{"Velero: a backup that was refused", `{apiVersion: velero.io/v1, kind: Backup, spec: {}, status: {phase: FailedValidation}}`, Failed, "FailedValidation", ""},
		{
			"CloudNativePG: a backup has begun, which is not that the last one failed",
			`{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, spec: {}, status: {conditions: [{type: Ready, status: "True"}, {type: LastBackupSucceeded, status: "False", reason: BackupStarted}]}}`,
			Current, "", "",
		},
		{
			"CloudNativePG: the last one failed",
			`{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, spec: {}, status: {conditions: [{type: Ready, status: "True"}, {type: LastBackupSucceeded, status: "False", reason: LastBackupFailed}]}}`,
			Degraded, "LastBackupSucceeded=False LastBackupFailed", "",
		},
	})
}

// TestConditionsThatAreNone: OLM keeps the phases that a ClusterServiceVersion went through in status.conditions.
func TestConditionsThatAreNone(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"installed",
			`{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, spec: {}, status: {phase: Succeeded, reason: InstallSucceeded, conditions: [{phase: Pending, reason: RequirementsUnknown}, {phase: Succeeded, reason: InstallSucceeded}]}}`,
			Current, "", "",
		},
		{
			"being installed",
			`{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, spec: {}, status: {phase: Installing, message: "waiting for deployment", conditions: [{phase: Installing}]}}`,
			InProgress, "Installing: waiting for deployment", "",
		},
		{
			"entries that tell nothing at all leave a doubt",
			`{apiVersion: example.com/v1, kind: Cache, spec: {}, status: {conditions: [{message: hello}]}}`,
			Unknown, "status.conditions[0] has no type", "",
		},
	})
}

// TestSilentKinds: an empty status is normal for kinds whose status is not used.
func TestSilentKinds(t *testing.T) {
	judgeAll(t, []verdict{
		{"KEDA writes who uses the credentials, if anybody does", `{apiVersion: keda.sh/v1alpha1, kind: TriggerAuthentication, spec: {podIdentity: {}}}`, Current, "", ""},
		{"Crossplane writes how many use the account", `{apiVersion: aws.upbound.io/v1beta1, kind: ProviderConfig, spec: {credentials: {}}, status: {}}`, Current, "", ""},
		{"another project's ProviderConfig may have a status", `{apiVersion: example.com/v1, kind: ProviderConfig, spec: {a: b}}`, Unknown, "no status reported", ""},
	})
}

// TestAtRest: an object that is not to run is Suspended, whatever its condition Ready.
func TestAtRest(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"KubeVirt: a machine that a user stopped",
			`{apiVersion: kubevirt.io/v1, kind: VirtualMachine, spec: {runStrategy: Halted}, status: {printableStatus: Stopped, conditions: [{type: Ready, status: "False", reason: VMINotExists}]}}`,
			Suspended, "stopped", "",
		},
		{
			"KubeVirt: stopped by the older field",
			`{apiVersion: kubevirt.io/v1, kind: VirtualMachine, spec: {running: false}, status: {printableStatus: Stopped, conditions: [{type: Ready, status: "False", reason: VMINotExists}, {type: Failure, status: "True", reason: FailedDelete}]}}`,
			Suspended, "stopped, Failure=True FailedDelete", "",
		},
		{
			"KubeVirt: a machine that is still stopping",
			`{apiVersion: kubevirt.io/v1, kind: VirtualMachine, spec: {runStrategy: Halted}, status: {printableStatus: Stopping, conditions: [{type: Ready, status: "False", reason: GuestNotRunning}]}}`,
			InProgress, "GuestNotRunning", "",
		},
		{
			"KubeVirt: a machine that shall run",
			`{apiVersion: kubevirt.io/v1, kind: VirtualMachine, spec: {runStrategy: Always}, status: {printableStatus: Stopped, conditions: [{type: Ready, status: "False", reason: VMINotExists, message: "VMI does not exist"}]}}`,
			InProgress, "VMINotExists: VMI does not exist", "",
		},
	})
}

// TestOutOfSync: health and being in sync are two things to Argo CD.
func TestOutOfSync(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"what is applied is healthy, and the rest waits for a user",
			`{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {}, status: {health: {status: Healthy}, sync: {status: OutOfSync}}}`,
			Current, "OutOfSync", "",
		},
		{"in sync", `{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {}, status: {health: {status: Healthy}, sync: {status: Synced}}}`, Current, "", ""},
		{"what is not healthy comes first", `{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {}, status: {health: {status: Progressing}, sync: {status: OutOfSync}}}`, InProgress, "Progressing", ""},
	})
}

// TestRoutes: the conditions that a gateway sets on a route are nested.
func TestRoutes(t *testing.T) {
	judgeAll(t, []verdict{
		{
			"a route that its gateways serve",
			`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {generation: 1}, spec: {}, status: {parents: [{conditions: [{type: Accepted, status: "True", observedGeneration: 1}]}]}}`,
			Current, "", "",
		},
		{
			"one that one of them refuses",
			`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, spec: {}, status: {parents: [{conditions: [{type: Accepted, status: "True"}]}, {conditions: [{type: Accepted, status: "False", reason: NotAllowedByListeners}]}]}}`,
			Degraded, "parent 2: Accepted=False NotAllowedByListeners", "",
		},
		{
			"a policy",
			`{apiVersion: gateway.networking.k8s.io/v1, kind: BackendTLSPolicy, spec: {}, status: {ancestors: [{conditions: [{type: ResolvedRefs, status: "False", reason: InvalidCACertificateRef}]}]}}`,
			Degraded, "ancestor 1: ResolvedRefs=False InvalidCACertificateRef", "",
		},
		{
			"parents of another shape leave a doubt",
			`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, spec: {}, status: {parents: [5, {conditions: 3}], ancestors: x}}`,
			Unknown, "status.parents[1].conditions is the number 3, not a list", "",
		},
	})
}
