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
	"gateway.networking.k8s.io/Gateway":                       gatewayConditions,
	"gateway.networking.k8s.io/GatewayClass":                  gatewayConditions,
	"gateway.networking.k8s.io/HTTPRoute":                     gatewayConditions,
	"config.openshift.io/ClusterOperator":                     table("Available", "Degraded", "EvaluationConditionsDetected Progressing Upgradeable"),
	"config.openshift.io/ClusterVersion":                      table("Available ReleaseAccepted RetrievedUpdates", "Failing Invalid", "ImplicitlyEnabledCapabilities Progressing Upgradeable"),
	"argoproj.io/Rollout":                                     table("Available Progressing", "InvalidSpec ReplicaFailure", "Completed Healthy Paused"),
	"argoproj.io/Workflow":                                    table("", "ArtifactGCError MetricsError SpecError SpecWarning", "Completed PodRunning"),
	"argoproj.io/ApplicationSet":                              table("ParametersGenerated ResourcesUpToDate", "ErrorOccurred", "RolloutProgressing"),
}

// gatewayConditions are those of the Gateway API.
var gatewayConditions = table("Accepted Programmed Ready ResolvedRefs", "Conflicted OverlappingTLSConfig PartiallyInvalid", "")

// polarityFamilies are projects whose custom resources are met often.
var polarityFamilies = []polarityFamily{
	{[]string{"cert-manager.io"}, table("Approved Ready", "Denied InvalidRequest", "Issuing")},
	{[]string{"cluster.x-k8s.io"}, table(
		"Available BootstrapReady BootstrapConfigReady CertificatesAvailable ControlPlaneAvailable ControlPlaneInitialized "+
			"ControlPlaneReady EtcdClusterHealthy HealthCheckSucceeded InfrastructureReady MachinesReady MachinesUpToDate NodeHealthy "+
			"NodeReady Ready RemoteConnectionProbe TopologyReconciled UpToDate WorkersAvailable",
		"", "Deleting Paused Remediating RollingOut ScalingDown ScalingUp Updating")},
	{[]string{"crossplane.io", "upbound.io"}, table(
		"Established Healthy Installed LastAsyncOperation Offered Ready Responsive Synced TypesInstalled ValidPipeline Verified", "", "AsyncOperation")},
	{[]string{"toolkit.fluxcd.io", "fluxcd.controlplane.io"}, table(
		"ArtifactInStorage Healthy Ready Released SourceVerified TestSuccess",
		"ArtifactOutdated BuildFailed FetchFailed IncludeUnavailable Remediated Stalled StorageOperationFailed", "Reconciling")},
	{[]string{"knative.dev"}, table(
		"Addressable AllTrafficAssigned CertificateProvisioned ConfigurationsReady ContainerHealthy Deployed IngressReady LoadBalancerReady "+
			"NetworkConfigured Ready ResourcesAvailable Resolved RoutesReady SinkProvided", "", "Active")},
	{[]string{"argoproj.io"}, table("DependenciesProvided Deployed SourcesProvided TriggersProvided", "", "")},
	{[]string{"karpenter.sh", "karpenter.k8s.aws"}, table(
		"ConsistentStateFound Initialized Launched Ready Registered", "",
		"Consolidatable DisruptionReason Drained Drifted Empty Expired InstanceTerminating VolumesDetached")},
	{[]string{"keda.sh"}, table("Ready", "Fallback", "Active Paused")},
	{[]string{"kueue.x-k8s.io"}, table("Active", "", "Admitted Deactivated Evicted Finished PodsReady Preempted QuotaReserved Requeued")},
	{[]string{"tekton.dev"}, table("Ready Succeeded", "", "")},
}
