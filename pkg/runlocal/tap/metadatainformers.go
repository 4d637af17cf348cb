package tap

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	metadataclient "k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// MetadataInformers returns informers for a controller that watches all resources and needs only the metadata of
// objects. It is an InformerFactory of k8s.io/controller-manager/pkg/informerfactory. If another controller has an
// informer of whole objects, it is shared; if not, only metadata is watched, and watch events are recorded only when
// they turn out to be causes. All methods may be called concurrently.
type MetadataInformers struct {
	tap    *Tap
	shared informers.SharedInformerFactory
	client metadataclient.Interface
	mapper meta.RESTMapper

	running sync.WaitGroup
	mu      sync.Mutex // guards what follows; it is not held while the API is requested
	own     map[schema.GroupVersionResource]*metadataInformer
}

// metadataInformer is an informer of metadata only.
type metadataInformer struct {
	informers.GenericInformer
	observed *informer
	stop     context.CancelFunc // nil before it is started
}

// Informer implements informers.GenericInformer.
func (o *metadataInformer) Informer() cache.SharedIndexInformer { return o.observed }

// MetadataInformers returns informers that share those of shared, which must be of the same Tap, and make others by
// client. mapper returns the kinds of resources.
func (c *Controller) MetadataInformers(
	shared informers.SharedInformerFactory, client metadataclient.Interface, mapper meta.RESTMapper,
) *MetadataInformers {
	return &MetadataInformers{
		tap: c.tap, shared: shared, client: client, mapper: mapper,
		own: map[schema.GroupVersionResource]*metadataInformer{},
	}
}

// ForResource returns the informer of a resource.
func (m *MetadataInformers) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	m.mu.Lock()
	o := m.own[resource]
	m.mu.Unlock()
	if o != nil {
		return o, nil
	}
	for _, i := range m.tap.informersOf(resource.GroupResource()) {
		if i.gvr == resource && !i.lazy { // one of the metadata alone is another MetadataInformers' own
			return m.shared.ForResource(resource)
		}
	}
	kind, err := m.mapper.KindFor(resource) // which may ask the API: workers must not wait for that
	if err != nil {
		return nil, fmt.Errorf("finding the kind of %s: %w", resource.GroupResource(), err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.own[resource]; o != nil {
		return o, nil
	}
	generic := metadatainformer.NewFilteredMetadataInformer(m.client, resource, allNamespaces, 0, cache.Indexers{}, nil)
	if err := generic.Informer().SetTransform(m.tap.trim); err != nil {
		return nil, fmt.Errorf("making the informer of %s: %w", resource.GroupResource(), err)
	}
	observed := m.tap.wrapInformer(kind, resource, generic.Informer(), true)
	o = &metadataInformer{GenericInformer: generic, observed: observed}
	m.own[resource] = o
	return o, nil
}

// Synced reports whether the informer of a resource stores all that existed when it was started; false if there is
// none.
func (m *MetadataInformers) Synced(resource schema.GroupVersionResource) bool {
	m.mu.Lock()
	o := m.own[resource]
	m.mu.Unlock()
	if o != nil {
		return o.observed.HasSynced()
	}
	for _, i := range m.tap.informersOf(resource.GroupResource()) {
		if i.gvr == resource && !i.lazy {
			return i.HasSynced()
		}
	}
	return false
}

// Handled returns State.Handled for the informer of a resource alone; 0 if there is none of metadata only.
func (m *MetadataInformers) Handled(resource schema.GroupVersionResource) uint64 {
	m.mu.Lock()
	o := m.own[resource]
	m.mu.Unlock()
	if o == nil {
		return 0
	}
	m.tap.mu.Lock()
	defer m.tap.mu.Unlock()
	return o.observed.handled()
}

// Start starts the informers of metadata that were not started; they end when stop is closed. Shared informers are
// started by their own factory.
func (m *MetadataInformers) Start(stop <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.own {
		if o.stop != nil {
			continue
		}
		ctx, cancel := context.WithCancel(wait.ContextForChannel(stop))
		o.stop = cancel
		m.running.Go(func() { o.observed.RunWithContext(ctx) })
	}
}

// StopUnserved stops and drops the informers of metadata of resources that are not served any more.
func (m *MetadataInformers) StopUnserved(served func(schema.GroupVersionResource) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for resource, o := range m.own {
		if served(resource) {
			continue
		}
		if o.stop != nil {
			o.stop()
		}
		m.tap.dropInformer(o.observed)
		delete(m.own, resource)
	}
}

// Wait waits until the informers that Start has started have ended.
func (m *MetadataInformers) Wait() { m.running.Wait() }
