package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	csitrans "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/volume/ephemeral"
	"k8s.io/kubernetes/pkg/controller/volume/expand"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	"k8s.io/kubernetes/pkg/controller/volume/vacprotection"
	"k8s.io/kubernetes/pkg/util/goroutinemap"
	"k8s.io/kubernetes/pkg/volume/csimigration"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// volumeBinder mirrors newPersistentVolumeBinderController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func volumeBinder() Controller {
	return Controller{
		Name:    names.PersistentVolumeBinderController,
		Short:   "persistentvolume-binder",
		Aliases: []string{"persistentvolume-binder"},
		Reads: []schema.GroupResource{
			{Resource: "persistentvolumes"}, {Resource: "persistentvolumeclaims"},
			{Group: "storage.k8s.io", Resource: "storageclasses"},
			{Resource: "pods"}, {Resource: "nodes"},
		},
		Writes: []schema.GroupResource{
			// Pods recycle volumes.
			{Resource: "persistentvolumes"}, {Resource: "persistentvolumeclaims"}, {Resource: "pods"},
		},
		Keys: []ObjectKind{
			{"", "PersistentVolumeClaim", "persistentvolumeclaims"}, {"", "PersistentVolume", "persistentvolumes"},
		},
		MakesReady:        true,
		ClusterScopedWork: true,
		workers:           1, // for each of the two queues; upstream has no option
		build:             buildVolumeBinder(binderSyncPeriod),
	}
}

// binderSyncPeriod is how often all claims and volumes are resynced. It mirrors
// RecommendedDefaultPersistentVolumeBinderControllerConfiguration of
// k8s.io/kubernetes/pkg/controller/volume/persistentvolume/config/v1alpha1/defaults.go. A pending claim is bound to a
// volume that is created later only then.
const binderSyncPeriod = 15 * time.Second

// buildVolumeBinder returns what builds the binder with that period of resyncs.
func buildVolumeBinder(syncPeriod time.Duration) buildFunc {
	return func(ctx context.Context, e environment) (runFunc, error) {
		core := e.informers.Core().V1()
		c, err := persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
			KubeClient: recyclingClient{e.client}, SyncPeriod: syncPeriod, VolumePlugins: volumePlugins(),
			VolumeInformer: core.PersistentVolumes(), ClaimInformer: core.PersistentVolumeClaims(),
			ClassInformer: e.informers.Storage().V1().StorageClasses(),
			PodInformer:   core.Pods(), NodeInformer: core.Nodes(),
			EnableDynamicProvisioning: true,
		})
		if err != nil {
			return nil, err
		}
		run := func(ctx context.Context, _ int) { c.Run(ctx) }
		if err := e.tapQueues(c, "claimQueue", "volumeQueue"); err != nil {
			return run, err
		}
		held := func(m goroutinemap.GoRoutineMap) goroutinemap.GoRoutineMap { return heldOperations{m, e.tap} }
		return run, tap.SwapField(e.tap, c, "runningOperations", held)
	}
}

// heldOperations runs the binder's asynchronous operations as parts of the reconciles that start them: a reconcile ends
// when they have.
type heldOperations struct {
	goroutinemap.GoRoutineMap
	tap *tap.Controller
}

// Run implements goroutinemap.GoRoutineMap.
func (o heldOperations) Run(name string, operation func() error) error {
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

// ephemeralVolumes mirrors newEphemeralVolumeController of k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func ephemeralVolumes() Controller {
	return Controller{
		Name:    names.EphemeralVolumeController,
		Short:   "ephemeral-volume",
		Aliases: []string{"ephemeral-volume"},
		Reads:   []schema.GroupResource{{Resource: "pods"}, {Resource: "persistentvolumeclaims"}},
		Writes:  []schema.GroupResource{{Resource: "persistentvolumeclaims"}},
		workers: 5, // ConcurrentEphemeralVolumeSyncs of pkg/controller/volume/ephemeral/config/v1alpha1
		build:   buildEphemeralVolumes,
	}
}

func buildEphemeralVolumes(ctx context.Context, e environment) (runFunc, error) {
	core := e.informers.Core().V1()
	c, err := ephemeral.NewController(ctx, e.client, core.Pods(), core.PersistentVolumeClaims())
	if err != nil {
		return nil, err
	}
	return c.Run, e.tapQueues(c, "queue")
}

