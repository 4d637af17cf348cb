package memstore

import (
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"
)

// Mode is how the objects of a resource are kept, and how requests at a resource version are answered. All users of one
// resource prefix must choose the same.
type Mode int

const (
	// Objects keeps internal objects, shared between readers, never mutated: as decoding the storage encoding makes
	// them, which happens once, when they are written. It is for resources whose objects have one Go type whatever
	// version is asked for. A storage transformer (encryption) has nothing to transform and is ignored.
	Objects Mode = iota
	// Encoded keeps the bytes that the storage codec makes, transformed by the storage configuration's transformer if
	// it has one, and decodes at every read. It is for custom resources, whose versions decode to different objects.
	Encoded
	// Uncached keeps what Encoded keeps, and answers as etcd does without a watch cache before it: lists at any version
	// come in pages, and errors have other texts. A kube-apiserver has no watch cache for Events, which are many and
	// seldom read.
	Uncached
)

// String returns the mode's name.
func (m Mode) String() string {
	switch m {
	case Encoded:
		return "Encoded"
	case Uncached:
		return "Uncached"
	default:
		return "Objects"
	}
}

// watchRetryAfterSeconds is the Retry-After for a watch from a future resource version: the watch cache's figure.
// Without it, it is one of 1 to 3 by chance: startWatching of upstream's etcd3/watcher.go.
const watchRetryAfterSeconds = 1

// retryAfterSeconds returns the Retry-After for a read at a future resource version: the watch cache's figure, or 0 for
// none, as the next write may be far off.
func (m Mode) retryAfterSeconds() int {
	if m == Uncached {
		return 0
	}
	return 1
}

// Decorator returns a generic.StorageDecorator that keeps resources in s. It takes the codec, the prefix of keys and
// the transformer from the storage configuration; indexes and triggers are ignored, since lists are fast without. The
// storages of one resource prefix share their objects. Destroying one ends its watches and leaves the objects alone.
// The decorator fails for an empty or relative resource prefix and for one that is in use with the other mode.
func (s *Store) Decorator(m Mode) generic.StorageDecorator {
	return func(config *storagebackend.ConfigForResource, resourcePrefix string,
		_ func(obj runtime.Object) (string, error),
		newFunc, _ func() runtime.Object, _ storage.AttrFunc, _ storage.IndexerFuncs, _ *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		r, err := s.newResource(config, resourcePrefix, newFunc, m)
		if err != nil {
			return nil, nil, err
		}
		return r, r.destroy, nil
	}
}

// resource is the storage.Interface of one resource: it mirrors store.Get, store.Create, store.conditionalDelete,
// store.GuaranteedUpdate, store.GetList and store.Watch of k8s.io/apiserver/pkg/storage/etcd3/store.go. It is safe for
// concurrent use.
type resource struct {
	store          *Store
	table          *table
	representation representation
	versioner      storage.APIObjectVersioner
	pathPrefix     string // "/registry/"
	resourcePrefix string // "/pods"
	groupResource  schema.GroupResource
	newFunc        func() runtime.Object // nil: no bookmarks
	watchers       *watcherGroup
	sizes          sizes
	// corruptible is whether an object that cannot be decoded is reported as such and may be deleted unread.
	corruptible bool
}

var _ storage.Interface = (*resource)(nil)

// newResource returns the storage.Interface of a resource; see Decorator for its errors.
func (s *Store) newResource(
	config *storagebackend.ConfigForResource, resourcePrefix string, newFunc func() runtime.Object, m Mode,
) (*resource, error) {
	if !strings.HasPrefix(resourcePrefix, "/") || resourcePrefix == "/" {
		return nil, fmt.Errorf("storing %v: resource prefix %q is not an absolute path", config.GroupResource,
			resourcePrefix)
	}
	t := s.table(resourcePrefix, m)
	if t.mode != m {
		return nil, fmt.Errorf("storing %v: %q is in use with mode %v, not %v", config.GroupResource, resourcePrefix,
			t.mode, m)
	}
	r := &resource{
		store: s, table: t, resourcePrefix: resourcePrefix, groupResource: config.GroupResource, newFunc: newFunc,
		pathPrefix:  strings.TrimSuffix(path.Join("/", config.Prefix), "/") + "/",
		corruptible: utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion),
		watchers:    s.newGroup(),
	}
	r.representation = objectRepresentation{codec: config.Codec}
	if m != Objects {
		r.representation = newEncodedRepresentation(config, r.corruptible)
	}
	return r, nil
}

// destroy ends the resource's watches, and returns when they have ended.
func (r *resource) destroy() {
	r.store.dropGroup(r.watchers)
}

// key returns the full key for a key of the registry, with the prefix of the storage configuration, so that
// error texts name the same key as those of a kube-apiserver.
func (r *resource) key(key string, recursive bool) (string, error) {
	key, err := storage.PrepareKey(r.resourcePrefix, key, recursive)
	if err != nil {
		return "", err
	}
	return r.pathPrefix + strings.TrimPrefix(key, "/"), nil
}
