package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	"k8s.io/kubernetes/pkg/controller/volume/vacprotection"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// claimProtection is newPersistentVolumeClaimProtectionController of cmd/kube-controller-manager/app/core.go.
func claimProtection() Controller {
	return Controller{
		Name:             names.PersistentVolumeClaimProtectionController,
		Short:            "pvc-protection",
		Aliases:          []string{"pvc-protection"},
		Reads:            []schema.GroupResource{{Resource: "persistentvolumeclaims"}, {Resource: "pods"}},
		Writes:           []schema.GroupResource{{Resource: "persistentvolumeclaims"}},
		NoisyLogMessages: []string{"Pod uses PVC"}, // every change of a pod with claims is a key
		workers:          1,
		build:            buildClaimProtection,
	}
}

func buildClaimProtection(ctx context.Context, e environment) (loop, error) {
	core := e.informers.Core().V1()
	c, err := pvcprotection.NewPVCProtectionController(klog.FromContext(ctx), core.PersistentVolumeClaims(), core.Pods(), e.client)
	if err != nil {
		return nil, err
	}
	e.tap.SetTraits(tap.ControllerTraits{ErrorLevel: 4, BegunKey: beginsClaim})
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}

// beginsClaim tells which claim pvc-protection begins to work on. One goroutine takes claims from the queue, sorts them by
// namespace and hands them to another, through pvcProcessingStore.namespaceQueue: keys stay under way until the latter is
// done with them, so that the inner queue needs no account of its own.
func beginsClaim(message string, keysAndValues []any) string {
	if message != "Processing PVC" || len(keysAndValues) < 2 {
		return ""
	}
	return fmt.Sprint(keysAndValues[1])
}

// volumeProtection is newPersistentVolumeProtectionController of cmd/kube-controller-manager/app/core.go.
func volumeProtection() Controller {
	return Controller{
		Name:    names.PersistentVolumeProtectionController,
		Short:   "pv-protection",
		Aliases: []string{"pv-protection"},
		Reads:   []schema.GroupResource{{Resource: "persistentvolumes"}},
		Writes:  []schema.GroupResource{{Resource: "persistentvolumes"}},
		workers: 1,
		build:   buildVolumeProtection,
	}
}

func buildVolumeProtection(ctx context.Context, e environment) (loop, error) {
	c, err := pvprotection.NewPVProtectionController(klog.FromContext(ctx), e.informers.Core().V1().PersistentVolumes(), e.client)
	if err != nil {
		return nil, err
	}
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}

// attributesClassProtection is newVolumeAttributesClassProtectionController of cmd/kube-controller-manager/app/core.go.
func attributesClassProtection() Controller {
	classes := schema.GroupResource{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}
	return Controller{
		Name:              names.VolumeAttributesClassProtectionController,
		Short:             "volumeattributesclass-protection",
		Reads:             []schema.GroupResource{{Resource: "persistentvolumeclaims"}, {Resource: "persistentvolumes"}, classes},
		Writes:            []schema.GroupResource{classes},
		Danger:            "lets a volume attributes class go whose claims it does not see",
		ClusterScopedWork: true,
		workers:           1,
		build:             buildAttributesClassProtection,
	}
}

func buildAttributesClassProtection(ctx context.Context, e environment) (loop, error) {
	core := e.informers.Core().V1()
	c, err := vacprotection.NewVACProtectionController(
		klog.FromContext(ctx), e.client, core.PersistentVolumeClaims(), core.PersistentVolumes(),
		e.informers.Storage().V1().VolumeAttributesClasses(),
	)
	if err != nil {
		return nil, err
	}
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
