package controllers

import "k8s.io/kubernetes/cmd/kube-controller-manager/names"

// Why controllers do not run here.
const (
	notIncluded = "this build does not include it"
	needsDriver = "it has the drivers of real storage attach volumes to real nodes"
	needsRanges = "it hands out network ranges that only the cluster's control plane is configured with"
	needsNodes  = "it acts on what real kubelets and their drivers report"
)

// idle are the controllers of kube-controller-manager that do not run here, in the order of its names package.
func idle() []Controller {
	return []Controller{
		dangerous(no(names.PodGarbageCollectorController, notIncluded, "podgc"), "deletes pods whose node it does not see"),
		no(names.ResourceQuotaController, notIncluded, "resourcequota"),
		no(names.HorizontalPodAutoscalerController, notIncluded, "horizontalpodautoscaling"),
		no(names.TTLController, notIncluded, "ttl"),
		no(names.NodeIpamController, needsRanges, "nodeipam"),
		dangerous(no(names.NodeLifecycleController, notIncluded, "nodelifecycle"), "takes a node for dead whose lease it does not see, and evicts its pods"),
		dangerous(no(names.TaintEvictionController, notIncluded), "deletes pods by taints that it may see late"),
		no(names.DeviceTaintEvictionController, needsNodes),
		no(names.PersistentVolumeAttachDetachController, needsDriver, "attachdetach"),
		no(names.PodGroupProtectionController, notIncluded),
		dangerous(no(names.StorageVersionGarbageCollectorController, notIncluded, "storage-version-gc"), "deletes the storage versions of API servers that it does not see"),
		no(names.ResourceClaimController, notIncluded, "resource-claim-controller"),
		no(names.ResourcePoolStatusRequestController, needsNodes),
		no(names.ValidatingAdmissionPolicyStatusController, notIncluded),
		no(names.ServiceCIDRController, notIncluded),
		no(names.StorageVersionMigratorController, notIncluded, "svm"),
		off(no(names.SELinuxWarningController, needsNodes)),
	}
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
