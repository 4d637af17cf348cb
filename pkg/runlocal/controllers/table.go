package controllers

import (
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/utils/clock"
)

// running returns the controllers that can run here, in the order in which they are started and listed.
func running() []Controller {
	return []Controller{
		// Service accounts, tokens, certificates and roles.
		serviceAccountToken(), serviceAccountController(), rootCAPublisher(), trustBundlePublisher(),
		csrApproving(), csrSigning(), csrCleaner(), podCertificateRequestCleaner(clock.RealClock{}),
		clusterRoleAggregation(), bootstrapSigner(), tokenCleaner(), legacyTokenCleaner(clock.RealClock{}),
		// Workloads.
		deploymentController(), replicaSetController(), replicationController(), statefulSetController(),
		daemonSetController(), jobController(), cronJobController(), ttlAfterFinishedController(),
		disruptionController(), podAutoscalerController(),
		// Endpoints of services.
		endpointsController(), endpointSliceController(), endpointSliceMirroringController(),
		// Controllers of all kinds.
		garbageCollector(), resourceQuotaController(), namespaceController(), storageVersionMigrator(),
		// Nodes and the pods on them.
		nodeLifecycle(), taintEviction(), podGarbageCollector(), ttlController(), deviceTaintEviction(),
		// Volumes.
		volumeBinder(), ephemeralVolumes(), claimProtection(), volumeProtection(), attributesClassProtection(),
		volumeExpander(),
		// Resource claims, and the configuration of the API server.
		resourceClaimController(), serviceCIDRController(), policyStatusController(),
	}
}

// notRunning returns the controllers that do not run here, in the order of package names.
func notRunning() []Controller {
	return []Controller{
		{
			Name: names.NodeIpamController, Aliases: []string{"nodeipam"},
			NotRun: "it hands out network ranges that only the cluster's control plane is configured with",
		},
		{
			Name: names.PersistentVolumeAttachDetachController, Aliases: []string{"attachdetach"},
			NotRun: "it has the drivers of real storage attach volumes to real nodes",
		},
		{Name: names.PodGroupProtectionController, NotRun: needsFeatureGate("GenericWorkload")},
		{
			Name: names.StorageVersionGarbageCollectorController, Aliases: []string{"storage-version-gc"},
			Danger: "deletes the storage versions of API servers that it does not see",
			NotRun: needsFeatureGate("StorageVersionAPI"),
		},
		{Name: names.ResourcePoolStatusRequestController, NotRun: needsFeatureGate("DRAResourcePoolStatus")},
		{
			Name: names.SELinuxWarningController, OffByDefault: true,
			NotRun: "it acts on what real kubelets and their drivers report",
		},
	}
}

// needsFeatureGate is why a controller does not run that only a feature gate enables.
func needsFeatureGate(gate string) string {
	return "it needs the feature gate " + gate + ", which is off by default"
}
