package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/util/goroutinemap"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// volumeBinder is newPersistentVolumeBinderController of cmd/kube-controller-manager/app/core.go.
func volumeBinder() Controller {
	return Controller{
		Name:    names.PersistentVolumeBinderController,
		Short:   "persistentvolume-binder",
		Aliases: []string{"persistentvolume-binder"},
		Reads: []schema.GroupResource{
			{Resource: "persistentvolumes"}, {Resource: "persistentvolumeclaims"}, {Group: "storage.k8s.io", Resource: "storageclasses"},
			{Resource: "pods"}, {Resource: "nodes"},
		},
		Writes: []schema.GroupResource{
			{Resource: "persistentvolumes"}, {Resource: "persistentvolumeclaims"}, {Resource: "pods"}, // pods that recycle a volume
		},
		ClusterScopedWork: true,
		workers:           1, // for each of the two queues; it is upstream's, and no option
		build:             buildVolumeBinder(binderSyncPeriod),
	}
}

// binderSyncPeriod is the default of PVClaimBinderSyncPeriod in pkg/controller/volume/persistentvolume/config/v1alpha1: how
// often all claims and volumes are looked at. A claim that waits for a volume finds one that is made later only then.
const binderSyncPeriod = 15 * time.Second

func buildVolumeBinder(syncPeriod time.Duration) builder {
	return func(ctx context.Context, e environment) (loop, error) {
		core := e.informers.Core().V1()
		c, err := persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
			KubeClient: recyclingClient{e.client}, SyncPeriod: syncPeriod, VolumePlugins: volumePlugins(),
			VolumeInformer: core.PersistentVolumes(), ClaimInformer: core.PersistentVolumeClaims(),
			ClassInformer: e.informers.Storage().V1().StorageClasses(), PodInformer: core.Pods(), NodeInformer: core.Nodes(),
			EnableDynamicProvisioning: true,
		})
		if err != nil {
			return nil, err
		}
		run := func(ctx context.Context, _ int) { c.Run(ctx) }
		for _, field := range []string{"claimQueue", "volumeQueue"} {
			if err := tap.SwapQueue(e.tap, c, field, stringKey); err != nil {
				return run, err
			}
		}
		return run, tap.SwapField(e.tap, c, "runningOperations", func(m goroutinemap.GoRoutineMap) goroutinemap.GoRoutineMap {
			return operations{m, e.tap}
		})
	}
}

// operations runs what the binder leaves to goroutines of their own, as parts of the reconciles that start them.
type operations struct {
	goroutinemap.GoRoutineMap
	tap *tap.Controller
}

// Run implements goroutinemap.GoRoutineMap.
func (o operations) Run(name string, operation func() error) error {
	release := o.tap.BeginAsyncWork()
	err := o.GoRoutineMap.Run(name, func() error {
		defer release()
		return operation()
	})
	if err != nil {
		release() // it did not start
	}
	return err
}
