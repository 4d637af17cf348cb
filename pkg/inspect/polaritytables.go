package inspect

// builtInPolarities are the conditions of the kinds that the API server and its aggregator serve, as the types of k8s.io/api,
// k8s.io/apiextensions-apiserver and k8s.io/kube-aggregator document them.
var builtInPolarities = map[string]conditionTable{
	"/Namespace": table("", "NamespaceContentRemaining NamespaceDeletionContentFailure NamespaceDeletionDiscoveryFailure "+
		"NamespaceDeletionGroupVersionParsingFailure NamespaceFinalizersRemaining", ""),
	// The problems after the kubelet's own are of kubernetes/node-problem-detector, config/*.json.
	"/Node": table("Ready", "DiskPressure MemoryPressure NetworkUnavailable PIDPressure "+
		"ContainerRuntimeUnhealthy CorruptDockerOverlay2 CperHardwareErrorFatal DiskBadBlock FrequentContainerdRestart "+
		"FrequentDockerRestart FrequentKubeletRestart FrequentUnregisterNetDevice KernelDeadlock KubeProxyUnhealthy "+
		"KubeletUnhealthy NTPProblem ReadonlyFilesystem XfsShutdown",
		"DrainInProgress Drained GracefulNodeShutdownInProgress MaintenanceInProgress MaintenancePlanned"),
	"/PersistentVolumeClaim": table("", "ControllerResizeError ModifyVolumeError NodeResizeError",
		"FileSystemResizePending ModifyingVolume Resizing Unused"),
	"/Pod": table("ContainersReady Initialized PodReadyToStartContainers PodScheduled Ready", "DisruptionTarget",
		"AllContainersRestarting PodResizeInProgress PodResizePending"),
	"/ReplicationController":              table("", "ReplicaFailure", ""),
	"/Service":                            table("", "LoadBalancerPortsError", ""),
	"apps/Deployment":                     table("Available Progressing", "ReplicaFailure", ""),
	"apps/ReplicaSet":                     table("", "ReplicaFailure", ""),
	"apps/StatefulSet":                    table("", "", "Progressing"), // False is how it says that pods were recreated
	"autoscaling/HorizontalPodAutoscaler": table("AbleToScale ScalingActive", "", "ScaledToZero ScalingLimited"),
	"batch/Job":                           table("", "Failed FailureTarget", "Complete SuccessCriteriaMet Suspended"),
	"policy/PodDisruptionBudget":          table("", "", "DisruptionAllowed"), // False is how a budget says that it holds

	"apiextensions.k8s.io/CustomResourceDefinition": table("Established KubernetesAPIApprovalPolicyConformant NamesAccepted",
		"NonStructuralSchema", "StorageMigrating Terminating"),
	"apiregistration.k8s.io/APIService":               table("Available", "", ""),
	"certificates.k8s.io/CertificateSigningRequest":   table("Approved", "Denied Failed", ""),
	"flowcontrol.apiserver.k8s.io/FlowSchema":         table("", "Dangling", ""),
	"internal.apiserver.k8s.io/StorageVersion":        table("", "", "AllEncodingVersionsEqual"),
	"lifecycle.k8s.io/EvictionRequest":                table("", "Failed", "TargetEvicted"),
	"networking.k8s.io/ServiceCIDR":                   table("Ready", "", ""),
	"resource.k8s.io/DeviceTaintRule":                 table("", "", "EvictionInProgress"),
	"resource.k8s.io/ResourcePoolStatusRequest":       table("", "Failed", "Complete"),
	"scheduling.k8s.io/PodGroup":                      table("PodGroupInitiallyScheduled", "DisruptionTarget", ""),
	"storagemigration.k8s.io/StorageVersionMigration": table("", "Failed", "Running Succeeded"),
}
