package inspect

import (
	"testing"
)

// TestPolaritiesOfFamilies has a row for what the name alone would tell wrongly, or not for sure: none may be guessed.
func TestPolaritiesOfFamilies(t *testing.T) {
	tests := []struct {
		reason, group, kind, condition string
		want                           Polarity
	}{
		{"False means that all pods were recreated", "apps", "StatefulSet", "Progressing", Neutral},
		{"node-problem-detector: without a word that is bad", "", "Node", "FrequentKubeletRestart", Negative},
		{"node-problem-detector: a file system that was shut down", "", "Node", "XfsShutdown", Negative},
		{"an eviction that failed", "lifecycle.k8s.io", "EvictionRequest", "Failed", Negative},
		{"an eviction that is not done yet", "lifecycle.k8s.io", "EvictionRequest", "TargetEvicted", Neutral},
		{"a request under way", "resource.k8s.io", "ResourcePoolStatusRequest", "Complete", Neutral},
		{"pods that are scheduled together", "scheduling.k8s.io", "PodGroup", "PodGroupInitiallyScheduled", Positive},
		{"and are about to go", "scheduling.k8s.io", "PodGroup", "DisruptionTarget", Negative},

		{"Argo: a rollout is progressing as a Deployment is", "argoproj.io", "Rollout", "Progressing", Positive},
		{"Argo: an experiment that is over is not running", "argoproj.io", "Experiment", "Running", Neutral},
		{"Argo: an experiment is progressing as a Deployment is", "argoproj.io", "Experiment", "Progressing", Positive},
		{"Argo: a workflow that could not be submitted", "argoproj.io", "CronWorkflow", "SubmissionError", Negative},
		{"Argo: conditions of an application are there only if they are bad", "argoproj.io", "Application", "SharedResourceWarning", Negative},
		{"Argo: a rollout of applications", "argoproj.io", "ApplicationSet", "RolloutProgressing", Neutral},
		{"Argo: and how it shall go", "argoproj.io", "ApplicationSet", "InvalidRolloutConfig", Negative},
		{"Argo: a bus of events", "argoproj.io", "EventBus", "Configured", Positive},
		{"ACK: an error that only a new spec mends", "s3.services.k8s.aws", "Bucket", "ACK.Terminal", Negative},
		{"ACK: an error that may pass", "s3.services.k8s.aws", "Bucket", "ACK.Recoverable", Negative},
		{"ACK: in sync, or being brought there", "s3.services.k8s.aws", "Bucket", "ACK.ResourceSynced", Neutral},
		{"ACK: False is under way", "s3.services.k8s.aws", "Bucket", "ACK.LateInitialized", Neutral},
		{"trust-manager: a bundle of the older kind", "trust.cert-manager.io", "Bundle", "Deprecated", Neutral},
		{"trust-manager: one that is still to be moved", "trust.cert-manager.io", "Bundle", "Migrated", Neutral},
		{"trust-manager: copied to all namespaces", "trust.cert-manager.io", "Bundle", "Synced", Positive},
		{"CloudNativePG: archives", "postgresql.cnpg.io", "Cluster", "ContinuousArchiving", Positive},
		{"Cluster API: machines to replace", "cluster.x-k8s.io", "MachineDeployment", "MachinesUpToDate", Neutral},
		{"Cluster API: a machine to replace", "cluster.x-k8s.io", "Machine", "UpToDate", Neutral},
		{"Cluster API: machines of the control plane to replace", "cluster.x-k8s.io", "Cluster", "ControlPlaneMachinesUpToDate", Neutral},
		{"Cluster API: a budget for remediation that is spent", "cluster.x-k8s.io", "MachineHealthCheck", "RemediationAllowed", Positive},
		{"Cluster API: a pod of the control plane", "controlplane.cluster.x-k8s.io", "KubeadmControlPlane", "ControlPlaneComponentsHealthy", Positive},
		{"Cluster API: resources of an add-on", "addons.cluster.x-k8s.io", "ClusterResourceSetBinding", "ResourcesApplied", Positive},
		{"OpenShift: Updating shows what is not up to date", "machineconfiguration.openshift.io", "MachineConfigPool", "Updated", Neutral},
		{"OpenShift: a pool that does not get on", "machineconfiguration.openshift.io", "MachineConfigPool", "RenderDegraded", Negative},
		{"OpenShift: another controller manages its records", "operator.openshift.io", "IngressController", "DNSManaged", Neutral},
		{"OpenShift: its records", "operator.openshift.io", "IngressController", "DNSReady", Positive},
		{"OpenShift: an upgrade that waits for an administrator", "config.openshift.io", "ClusterVersion", "UpgradeableAdminAckRequired", Neutral},
		{"Crossplane: at rest until it is used", "pkg.crossplane.io", "ProviderRevision", "RuntimeActive", Neutral},
		{"Crossplane: watching may be paused", "ops.crossplane.io", "WatchOperation", "Watching", Neutral},
		{"Crossplane: a provider's revision", "pkg.crossplane.io", "Provider", "RevisionHealthy", Positive},
		{"Crossplane: the remote resource", "s3.aws.upbound.io", "Bucket", "UpToDate", Positive},
		{"Crossplane: False is under way", "s3.aws.upbound.io", "Bucket", "AsyncOperation", Neutral},
		{"Crossplane: signatures", "pkg.crossplane.io", "ConfigurationRevision", "Verified", Positive},
		{"Crossplane: a lock of packages", "pkg.crossplane.io", "Lock", "Resolved", Positive},
		{"Flux: a release that was changed by hand", "helm.toolkit.fluxcd.io", "HelmRelease", "Drifted", Negative},
		{"Gateway API: a warning about an explicit choice", "gateway.networking.k8s.io", "Gateway", "InsecureFrontendValidationMode", Neutral},
		{"Gateway API: definitions of this version", "gateway.networking.k8s.io", "GatewayClass", "SupportedVersion", Positive},
		{"Gateway API: a listener left out", "gateway.networking.k8s.io", "Gateway", "Detached", Negative},
		{"Karpenter: nodes that never join", "karpenter.sh", "NodePool", "NodeRegistrationHealthy", Positive},
		{"Karpenter: the class of a pool", "karpenter.sh", "NodePool", "NodeClassReady", Positive},
		{"Karpenter: images of a class", "karpenter.k8s.aws", "EC2NodeClass", "AMIsReady", Positive},
		{"Karpenter: a node that will be replaced", "karpenter.sh", "NodeClaim", "Drifted", Neutral},
		{"KEDA: the autoscaler that it made", "keda.sh", "ScaledObject", "HPAActive", Positive},
		{"Knative: a name that another object has", "serving.knative.dev", "DomainMapping", "DomainClaimed", Positive},
		{"Knative: a revision scaled to nothing", "autoscaling.internal.knative.dev", "PodAutoscaler", "Active", Neutral},
		{"Knative: rights of a source", "sources.knative.dev", "ApiServerSource", "SufficientPermissions", Positive},
		{"Kubeflow: a job that is over is not running", "kubeflow.org", "PyTorchJob", "Running", Neutral},
		{"Kubeflow: nor is it good that it starts again", "kubeflow.org", "MPIJob", "Restarting", Neutral},
		{"Kueue: a word that is bad elsewhere", "kueue.x-k8s.io", "Workload", "BlockedOnPreemptionGates", Neutral},
		{"Kueue: a workload on its way out", "kueue.x-k8s.io", "Workload", "DeactivationTarget", Neutral},
		{"Kueue: a queue that is closed", "kueue.x-k8s.io", "ClusterQueue", "Active", Positive},
		{"VPA: No does not make it good", "autoscaling.k8s.io", "VerticalPodAutoscaler", "NoPodsMatched", Negative},
		{"VPA: just made", "autoscaling.k8s.io", "VerticalPodAutoscaler", "LowConfidence", Neutral},
		{"VPA: a field that is not supported", "autoscaling.k8s.io", "VerticalPodAutoscaler", "ConfigUnsupported", Negative},
		{"KubeVirt: not every machine can move", "kubevirt.io", "VirtualMachineInstance", "LiveMigratable", Neutral},
		{"KubeVirt: an agent that is too old", "kubevirt.io", "VirtualMachineInstance", "AgentVersionNotSupported", Negative},
		{"KubeVirt: changes that wait for a restart", "kubevirt.io", "VirtualMachine", "RestartRequired", Neutral},
		{"Longhorn: False is as it should be", "longhorn.io", "Volume", "TooManySnapshots", Negative},
		{"Longhorn: nothing to restore", "longhorn.io", "Volume", "Restore", Neutral},
		{"Longhorn: no image to wait for", "longhorn.io", "Volume", "WaitForBackingImage", Neutral},
		{"Longhorn: no room for a replica", "longhorn.io", "Volume", "Scheduled", Positive},
		{"OLM: a plan that waits for approval", "operators.coreos.com", "Subscription", "InstallPlanPending", Neutral},
		{"OLM: a catalogue that does not answer", "operators.coreos.com", "Subscription", "CatalogSourcesUnhealthy", Negative},
		{"Prometheus operator", "monitoring.coreos.com", "Prometheus", "Reconciled", Positive},
		{"Rook: not connecting any more", "ceph.rook.io", "CephCluster", "Connecting", Neutral},
		{"Rook: something uses it", "ceph.rook.io", "CephFilesystem", "DeletionIsBlocked", Negative},
		{"Tekton: signatures", "tekton.dev", "TaskRun", "TrustedResourcesVerified", Positive},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, guessed := DefaultPolarities().lookup(tt.group, tt.kind, tt.condition)
			if got != tt.want || guessed {
				t.Errorf("%s of %s.%s is %s (guessed: %t), want %s", tt.condition, tt.kind, tt.group, got, guessed, tt.want)
			}
		})
	}
}

// TestPolaritiesThatNobodyHas: names that no project's source has any more are left to the rules for names.
func TestPolaritiesThatNobodyHas(t *testing.T) {
	for _, tt := range []struct{ reason, group, kind, condition string }{
		{"Karpenter replaced it by Consolidatable", "karpenter.sh", "NodeClaim", "Empty"},
		{"Crossplane has none of this name", "pkg.crossplane.io", "Provider", "TypesInstalled"},
		{"Kueue has it as a reason only", "kueue.x-k8s.io", "Workload", "Deactivated"},
		{"the API server does not write it", "flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "ConcurrencyShared"},
	} {
		if _, guessed := DefaultPolarities().lookup(tt.group, tt.kind, tt.condition); !guessed {
			t.Errorf("%s: %s of %s is in a table", tt.reason, tt.condition, tt.kind)
		}
	}
}