// volumeExpander mirrors newPersistentVolumeExpanderController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go. None of upstream's plugins can expand volumes any more:
// the controller leaves that to a driver's resizer, and reports it in an Event and an annotation.
func volumeExpander() Controller {
	return Controller{
		Name:    names.PersistentVolumeExpanderController,
		Short:   "persistentvolume-expander",
		Aliases: []string{"persistentvolume-expander"},
		Reads:   []schema.GroupResource{{Resource: "persistentvolumeclaims"}},
		Writes:  []schema.GroupResource{{Resource: "persistentvolumeclaims"}},
		workers: 10, // defaultWorkerCount of pkg/controller/volume/expand/expand_controller.go; no option
		build:   buildVolumeExpander,
	}
}

func buildVolumeExpander(ctx context.Context, e environment) (runFunc, error) {
	translator := csitrans.New()
	c, err := expand.NewExpandController(
		ctx, e.client, e.informers.Core().V1().PersistentVolumeClaims(), nil, translator,
		csimigration.NewPluginManager(translator),
	)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ int) { c.Run(ctx) }, e.tapQueues(c, "queue")
}

// claimProtection mirrors newPersistentVolumeClaimProtectionController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func claimProtection() Controller {
	return Controller{
		Name:             names.PersistentVolumeClaimProtectionController,
		Short:            "pvc-protection",
		Aliases:          []string{"pvc-protection"},
		Reads:            []schema.GroupResource{{Resource: "persistentvolumeclaims"}, {Resource: "pods"}},
		Writes:           []schema.GroupResource{{Resource: "persistentvolumeclaims"}},
		NoisyLogMessages: []string{"Pod uses PVC"}, // every change of a pod with claims adds a key
		workers:          1,
		build:            buildClaimProtection,
	}
}

func buildClaimProtection(ctx context.Context, e environment) (runFunc, error) {
	core := e.informers.Core().V1()
	c, err := pvcprotection.NewPVCProtectionController(
		klog.FromContext(ctx), core.PersistentVolumeClaims(), core.Pods(), e.client)
	if err != nil {
		return nil, err
	}
	e.tap.SetTraits(tap.ControllerTraits{ErrorLevel: 4, BegunKey: startedClaim})
	return c.Run, e.tapQueues(c, "queue")
}

// startedClaim returns the key of the claim that pvc-protection begins to work on, by what it logs first; "" if the
// message is another one. One goroutine takes claims from the queue, sorts them by namespace and passes them to another
// one through pvcProcessingStore.namespaceQueue. Keys are done only when the latter is done with them, so the inner
// queue is not tapped.
func startedClaim(message string, keysAndValues []any) string {
	if message != "Processing PVC" || len(keysAndValues) < 2 {
		return ""
	}
	return fmt.Sprint(keysAndValues[1])
}

// volumeProtection mirrors newPersistentVolumeProtectionController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
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

func buildVolumeProtection(ctx context.Context, e environment) (runFunc, error) {
	c, err := pvprotection.NewPVProtectionController(klog.FromContext(ctx), e.informers.Core().V1().PersistentVolumes(),
		e.client)
	if err != nil {
		return nil, err
	}
	return c.Run, e.tapQueues(c, "queue")
}

// attributesClassProtection mirrors newVolumeAttributesClassProtectionController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func attributesClassProtection() Controller {
	classes := schema.GroupResource{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}
	return Controller{
		Name:  names.VolumeAttributesClassProtectionController,
		Short: "volumeattributesclass-protection",
		Reads: []schema.GroupResource{
			{Resource: "persistentvolumeclaims"}, {Resource: "persistentvolumes"}, classes,
		},
		Writes:            []schema.GroupResource{classes},
		Danger:            "lets a volume attributes class go whose claims it does not see",
		ClusterScopedWork: true,
		workers:           1,
		build:             buildAttributesClassProtection,
	}
}

func buildAttributesClassProtection(ctx context.Context, e environment) (runFunc, error) {
	core := e.informers.Core().V1()
	c, err := vacprotection.NewVACProtectionController(
		klog.FromContext(ctx), e.client, core.PersistentVolumeClaims(), core.PersistentVolumes(),
		e.informers.Storage().V1().VolumeAttributesClasses(),
	)
	if err != nil {
		return nil, err
	}
	return c.Run, e.tapQueues(c, "queue")
}
