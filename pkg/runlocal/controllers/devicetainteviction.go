package controllers

import (
	"context"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/devicetainteviction"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// deviceTaintEviction is newDeviceTaintEvictionController of cmd/kube-controller-manager/app/resource.go.
func deviceTaintEviction() Controller {
	return Controller{
		Name:  names.DeviceTaintEvictionController,
		Short: "device-taint-eviction",
		Reads: []schema.GroupResource{
			{Resource: "pods"}, {Group: "resource.k8s.io", Resource: "resourceclaims"}, {Group: "resource.k8s.io", Resource: "resourceslices"},
			{Group: "resource.k8s.io", Resource: "devicetaintrules"}, {Group: "resource.k8s.io", Resource: "deviceclasses"},
		},
		Writes:  []schema.GroupResource{{Resource: "pods"}, {Group: "resource.k8s.io", Resource: "devicetaintrules"}},
		Danger:  "deletes pods by taints of devices that it may see late",
		workers: 8, // ConcurrentSyncs of pkg/controller/devicetainteviction/config/v1alpha1/defaults.go
		build:   buildDeviceTaintEviction,
	}
}

// deviceTaintWork is workItem of pkg/controller/devicetainteviction/device_taint_eviction.go: a pod or a rule.
type deviceTaintWork struct {
	podRef, ruleRef tainteviction.NamespacedObject
}

func (w deviceTaintWork) key() string {
	if w.podRef.Name != "" {
		return "pods " + w.podRef.Namespace + "/" + w.podRef.Name
	}
	return "devicetaintrules " + w.ruleRef.Name
}

func buildDeviceTaintEviction(_ context.Context, e environment) (loop, error) {
	if err := tap.CheckQueueField[deviceTaintWork](reflect.TypeFor[devicetainteviction.Controller](), "workqueue"); err != nil {
		return nil, err
	}
	resources := e.informers.Resource().V1()
	claims := &firstUse{ResourceClaimInformer: resources.ResourceClaims()}
	c := devicetainteviction.New(
		e.client, e.informers.Core().V1().Pods(), claims, resources.ResourceSlices(), resources.DeviceTaintRules(),
		resources.DeviceClasses(), names.DeviceTaintEvictionController,
	)
	return func(ctx context.Context, workers int) {
		logger := klog.FromContext(ctx)
		// Its Run makes the queue, and then asks for this informer to add its first handler.
		claims.then(func() {
			if err := tap.SwapQueue(e.tap, c, "workqueue", deviceTaintWork.key); err != nil {
				logger.Error(err, "The reconciles of this controller are not seen")
			}
		})
		_ = e.tap.Build(ctx, func(ctx context.Context) error { // its handlers are registered by Run
			if err := c.Run(ctx, workers); err != nil {
				logger.Error(err, "Device taint processing leading to Pod eviction failed and is now paused")
			}
			return nil
		})
		<-ctx.Done()
	}, nil
}

// firstUse is an informer of claims that calls a function when it is first asked for after that was set.
type firstUse struct {
	resourceinformers.ResourceClaimInformer
	once func()
}

func (f *firstUse) then(do func()) { f.once = sync.OnceFunc(do) }

// Informer implements ResourceClaimInformer.
func (f *firstUse) Informer() cache.SharedIndexInformer {
	if f.once != nil {
		f.once()
	}
	return f.ResourceClaimInformer.Informer()
}
