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
