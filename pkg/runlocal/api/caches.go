package api

import (
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
)

// caches are what the server itself reads objects from: admission above all, but also authorization and the allocator of addresses.
type caches map[schema.GroupResource]cache.Store

// startedCaches are those of the informers of factory that are started.
func startedCaches(factory informers.SharedInformerFactory) caches {
	now := make(chan struct{})
	close(now) // to be told of all of them, and not to wait for any
	found := caches{}
	for typ := range factory.WaitForCacheSync(now) {
		object, ok := reflect.TypeAssert[runtime.Object](reflect.New(typ.Elem()))
		if !ok {
			continue
		}
		kinds, _, err := scheme.Scheme.ObjectKinds(object)
		if err != nil || len(kinds) == 0 {
			continue // of no built-in kind
		}
		resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
		found[resource.GroupResource()] = factory.InformerFor(object, nil).GetStore() // there is one, so none is made
	}
	return found
}

// CachesSynced reports whether what the server itself goes by, admission above all, has seen the newest event of a resource. It is true for
// a resource that it does not go by. Policies are an exception: they come into force up to a second after they were seen.
func (s *Server) CachesSynced(gr schema.GroupResource) bool {
	store, ok := s.caches[gr]
	if !ok {
		return true
	}
	seen, err := strconv.ParseUint(store.LastStoreSyncResourceVersion(), 10, 64)
	return err == nil && seen >= s.LastEvent(gr)
}
