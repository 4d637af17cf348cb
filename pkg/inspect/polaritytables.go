package inspect

// polarityFamilies are projects whose custom resources are common. The comment of each names the files of the project
// that it follows. The polarity of a condition that is not in a table is guessed from its name. Families of one kind
// come before those of the group that the kind is in.
var polarityFamilies = []polarityFamily{
	// argoproj/argo-rollouts: pkg/apis/rollouts/v1alpha1/types.go, experiment_types.go
	{"Rollout", []string{"argoproj.io"}, newTable(
		"Available Progressing", "InvalidSpec ReplicaFailure", "Completed Healthy Paused")},
	{"Experiment", []string{"argoproj.io"}, newTable("Progressing", "InvalidSpec ReplicaFailure", "Completed Running")},
	// argoproj/argo-workflows: pkg/apis/workflow/v1alpha1/workflow_types.go, cron_workflow_types.go
	{"Workflow", []string{"argoproj.io"}, newTable(
		"", "ArtifactGCError MetricsError SpecError SpecWarning", "Completed PodRunning")},
	{"CronWorkflow", []string{"argoproj.io"}, newTable("", "SpecError SubmissionError", "")},
	// argoproj/argo-cd: pkg/apis/application/v1alpha1/types.go, applicationset_types.go
	{"Application", []string{"argoproj.io"}, newTable("",
		"ComparisonError DeletionError ExcludedResourceWarning InvalidSpecError OrphanedResourceWarning "+
			"RepeatedResourceWarning SharedResourceWarning SyncError UnknownError", "")},
	{"ApplicationSet", []string{"argoproj.io"}, newTable(
		"ParametersGenerated ResourcesUpToDate", "ErrorOccurred InvalidRolloutConfig", "RolloutProgressing")},
	// argoproj/argo-events: pkg/apis/events/v1alpha1/{eventbus,eventsource,sensor,status}_types.go
	{"", []string{"argoproj.io"}, newTable(
		"Configured DependenciesProvided Deployed Ready SourcesProvided TriggersProvided", "", "")},

	// aws-controllers-k8s/runtime: apis/core/v1alpha1/conditions.go
	{"", []string{"services.k8s.aws"}, newTable(
		"ACK.Adopted ACK.IAMRoleSelected ACK.ReferencesResolved Ready", "ACK.Recoverable ACK.Terminal",
		"ACK.Advisory ACK.LateInitialized ACK.ResourceSynced")},

	// cert-manager/trust-manager: pkg/apis/trust/v1alpha1/types_bundle.go
	{"", []string{"trust.cert-manager.io", "trust-manager.io"}, newTable("Synced", "", "Deprecated Migrated")},
	// cert-manager/cert-manager: pkg/apis/certmanager/v1/types_{certificate,certificaterequest,issuer}.go
	{"", []string{"cert-manager.io"}, newTable("Approved Ready", "Denied InvalidRequest", "Issuing")},

	// chaos-mesh/chaos-mesh: api/v1alpha1/common_types.go
	{"", []string{"chaos-mesh.org"}, newTable("Selected", "", "AllInjected AllRecovered Paused")},

	// cloudnative-pg/cloudnative-pg: api/v1/cluster_types.go
	{"Cluster", []string{"postgresql.cnpg.io"}, newTable(
		"ConsistentSystemID ContinuousArchiving Initialized LastBackupSucceeded Ready "+
			"SyncReplicationTopologySatisfied", "", "")},

	// kubernetes-sigs/cluster-api: api/core/v1beta2/*_types.go, condition_consts.go, v1beta1_condition_consts.go, and
	// the same of api/{addons,bootstrap/kubeadm,controlplane/kubeadm,runtime}. What is not up to date is being updated,
	// or deliberately left as it is.
	{"", []string{"cluster.x-k8s.io"}, newTable(
		"APIServerPodHealthy Available BootstrapConfigReady BootstrapReady CertificatesAvailable "+
			"ControlPlaneAvailable ControlPlaneComponentsHealthy ControlPlaneInitialized ControlPlaneMachinesReady "+
			"ControlPlaneReady ControllerManagerPodHealthy DataSecretAvailable Discovered DrainingSucceeded "+
			"EtcdClusterHealthy EtcdMemberHealthy EtcdPodHealthy ExternalRemediationRequestAvailable "+
			"ExternalRemediationTemplateAvailable HealthCheckSucceeded InfrastructureReady Initialized "+
			"MachineSetReady MachinesCreated MachinesReady NodeHealthy NodeReady OwnerRemediated "+
			"PreDrainDeleteHookSucceeded PreTerminateDeleteHookSucceeded Ready RefVersionsUpToDate RemediationAllowed "+
			"RemoteConnectionProbe ReplicasReady ResourcesApplied SchedulerPodHealthy TopologyReconciled "+
			"VariablesReady VariablesReconciled VolumeDetachSucceeded WorkerMachinesReady WorkersAvailable",
		"",
		"ControlPlaneMachinesUpToDate Deleting ExternallyRemediated MachinesSpecUpToDate MachinesUpToDate Paused "+
			"Remediating "+
			"Resized RollingOut ScalingDown ScalingUp UpToDate Updating WorkerMachinesUpToDate")},

	// openshift/api: apps/v1/types.go
	{"DeploymentConfig", []string{"apps.openshift.io"}, newTable("Available Progressing", "ReplicaFailure", "")},
	// openshift/api: config/v1/types_cluster_operator.go
	{"ClusterOperator", []string{"config.openshift.io"}, newTable(
		"Available", "Degraded", "EvaluationConditionsDetected Progressing Upgradeable")},
	// openshift/api: config/v1/types_cluster_version.go; openshift/cluster-version-operator: pkg/internal/constants.go
	{"ClusterVersion", []string{"config.openshift.io"}, newTable(
		"Available ReleaseAccepted RetrievedUpdates", "Failing Invalid",
		"ImplicitlyEnabledCapabilities Progressing Upgradeable UpgradeableAdminAckRequired "+
			"UpgradeableClusterOperators UpgradeableClusterVersionOverrides UpgradeableDeletesInProgress "+
			"UpgradeableUpgradeInProgress")},
	// openshift/api: machineconfiguration/v1/types.go
	{"MachineConfigPool", []string{"machineconfiguration.openshift.io"}, newTable("",
		"BuildFailed Degraded ImageBuildDegraded NodeDegraded PinnedImageSetsDegraded PoolSynchronizerDegraded "+
			"RenderDegraded",
		"BuildInterrupted BuildPending BuildSuccess Building Updated Updating")},
	// openshift/api: operator/v1/types_ingresscontroller.go
	{"IngressController", []string{"operator.openshift.io"}, newTable(
		"Available DNSReady LoadBalancerReady", "", "DNSManaged LoadBalancerManaged")},

	// crossplane/crossplane: apis/core/v2/condition.go, apis/{apiextensions,ops,pkg}/*/conditions.go;
	// crossplane/crossplane-runtime: pkg/reconciler/providerconfig; crossplane/upjet: pkg/resource/conditions.go.
	// Verified is in apis/pkg/v1 of older versions.
	{"", []string{"crossplane.io", "upbound.io"}, newTable(
		"Established Healthy Installed LastAsyncOperation Offered Ready Resolved Responsive RevisionHealthy "+
			"RuntimeHealthy Succeeded Synced UpToDate ValidPipeline Verified",
		"", "AsyncOperation RuntimeActive Scheduling Terminating Watching")},

	// fluxcd/pkg: apis/meta/conditions.go; fluxcd/source-controller: api/v1/condition_types.go, gitrepository_types.go;
	// fluxcd/helm-controller: api/v2/condition_types.go. controlplaneio-fluxcd/flux-operator sets those of fluxcd/pkg.
	{"", []string{"fluxcd.controlplane.io", "toolkit.fluxcd.io"}, newTable(
		"ArtifactInStorage Healthy Ready Released SourceVerified TestSuccess",
		"ArtifactOutdated BuildFailed Drifted FetchFailed IncludeUnavailable Remediated Stalled StorageOperationFailed",
		"Reconciling")},

	// kubernetes-sigs/gateway-api: apis/v1/{gateway,gatewayclass,listenerset,policy,shared}_types.go
	{"", []string{"gateway.networking.k8s.io"}, newTable(
		"Accepted Programmed Ready ResolvedRefs Scheduled SupportedVersion",
		"Conflicted Detached OverlappingTLSConfig PartiallyInvalid", "InsecureFrontendValidationMode")},

	// grafana/grafana-operator: controllers/controller_shared.go and those of the kinds
	{"", []string{"grafana.integreatly.org"}, newTable(
		"AlertGroupSynchronized ContactPointSynchronized DashboardSynchronized DatasourceSynchronized "+
			"FolderSynchronized GrafanaReady LibraryPanelSynchronized MuteTimingSynchronized "+
			"NotificationPolicySynchronized NotificationTemplateSynchronized ServiceAccountSynchronized",
		"InvalidSpec NoMatchingFolder NoMatchingInstance NotificationPolicyLoopDetected", "Suspended")},

	// infinispan/infinispan-operator: api/v1/infinispan_types.go
	{"Infinispan", []string{"infinispan.org"}, newTable("CrossSiteViewFormed PreliminaryChecksPassed WellFormed", "",
		"GracefulShutdown Stopping Upgrade")},

	// kubernetes-sigs/karpenter: pkg/apis/v1/{nodeclaim,nodepool}_status.go;
	// aws/karpenter-provider-aws: pkg/apis/v1/ec2nodeclass_status.go
	{"", []string{"karpenter.k8s.aws", "karpenter.sh"}, newTable(
		"AMIsReady CapacityReservationsReady ConsistentStateFound Initialized InstanceProfileReady Launched "+
			"NodeClassReady NodeRegistrationHealthy PlacementGroupReady Ready Registered SecurityGroupsReady "+
			"SubnetsReady ValidationSucceeded",
		"", "Consolidatable DisruptionReason Drained Drifted InstanceTerminating VolumesDetached")},

	// kedacore/keda: apis/keda/v1alpha1/condition_types.go
	{"", []string{"keda.sh"}, newTable("HPAActive Ready", "Fallback", "Active Paused")},

	// knative/pkg: apis/condition_types.go, apis/duck/v1/source_types.go; knative/serving: pkg/apis/*/*/*_types.go;
	// knative/networking: pkg/apis/networking/v1alpha1; knative/eventing: pkg/apis/*/*/*_lifecycle.go
	{"", []string{"knative.dev"}, newTable(
		"AddedToChannel Addressable AllTrafficAssigned BackingChannelReady BrokerReady CertificateProvisioned "+
			"ChannelReady ConfigurationsReady ContainerHealthy DeadLetterSinkResolved DependencyReady Deployed "+
			"DomainClaimed EndpointsPopulated EventPoliciesReady FilterReady IngressReady LoadBalancerReady "+
			"NetworkConfigured OIDCIdentityCreated Ready ReferenceResolved ReferencesResolved ResourcesAvailable "+
			"RoutesReady SKSReady ScaleTargetInitialized SinkBindingAvailable SinkProvided SubscriberResolved "+
			"SubscriptionReady Succeeded SufficientPermissions TriggerChannelReady TrustBundlePropagated",
		"", "Active")},

	// kubeflow/training-operator: pkg/apis/kubeflow.org/v1/common_types.go; kubeflow/mpi-operator:
	// pkg/apis/kubeflow/v2beta1/types.go. A job that is done is not Running.
	{"", []string{"kubeflow.org"}, newTable("Succeeded", "Failed", "Created Restarting Running Suspended")},

	// kubernetes-sigs/kueue: apis/kueue/v1beta2/*_types.go
	{"", []string{"kueue.x-k8s.io"}, newTable("Active", "",
		"Admitted BlockedOnPreemptionGates DeactivationTarget Evicted Finished MultiKueueManagerQuotaAutomation "+
			"PodsReady Preempted QuotaReserved Requeued WaitingForReplacementPods")},

	// kubernetes/autoscaler: vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1/types.go
	{"VerticalPodAutoscaler", []string{"autoscaling.k8s.io"}, newTable(
		"RecommendationProvided", "ConfigDeprecated ConfigUnsupported NoPodsMatched", "FetchingHistory LowConfidence")},

	// kubevirt/api: core/v1/types.go
	{"", []string{"kubevirt.io"}, newTable(
		"AccessCredentialsSynchronized Available Created DataVolumesReady Ready Synchronized",
		"AgentVersionNotSupported DecentralizedLiveMigrationFailure Degraded Failure ManualRecoveryRequired "+
			"ReplicaFailure",
		"AgentConnected EvictionRequested HotMemoryChange HotVCPUChange LiveMigratable MigrationRequired Paused "+
			"Progressing Provisioning ReplicaPaused RestartRequired SoftwareEmulation StorageLiveMigratable "+
			"VolumesChange")},

	// longhorn/longhorn-manager: k8s/pkg/apis/longhorn/v1beta2/{node,replica,volume}.go
	{"", []string{"longhorn.io"}, newTable(
		"KernelModulesLoaded MountPropagation Multipathd NFSClientInstalled Ready RequiredPackages Schedulable "+
			"Scheduled",
		"BackingImageIncompatible Error RebuildFailed TooManySnapshots Unavailable",
		"OfflineRebuilding Restore WaitForBackingImage")},

	// operator-framework/api: pkg/operators/v1alpha1/{subscription,installplan}_types.go. An install plan may be
	// removed when it is done.
	{"", []string{"operators.coreos.com"}, newTable("Installed Resolved",
		"BundleDeprecated BundleUnpackFailed CatalogSourcesUnhealthy ChannelDeprecated Deprecated InstallPlanFailed "+
			"PackageDeprecated ResolutionFailed",
		"BundleUnpacking InstallPlanMissing InstallPlanPending")},

	// prometheus-operator/prometheus-operator: pkg/apis/monitoring/v1/types.go
	{"", []string{"monitoring.coreos.com"}, newTable("Accepted Available Reconciled", "", "")},

	// rook/rook: pkg/apis/ceph.rook.io/v1/types.go
	{"", []string{"ceph.rook.io"}, newTable("Connected Ready",
		"DeletionIsBlocked Failure PoolDeletionIsBlocked RadosNamespaceDeletionIsBlocked", "Connecting Deleting "+
			"Progressing")},

	// knative/pkg: apis/condition_types.go; tektoncd/pipeline: pkg/apis/pipeline/v1beta1/taskrun_types.go,
	// pkg/trustedresources/verify.go
	{"", []string{"tekton.dev"}, newTable("Ready SignedResultsVerified Succeeded TrustedResourcesVerified", "", "")},
}

