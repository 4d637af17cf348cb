package controllers

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// resourceQuotaController mirrors newResourceQuotaController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func resourceQuotaController() Controller {
	return Controller{
		Name:    names.ResourceQuotaController,
		Short:   "resourcequota",
		Aliases: []string{"resourcequota"},
		Reads: []schema.GroupResource{
			{Group: "*", Resource: "*"},
			// The controller waits for these.
			{Group: "resource.k8s.io", Resource: "resourceclaims"},
			{Group: "resource.k8s.io", Resource: "deviceclasses"},
		},
		Writes:  []schema.GroupResource{{Resource: "resourcequotas"}},
		Needs:   []Need{NeedsMetadata, NeedsMapper},
		Keys:    []ObjectKind{{"", "ResourceQuota", "resourcequotas"}},
		workers: 5,
		build: func(ctx context.Context, e environment) (runFunc, error) {
			return buildResourceQuota(ctx, e, quotaResync)
		},
	}
}

// quotaResync is kube-controller-manager's default of --resource-quota-sync-period: how often all quotas are recounted.
const quotaResync = 5 * time.Minute

func buildResourceQuota(ctx context.Context, e environment, resync time.Duration) (runFunc, error) {
	counted, err := newQuotaInformers(e)
	if err != nil {
		return nil, err
	}
	listers := generic.ListerFuncForResourceFunc(counted.ForResource)
	quotas, err := quotainstall.NewQuotaConfigurationForControllers(listers, e.informers)
	if err != nil {
		return nil, fmt.Errorf("making the quota configuration: %w", err)
	}
	started := make(chan struct{})
	close(started) // the controller is run when the informers have synced
	c, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:           e.client.CoreV1(),
		ResourceQuotaInformer: e.informers.Core().V1().ResourceQuotas(),
		ResyncPeriod:          func() time.Duration { return resync },
		InformerFactory:       counted,
		// A resync changes no quota. kube-controller-manager has one every 12 to 24 h.
		ReplenishmentResyncPeriod: func() time.Duration { return 0 },
		// Kinds are discovered by Sync, when all other controllers have their informers, so that this one can share
		// them.
		DiscoveryFunc:        func() ([]*metav1.APIResourceList, error) { return nil, nil },
		IgnoredResourcesFunc: quotas.IgnoredResources,
		InformersStarted:     started,
		Registry:             generic.NewRegistry(quotas.Evaluators()),
		UpdateFilter:         quotainstall.DefaultUpdateFilter(),
	})
	if err != nil {
		return nil, err
	}
	e.tap.SetPreparing(true)
	run := func(ctx context.Context, workers int) {
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx, workers) })
		running.Go(func() {
			counted.waitForSync(ctx)
			e.tap.SetPreparing(false)
		})
		c.Sync(ctx, func() ([]*metav1.APIResourceList, error) { return counted.discoverKinds(ctx) }, syncPeriod)
		running.Wait()
		counted.metadata.Wait()
	}
	return run, tapQuotas(e.tap, c)
}

// tapQuotas taps the queues. Events pass through that of the quota monitor, as through a relay.
func tapQuotas(c *tap.Controller, quotas *resourcequota.Controller) error {
	for _, field := range []string{"queue", "missingUsageQueue"} {
		if err := tap.SwapQueue(c, quotas, field, stringKey); err != nil {
			return err
		}
	}
	return tap.SwapRelay(c, quotas, "quotaMonitor.resourceChanges")
}

// quotaInformers provides the informers of what quotas count: of whole objects where more than their number counts, of
// their metadata elsewhere, unless another controller watches the whole objects. kube-controller-manager has whole
// objects of all built-in kinds. It implements InformerFactory of k8s.io/controller-manager/pkg/informerfactory.
type quotaInformers struct {
	informers.SharedInformerFactory
	metadata  *tap.MetadataInformers
	discovery discovery.DiscoveryInterface
	poller    kindPoller // used only by the goroutine that calls discoverKinds

	mu     sync.Mutex // guards what follows
	synced map[schema.GroupVersionResource]cache.InformerSynced
	wanted map[schema.GroupVersionResource]struct{} // what is counted; nil before the first discovery
}

// wholeObjectResources returns the resources of which quotas count more than the number of objects. It mirrors
// NewEvaluators of k8s.io/kubernetes/pkg/quota/v1/evaluator/core/registry.go and DefaultUpdateFilter of
// k8s.io/kubernetes/pkg/quota/v1/install/update_filter.go.
func wholeObjectResources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithResource("services"),
		corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"),
		resourcev1.SchemeGroupVersion.WithResource("resourceclaims"),
	}
}

// newQuotaInformers requests the informers of whole objects, so that they start with those of other controllers.
func newQuotaInformers(e environment) (*quotaInformers, error) {
	client, err := metadata.NewForConfig(e.config)
	if err != nil {
		return nil, fmt.Errorf("making the metadata client: %w", err)
	}
	c := &quotaInformers{
		SharedInformerFactory: e.informers, metadata: e.tap.MetadataInformers(e.informers, client, newMapper(e)),
		discovery: e.client.Discovery(), poller: kindPoller{changes: e.changes()},
		synced: map[schema.GroupVersionResource]cache.InformerSynced{},
	}
	for _, resource := range wholeObjectResources() {
		if _, err := e.informers.ForResource(resource); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// ForResource returns the informer of a resource, with an index by namespace.
func (c *quotaInformers) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	generic, err := c.metadata.ForResource(resource)
	if err != nil {
		return nil, err
	}
	informer := generic.Informer()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.synced[resource] = informer.HasSynced
	if _, indexed := informer.GetIndexer().GetIndexers()[cache.NamespaceIndex]; !indexed {
		err = informer.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	return generic, err
}

// Start starts the informers of metadata; the others are started by Start of this package.
func (c *quotaInformers) Start(stop <-chan struct{}) { c.metadata.Start(stop) }

// discoverKinds waits until the kinds may have changed, and returns those that the API serves.
func (c *quotaInformers) discoverKinds(ctx context.Context) ([]*metav1.APIResourceList, error) {
	if !c.poller.wait(ctx) {
		return nil, ctx.Err()
	}
	lists, err := c.discovery.ServerPreferredNamespacedResources()
	if err != nil {
		c.poller.retrySoon()
		return lists, err
	}
	return lists, c.setWanted(lists)
}

// setWanted remembers what is counted, and stops the informers of what is no longer served.
func (c *quotaInformers) setWanted(lists []*metav1.APIResourceList) error {
	wanted, err := resourcequota.GetQuotableResources(func() ([]*metav1.APIResourceList, error) { return lists, nil })
	if err != nil {
		return err
	}
	ignored := quotainstall.DefaultIgnoredResources()
	maps.DeleteFunc(wanted, func(r schema.GroupVersionResource, _ struct{}) bool {
		_, is := ignored[r.GroupResource()]
		return is
	})
	c.metadata.StopUnserved(func(r schema.GroupVersionResource) bool {
		_, is := wanted[r]
		return is
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = wanted
	return nil
}

// waitForSync waits until all that is counted was listed, for quotaSyncTimeout at most.
func (c *quotaInformers) waitForSync(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, quotaSyncTimeout)
	defer cancel()
	for !c.hasSynced() && sleep(ctx, syncPollInterval) {
	}
}

// hasSynced reports whether all that is counted was listed. It is false before the first discovery.
func (c *quotaInformers) hasSynced() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for resource := range c.wanted {
		if synced := c.synced[resource]; synced == nil || !synced() {
			return false
		}
	}
	return c.wanted != nil
}
