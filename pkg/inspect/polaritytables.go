package inspect

// builtInPolarities are the conditions of the kinds that the API server and its aggregator serve, as the types of k8s.io/api,
// k8s.io/apiextensions-apiserver and k8s.io/kube-aggregator document them.
var builtInPolarities = map[string]conditionTable{
	"/Namespace": table("", "NamespaceContentRemaining NamespaceDeletionContentFailure NamespaceDeletionDiscoveryFailure "+
		"NamespaceDeletionGroupVersionParsingFailure NamespaceFinalizersRemaining", ""),
	"/Node": table("Ready", "DiskPressure MemoryPressure NetworkUnavailable PIDPressure",
		"DrainInProgress Drained GracefulNodeShutdownInProgress MaintenanceInProgress MaintenancePlanned"),
	"/PersistentVolumeClaim": table("", "ControllerResizeError ModifyVolumeError NodeResizeError",
		"FileSystemResizePending ModifyingVolume Resizing Unused"),
	"/Pod": table("ContainersReady Initialized PodReadyToStartContainers PodScheduled Ready", "DisruptionTarget",
		"AllContainersRestarting PodResizeInProgress PodResizePending"),
	"/ReplicationController":              table("", "ReplicaFailure", ""),
	"/Service":                            table("", "LoadBalancerPortsError", ""),
	"apps/Deployment":                     table("Available Progressing", "ReplicaFailure", ""),
	"apps/ReplicaSet":                     table("", "ReplicaFailure", ""),
	"apps/StatefulSet":                    table("Progressing", "", ""),
	"autoscaling/HorizontalPodAutoscaler": table("AbleToScale ScalingActive", "", "ScaledToZero ScalingLimited"),
	"batch/Job":                           table("", "Failed FailureTarget", "Complete SuccessCriteriaMet Suspended"),
	"policy/PodDisruptionBudget":          table("", "", "DisruptionAllowed"), // False is how a budget says that it holds

	"apiextensions.k8s.io/CustomResourceDefinition": table("Established KubernetesAPIApprovalPolicyConformant NamesAccepted",
		"NonStructuralSchema", "StorageMigrating Terminating"),
	"apiregistration.k8s.io/APIService":                       table("Available", "", ""),
	"certificates.k8s.io/CertificateSigningRequest":           table("Approved", "Denied Failed", ""),
	"flowcontrol.apiserver.k8s.io/FlowSchema":                 table("", "Dangling", ""),
	"flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration": table("ConcurrencyShared", "", ""),
	"networking.k8s.io/ServiceCIDR":                           table("Ready", "", ""),
	"resource.k8s.io/DeviceTaintRule":                         table("", "", "EvictionInProgress"),
	"storagemigration.k8s.io/StorageVersionMigration":         table("", "Failed", "Running Succeeded"),
	"internal.apiserver.k8s.io/StorageVersion":                table("", "", "AllEncodingVersionsEqual"),
}

// polarityFamilies are projects whose custom resources are met often, as their API types document them. Those of one kind
// come before those of the group that the kind is in.
var polarityFamilies = []polarityFamily{
	{"Rollout", []string{"argoproj.io"}, table("Available Progressing", "InvalidSpec ReplicaFailure", "Completed Healthy Paused")},
	{"Workflow", []string{"argoproj.io"}, table("", "ArtifactGCError MetricsError SpecError SpecWarning", "Completed PodRunning")},
	{"ApplicationSet", []string{"argoproj.io"}, table("ParametersGenerated ResourcesUpToDate", "ErrorOccurred", "RolloutProgressing")},
	{"", []string{"argoproj.io"}, table("DependenciesProvided Deployed SourcesProvided TriggersProvided", "", "")},
	{"", []string{"cert-manager.io"}, table("Approved Ready", "Denied InvalidRequest", "Issuing")},
	{"", []string{"cluster.x-k8s.io"}, table(
		"Available BootstrapReady BootstrapConfigReady CertificatesAvailable ControlPlaneAvailable ControlPlaneInitialized "+
			"ControlPlaneReady EtcdClusterHealthy HealthCheckSucceeded InfrastructureReady MachinesReady MachinesUpToDate "+
			"NodeHealthy NodeReady Ready RemoteConnectionProbe TopologyReconciled UpToDate WorkersAvailable",
		"", "Deleting Paused Remediating RollingOut ScalingDown ScalingUp Updating")},
	{"ClusterOperator", []string{"config.openshift.io"}, table(
		"Available", "Degraded", "EvaluationConditionsDetected Progressing Upgradeable")},
	{"ClusterVersion", []string{"config.openshift.io"}, table(
		"Available ReleaseAccepted RetrievedUpdates", "Failing Invalid", "ImplicitlyEnabledCapabilities Progressing Upgradeable")},
	{"", []string{"crossplane.io", "upbound.io"}, table(
		"Established Healthy Installed LastAsyncOperation Offered Ready Responsive Synced TypesInstalled ValidPipeline Verified",
		"", "AsyncOperation")},
	{"", []string{"fluxcd.controlplane.io", "toolkit.fluxcd.io"}, table(
		"ArtifactInStorage Healthy Ready Released SourceVerified TestSuccess",
		"ArtifactOutdated BuildFailed FetchFailed IncludeUnavailable Remediated Stalled StorageOperationFailed", "Reconciling")},
	{"", []string{"gateway.networking.k8s.io"}, table(
		"Accepted Programmed Ready ResolvedRefs", "Conflicted OverlappingTLSConfig PartiallyInvalid", "")},
	{"", []string{"karpenter.k8s.aws", "karpenter.sh"}, table(
		"ConsistentStateFound Initialized Launched Ready Registered", "",
		"Consolidatable DisruptionReason Drained Drifted Empty Expired InstanceTerminating VolumesDetached")},
	{"", []string{"keda.sh"}, table("Ready", "Fallback", "Active Paused")},
	{"", []string{"knative.dev"}, table(
		"Addressable AllTrafficAssigned CertificateProvisioned ConfigurationsReady ContainerHealthy Deployed IngressReady "+
			"LoadBalancerReady NetworkConfigured Ready ResourcesAvailable Resolved RoutesReady SinkProvided", "", "Active")},
	{"", []string{"kueue.x-k8s.io"}, table(
		"Active", "", "Admitted Deactivated Evicted Finished PodsReady Preempted QuotaReserved Requeued")},
	{"", []string{"tekton.dev"}, table("Ready Succeeded", "", "")},
}