// builtInPolarities are the conditions of the kinds that the API server and its aggregator serve, as the types of
// k8s.io/api, k8s.io/apiextensions-apiserver and k8s.io/kube-aggregator document them.
var builtInPolarities = map[string]conditionTable{
	"/Namespace": newTable(
		"", "NamespaceContentRemaining NamespaceDeletionContentFailure NamespaceDeletionDiscoveryFailure "+
			"NamespaceDeletionGroupVersionParsingFailure NamespaceFinalizersRemaining", ""),
	// The problems after the kubelet's own are of kubernetes/node-problem-detector, config/*.json.
	"/Node": newTable("Ready", "DiskPressure MemoryPressure NetworkUnavailable PIDPressure "+
		"ContainerRuntimeUnhealthy CorruptDockerOverlay2 CperHardwareErrorFatal DiskBadBlock "+
		"FrequentContainerdRestart FrequentDockerRestart FrequentKubeletRestart FrequentUnregisterNetDevice "+
		"KernelDeadlock KubeProxyUnhealthy KubeletUnhealthy NTPProblem ReadonlyFilesystem XfsShutdown",
		"DrainInProgress Drained GracefulNodeShutdownInProgress MaintenanceInProgress MaintenancePlanned"),
	"/PersistentVolumeClaim": newTable("", "ControllerResizeError ModifyVolumeError NodeResizeError",
		"FileSystemResizePending ModifyingVolume Resizing Unused"),
	"/Pod": newTable("ContainersReady Initialized PodReadyToStartContainers PodScheduled Ready", "DisruptionTarget",
		"AllContainersRestarting PodResizeInProgress PodResizePending"),
	"/ReplicationController":              newTable("", "ReplicaFailure", ""),
	"/Service":                            newTable("", "LoadBalancerPortsError", ""),
	"apps/Deployment":                     newTable("Available Progressing", "ReplicaFailure", ""),
	"apps/ReplicaSet":                     newTable("", "ReplicaFailure", ""),
	"apps/StatefulSet":                    newTable("", "", "Progressing"), // False means that pods were recreated
	"autoscaling/HorizontalPodAutoscaler": newTable("AbleToScale ScalingActive", "", "ScaledToZero ScalingLimited"),
	"batch/Job": newTable("", "Failed FailureTarget",
		"Complete SuccessCriteriaMet Suspended"),
	"policy/PodDisruptionBudget": newTable("", "", "DisruptionAllowed"), // False: no pod may be evicted

	"apiextensions.k8s.io/CustomResourceDefinition": newTable(
		"Established KubernetesAPIApprovalPolicyConformant NamesAccepted",
		"NonStructuralSchema", "StorageMigrating Terminating"),
	"apiregistration.k8s.io/APIService":               newTable("Available", "", ""),
	"certificates.k8s.io/CertificateSigningRequest":   newTable("Approved", "Denied Failed", ""),
	"flowcontrol.apiserver.k8s.io/FlowSchema":         newTable("", "Dangling", ""),
	"internal.apiserver.k8s.io/StorageVersion":        newTable("", "", "AllEncodingVersionsEqual"),
	"lifecycle.k8s.io/EvictionRequest":                newTable("", "Failed", "TargetEvicted"),
	"networking.k8s.io/ServiceCIDR":                   newTable("Ready", "", ""),
	"resource.k8s.io/DeviceTaintRule":                 newTable("", "", "EvictionInProgress"),
	"resource.k8s.io/ResourcePoolStatusRequest":       newTable("", "Failed", "Complete"),
	"scheduling.k8s.io/PodGroup":                      newTable("PodGroupInitiallyScheduled", "DisruptionTarget", ""),
	"storagemigration.k8s.io/StorageVersionMigration": newTable("", "Failed", "Running Succeeded"),
}
