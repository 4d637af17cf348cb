package api

import (
	"fmt"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	serveroptions "k8s.io/apiserver/pkg/server/options"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	flowcontrolrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/kubernetes/pkg/kubeapiserver"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api/memstore"
)

// registryPrefix begins every key, as in etcd.
const registryPrefix = "/registry"

// backend creates the storage of every resource in one memstore, and knows the prefix of each.
type backend struct {
	store  *memstore.Store
	counts flowcontrolrequest.StorageObjectCountTracker // of the objects of each resource

	mu        sync.RWMutex
	resources map[schema.GroupResource]resourceStorage
	// countPeriod is how often the objects of each resource are counted; 0 means never.
	countPeriod time.Duration
	checks      map[schema.GroupResource]strategies // nil without Options.CheckObjects; not changed after the start
}

// resourceStorage is where and how the objects of a resource are kept.
type resourceStorage struct {
	prefix string // such as "/pods"
	mode   memstore.Mode
	config *storagebackend.ConfigForResource
	// custom is set for custom resources, which are stored encoded and decoded into unstructured objects.
	custom bool
}

// compactionInterval is kube-apiserver's default --etcd-compaction-interval.
const compactionInterval = 5 * time.Minute

func newBackend(o Options) *backend {
	compaction, counting := compactionInterval, countInterval
	if o.Recorded != nil { // its versions are not those of the store, and its requests are not estimated
		compaction, counting = 0, 0
	}
	return &backend{
		store: memstore.New(memstore.Options{
			History: o.History, OnCommit: o.OnCommit, NewUID: o.NewUID, Clock: o.Clock,
			CompactionInterval: compaction,
		}),
		counts:      flowcontrolrequest.NewStorageObjectCountTracker(),
		countPeriod: counting,
		resources:   map[schema.GroupResource]resourceStorage{},
	}
}

// lastEvent returns the resource version of the newest event of gr, 0 if it never had one.
func (b *backend) lastEvent(gr schema.GroupResource) uint64 {
	b.mu.RLock()
	storage, ok := b.resources[gr]
	b.mu.RUnlock()
	if !ok {
		return 0
	}
	return b.store.LastEvent(storage.prefix)
}

// options returns the REST options of one resource.
func (b *backend) options(gr schema.GroupResource, storage resourceStorage) generic.RESTOptions {
	b.mu.Lock()
	b.resources[gr] = storage
	b.mu.Unlock()
	return generic.RESTOptions{
		StorageConfig:             storage.config,
		Decorator:                 b.store.Decorator(storage.mode),
		EnableGarbageCollection:   true,
		DeleteCollectionWorkers:   1,
		ResourcePrefix:            storage.prefix,
		CountMetricPollPeriod:     b.countPeriod,
		StorageObjectCountTracker: b.counts,
	}
}

// builtInStorage is the RESTOptionsGetter of the resources compiled into kube-apiserver. They are stored as internal
// objects, so that reads do not decode.
type builtInStorage struct {
	*backend
	factory *serverstorage.DefaultStorageFactory
}

var _ generic.RESTOptionsGetter = (*builtInStorage)(nil)

// newBuiltInStorage mirrors BuildGenericConfig of k8s.io/kubernetes/pkg/controlplane/apiserver/config.go as far as it
// makes the storage factory, which decides which resources share a prefix (events of two groups) and in which version
// they would be stored.
func newBuiltInStorage(
	b *backend, version basecompatibility.EffectiveVersion, served *serverstorage.ResourceConfig,
) (*builtInStorage, error) {
	config := kubeapiserver.NewStorageFactoryConfigEffectiveVersion(version)
	config.APIResourceConfig = served
	etcd := serveroptions.NewEtcdOptions(storagebackend.NewDefaultConfig(registryPrefix, nil))
	etcd.DefaultStorageMediaType = runtime.ContentTypeProtobuf
	factory, err := config.Complete(etcd).New()
	if err != nil {
		return nil, fmt.Errorf("building the storage factory: %w", err)
	}
	return &builtInStorage{backend: b, factory: factory}, nil
}

// GetRESTOptions is called once for every resource while the API groups are built.
func (g *builtInStorage) GetRESTOptions(gr schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	config, err := g.factory.NewConfig(gr, example)
	if err != nil {
		return generic.RESTOptions{}, fmt.Errorf("configuring the storage of %q: %w", gr, err)
	}
	mode := memstore.Objects
	if size, ok := kubeapiserver.DefaultWatchCacheSizes()[gr]; ok && size == 0 {
		mode = memstore.Uncached
	}
	return g.options(gr, resourceStorage{"/" + g.factory.ResourcePrefix(gr), mode, config, false}), nil
}

// crdStorage is the RESTOptionsGetter of CustomResourceDefinitions.
type crdStorage struct{ *backend }

var _ generic.RESTOptionsGetter = crdStorage{}

// GetRESTOptions mirrors CreateAPIExtensionsConfig of k8s.io/kubernetes/pkg/controlplane/apiserver/apiextensions.go:
// upstream stores v1beta1, which is shorter.
func (g crdStorage) GetRESTOptions(gr schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	codec := apiextensionsserver.Codecs.LegacyCodec(apiextensionsv1beta1.SchemeGroupVersion,
		apiextensionsv1.SchemeGroupVersion)
	config := storagebackend.NewDefaultConfig(registryPrefix, codec)
	config.EncodeVersioner = runtime.NewMultiGroupVersioner(apiextensionsv1beta1.SchemeGroupVersion,
		schema.GroupKind{Group: apiextensionsv1beta1.GroupName})
	return g.options(gr, resourceStorage{customPrefix(gr), memstore.Objects, config.ForResource(gr), false}), nil
}

// customResourceStorage is the RESTOptionsGetter of custom resources. They are stored encoded, because upstream's
// handler for them converts between versions, prunes and applies defaults in the codec.
type customResourceStorage struct{ *backend }

var _ generic.RESTOptionsGetter = customResourceStorage{}

// GetRESTOptions mirrors NewCRDRESTOptionsGetter of k8s.io/apiextensions-apiserver/pkg/cmd/server/options/options.go.
// The handler sets the codec of the custom resource on top.
func (g customResourceStorage) GetRESTOptions(gr schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return g.options(gr, customStorage(gr)), nil
}

// customStorage returns where custom resources are kept, with a codec that neither converts nor prunes.
func customStorage(gr schema.GroupResource) resourceStorage {
	config := storagebackend.NewDefaultConfig(registryPrefix, unstructured.UnstructuredJSONScheme)
	return resourceStorage{customPrefix(gr), memstore.Encoded, config.ForResource(gr), true}
}

// customPrefix returns the prefix of custom resources and of their definitions.
func customPrefix(gr schema.GroupResource) string { return "/" + gr.Group + "/" + gr.Resource }
