package controllers

import (
	"slices"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/utils/clock"
)

// running are the controllers that run, in the order in which they are started: a family's file has its rows.
func running() []Controller {
	return slices.Concat(accounts(), workloads(), services(), housekeeping(), hosts(), volumes(), devices())
}

// workloads make pods, and scale what makes them.
func workloads() []Controller {
	return []Controller{
		deploymentController(), replicaSetController(), replicationController(), statefulSetController(), daemonSetController(),
		jobController(), cronJobController(), ttlAfterFinishedController(), disruptionController(), podAutoscalerController(),
	}
}

// housekeeping removes what is not wanted any more, and counts what is used.
func housekeeping() []Controller {
	return []Controller{garbageCollector(), resourceQuotaController(), namespaceController(), storageVersionMigrator()}
}

// accounts make service accounts, tokens, certificates and roles.
func accounts() []Controller {
	return []Controller{
		serviceAccountToken(), serviceAccountController(), rootCAPublisher(), trustBundlePublisher(),
		csrApproving(), csrSigning(), csrCleaner(), podCertificateRequestCleaner(clock.RealClock{}),
		clusterRoleAggregation(), bootstrapSigner(), tokenCleaner(), legacyTokenCleaner(clock.RealClock{}),
	}
}

// services publish the addresses of pods.
func services() []Controller {
	return []Controller{endpointsController(), endpointSliceController(), endpointSliceMirroringController()}
}

// volumes bind volumes to claims and keep both while they are used.
func volumes() []Controller {
	return []Controller{
		volumeBinder(), ephemeralVolumes(), claimProtection(), volumeProtection(), attributesClassProtection(), volumeExpander(),
	}
}

// devices allocate devices to pods and check what the API server is configured with.
func devices() []Controller {
	return []Controller{resourceClaimController(), serviceCIDRController(), policyStatusController()}
}

// Why controllers do not run here.
const (
	notIncluded = "this build does not include it"
	needsDriver = "it has the drivers of real storage attach volumes to real nodes"
	needsRanges = "it hands out network ranges that only the cluster's control plane is configured with"
	needsNodes  = "it acts on what real kubelets and their drivers report"
)

// notRunning are the controllers of kube-controller-manager that do not run here, in the order of its names package.
func notRunning() []Controller {
	return []Controller{
		no(names.NodeIpamController, needsRanges, "nodeipam"),
		no(names.PersistentVolumeAttachDetachController, needsDriver, "attachdetach"),
		no(names.PodGroupProtectionController, gated("GenericWorkload")),
		dangerous(no(names.StorageVersionGarbageCollectorController, gated("StorageVersionAPI"), "storage-version-gc"), "deletes the storage versions of API servers that it does not see"),
		no(names.ResourcePoolStatusRequestController, gated("DRAResourcePoolStatus")),
		off(no(names.SELinuxWarningController, needsNodes)),
	}
}

// gated is why a controller does not run that only a feature gate brings.
func gated(gate string) string {
	return "it needs the feature gate " + gate + ", which is off by default"
}

// no is a row of a controller that does not run here.
func no(name, reason string, aliases ...string) Controller {
	return Controller{Name: name, Aliases: aliases, NotRun: reason}
}

func dangerous(c Controller, danger string) Controller {
	c.Danger = danger
	return c
}

func off(c Controller) Controller {
	c.OffByDefault = true
	return c
}
