package ownertree

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FinalizerRemoval is a finalizer that a part of Kubernetes itself removes, and when it does.
type FinalizerRemoval struct {
	Finalizer string
	// By is the component that removes it: "kube-controller-manager".
	By string
	// Once is the condition, for people: "once no pod uses it".
	Once string
	// Certain reports that nothing but the component that removes it has to act any more, as far as is known: the
	// deletion brings the condition about.
	Certain bool
	// Users are objects that would stay and may be what the condition is about, sorted: pods in the namespace of a
	// claim that may or may not use it. Nil if there are none, and outside a Preview.
	Users []*Node
}

const (
	controllerManager = "kube-controller-manager"
	aCloud            = "the cloud-controller-manager of a cloud"
)

// removalOf reports whether Kubernetes itself removes a finalizer from an object of the kind. Unless said otherwise the
// sources are in k8s.io/kubernetes/pkg/controller.
func removalOf(kind, finalizer string) (FinalizerRemoval, bool) {
	r := FinalizerRemoval{Finalizer: finalizer, By: controllerManager}
	switch finalizer {
	case metav1.FinalizerDeleteDependents: // garbagecollector/garbagecollector.go, processDeletingDependentsItem
		r.Once, r.Certain = "once the dependents that block it have gone", true
		return r, true
	case metav1.FinalizerOrphanDependents: // garbagecollector/garbagecollector.go, attemptToOrphanWorker
		r.Once, r.Certain = "once its dependents have lost their references to it", true
		return r, true
	}
	switch finalizer + " " + kind {
	case "kubernetes Namespace": // in the spec; namespace/deletion/namespaced_resources_deleter.go, finalizeNamespace
		r.Once, r.Certain = "once all that is in it has gone", true
	case "kubernetes.io/pvc-protection PersistentVolumeClaim":
		// volume/pvcprotection/pvc_protection_controller.go, podUsesPVCForDeletion
		r.Once = "once no pod uses it"
	case "kubernetes.io/pv-protection PersistentVolume": // volume/pvprotection/pv_protection_controller.go, isBeingUsed
		r.Once = "once it is bound to no claim"
	case "kubernetes.io/pv-controller PersistentVolume":
		// volume/persistentvolume/pv_controller.go; its drivers are part of it
		r.Once = "once its storage is deleted"
	case "kubernetes.io/vac-protection VolumeAttributesClass.storage.k8s.io":
		// volume/vacprotection/vac_protection_controller.go
		r.Once = "once no claim and no volume uses it"
	case "batch.kubernetes.io/job-tracking Pod":
		// job/job_controller.go, trackJobStatusAndRemoveFinalizers and syncOrphanPod
		r.Once, r.Certain = "once its Job has counted it, or is gone", true
	case "resource.kubernetes.io/delete-protection ResourceClaim.resource.k8s.io": // resourceclaim/controller.go
		r.Once = "once no pod uses it"
	case "scheduling.k8s.io/podgroup-protection PodGroup.scheduling.k8s.io":
		// scheduling/podgroupprotection, hasActivePods
		r.Once = "once no pod of it is active"
	case "networking.k8s.io/service-cidr-finalizer ServiceCIDR.networking.k8s.io":
		// servicecidrs/servicecidrs_controller.go, canDeleteCIDR
		r.Once = "once no Service has an address that is of its range alone"
	case "customresourcecleanup.apiextensions.k8s.io CustomResourceDefinition.apiextensions.k8s.io":
		// k8s.io/apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go
		r.By, r.Once, r.Certain = "kube-apiserver", "once the objects of its kind have gone", true
	case "service.kubernetes.io/load-balancer-cleanup Service":
		// k8s.io/cloud-provider/controllers/service/controller.go
		r.By, r.Once = aCloud, "once the load balancer is removed; where none runs, it stays"
	default:
		return FinalizerRemoval{}, false
	}
	return r, true
}

// usedByPods reports whether the condition is about pods of the object's namespace.
func (r FinalizerRemoval) usedByPods() bool {
	switch r.Finalizer {
	case "kubernetes.io/pvc-protection", "resource.kubernetes.io/delete-protection",
		"scheduling.k8s.io/podgroup-protection":
		return true
	}
	return false
}

// removals are the finalizers of the node that Kubernetes itself removes, in its order.
func (n *Node) removals() []FinalizerRemoval {
	var out []FinalizerRemoval
	for _, finalizer := range slices.Concat(n.Finalizers, n.SpecFinalizers) {
		if r, ok := removalOf(n.Kind.GroupKind().String(), finalizer); ok {
			out = append(out, r)
		}
	}
	return out
}

// foreignFinalizers are the others: it is not known what removes them.
func (n *Node) foreignFinalizers() []string {
	var out []string
	for _, finalizer := range slices.Concat(n.Finalizers, n.SpecFinalizers) {
		if _, ok := removalOf(n.Kind.GroupKind().String(), finalizer); !ok {
			out = append(out, finalizer)
		}
	}
	return out
}

// isCollectorFinalizer reports whether the finalizer is one of the garbage collector's own.
func isCollectorFinalizer(finalizer string) bool {
	return finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
}
