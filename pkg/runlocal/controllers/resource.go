package controllers

import (
	"context"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/devicetainteviction"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// resourceClaimController mirrors newResourceClaimController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/resource.go.
func resourceClaimController() Controller {
	claims := schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}
	return Controller{
		Name:    names.ResourceClaimController,
		Short:   "resourceclaim",
		Aliases: []string{"resource-claim-controller"},
		Reads: []schema.GroupResource{
			{Resource: "pods"}, claims, {Group: "resource.k8s.io", Resource: "resourceclaimtemplates"},
		},
		Writes:  []schema.GroupResource{claims, {Resource: "pods"}},
		workers: 50,
		build:   buildResourceClaim,
	}
}

// buildResourceClaim passes an informer of PodGroups, which upstream starts only with a feature gate that is off by
// default (DRAWorkloadResourceClaims).
func buildResourceClaim(ctx context.Context, e environment) (runFunc, error) {
	resources := e.informers.Resource().V1()
	c, err := resourceclaim.NewController(
		klog.FromContext(ctx), e.client, e.informers.Core().V1().Pods(), e.informers.Scheduling().V1beta1().PodGroups(),
		resources.ResourceClaims(), resources.ResourceClaimTemplates(),
	)
	if err != nil {
		return nil, err
	}
	return c.Run, tap.SwapQueue(e.tap, c, "queue", claimantKey)
}

// claimantKey returns the text of a key as for other controllers whose keys are of several kinds. Upstream's begin with
// a prefix (podKeyPrefix and others in pkg/controller/resourceclaim/controller.go).
func claimantKey(key string) string {
	prefix, name, _ := strings.Cut(key, ":")
	switch prefix {
	case "pod":
		return "pods " + name
	case "podgroup":
		return "podgroups " + name
	case "claim":
		return "resourceclaims " + name
	}
	return key
}

// deviceTaintEviction mirrors newDeviceTaintEvictionController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/resource.go.
func deviceTaintEviction() Controller {
	return Controller{
		Name:  names.DeviceTaintEvictionController,
		Short: "device-taint-eviction",
		Reads: []schema.GroupResource{
			{Resource: "pods"}, {Group: "resource.k8s.io", Resource: "resourceclaims"},
			{Group: "resource.k8s.io", Resource: "resourceslices"},
			{Group: "resource.k8s.io", Resource: "devicetaintrules"},
			{Group: "resource.k8s.io", Resource: "deviceclasses"},
		},
		Writes:  []schema.GroupResource{{Resource: "pods"}, {Group: "resource.k8s.io", Resource: "devicetaintrules"}},
		Danger:  "deletes pods by taints of devices that it may see late",
		workers: 8, // ConcurrentSyncs of pkg/controller/devicetainteviction/config/v1alpha1/defaults.go
		build:   buildDeviceTaintEviction,
	}
}

// deviceTaintWork has the layout of workItem in pkg/controller/devicetainteviction/device_taint_eviction.go: a pod or a
// rule.
type deviceTaintWork struct {
	podRef, ruleRef tainteviction.NamespacedObject
}

func (w deviceTaintWork) text() string {
	if w.podRef.Name != "" {
		return "pods " + w.podRef.Namespace + "/" + w.podRef.Name
	}
	return "devicetaintrules " + w.ruleRef.Name
}

// buildDeviceTaintEviction taps the queue when the controller runs: upstream makes it in Run, not in the constructor.
func buildDeviceTaintEviction(_ context.Context, e environment) (runFunc, error) {
	controller := reflect.TypeFor[devicetainteviction.Controller]()
	if err := tap.CheckQueueField[deviceTaintWork](controller, "workqueue"); err != nil {
		return nil, err
	}
	resources := e.informers.Resource().V1()
	claims := &hookedClaimInformer{ResourceClaimInformer: resources.ResourceClaims()}
	c := devicetainteviction.New(
		e.client, e.informers.Core().V1().Pods(), claims, resources.ResourceSlices(), resources.DeviceTaintRules(),
		resources.DeviceClasses(), names.DeviceTaintEvictionController,
	)
	return func(ctx context.Context, workers int) {
		logger := klog.FromContext(ctx)
		// Its Run makes the queue, and then gets this informer to add its first handler.
		claims.onFirstUse(func() {
			if err := tap.SwapQueue(e.tap, c, "workqueue", deviceTaintWork.text); err != nil {
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

// hookedClaimInformer provides an informer of claims, and calls the function that onFirstUse was given when the
// informer is next requested.
type hookedClaimInformer struct {
	resourceinformers.ResourceClaimInformer
	once func()
}

func (f *hookedClaimInformer) onFirstUse(do func()) { f.once = sync.OnceFunc(do) }

// Informer implements ResourceClaimInformer.
func (f *hookedClaimInformer) Informer() cache.SharedIndexInformer {
	if f.once != nil {
		f.once()
	}
	return f.ResourceClaimInformer.Informer()
}
