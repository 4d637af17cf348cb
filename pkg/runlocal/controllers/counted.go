package controllers

import (
	"context"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// counted are the informers of what quotas count: of whole objects where more than their number counts, of their metadata
// elsewhere, unless another controller has the whole ones. kube-controller-manager's are of whole objects for all built-in
// kinds. It is an InformerFactory of k8s.io/controller-manager/pkg/informerfactory.
type counted struct {
	informers.SharedInformerFactory
	metadata  *tap.MetadataInformers
	discovery discovery.DiscoveryInterface
	turns     kindTurns // used by the one goroutine that asks

	mu     sync.Mutex // guards what follows
	synced map[schema.GroupVersionResource]cache.InformerSynced
	wanted map[schema.GroupVersionResource]struct{} // what is counted; nil while it is not known
}

// measured are the resources of which quotas count more than the number of objects, as in NewEvaluators of
// pkg/quota/v1/evaluator/core/registry.go and DefaultUpdateFilter of pkg/quota/v1/install.
func measured() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithResource("services"),
		corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), resourcev1.SchemeGroupVersion.WithResource("resourceclaims"),
	}
}

// newCounted makes the informers of whole objects, so that they start with those of other controllers.
func newCounted(e environment) (*counted, error) {
	client, err := metadata.NewForConfig(e.config)
	if err != nil {
		return nil, fmt.Errorf("making the metadata client: %w", err)
	}
	c := &counted{
		SharedInformerFactory: e.informers, metadata: e.tap.MetadataInformers(e.informers, client, newMapper(e)),
		discovery: e.client.Discovery(), turns: kindTurns{changes: e.changes()},
		synced: map[schema.GroupVersionResource]cache.InformerSynced{},
	}
	for _, resource := range measured() {
		if _, err := e.informers.ForResource(resource); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// ForResource returns the informer of a resource, whose objects can be listed by namespace.
func (c *counted) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
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

// Start starts what no other informer factory starts.
func (c *counted) Start(stop <-chan struct{}) { c.metadata.Start(stop) }

// kinds waits until there may be another answer than the last, and returns the kinds that the API serves.
func (c *counted) kinds(ctx context.Context) ([]*metav1.APIResourceList, error) {
	if !c.turns.wait(ctx) {
		return nil, ctx.Err()
	}
	lists, err := c.discovery.ServerPreferredNamespacedResources()
	if err != nil {
		c.turns.again()
		return lists, err
	}
	return lists, c.learn(lists)
}

// learn remembers what is counted, and lets go of what is not served any more.
func (c *counted) learn(lists []*metav1.APIResourceList) error {
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

// untilSynced returns when all that is counted was listed, or when that takes too long.
func (c *counted) untilSynced(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, syncPatience)
	defer cancel()
	for !c.hasSynced() && pause(ctx, syncLook) {
	}
}

func (c *counted) hasSynced() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for resource := range c.wanted {
		if synced := c.synced[resource]; synced == nil || !synced() {
			return false
		}
	}
	return c.wanted != nil
}
