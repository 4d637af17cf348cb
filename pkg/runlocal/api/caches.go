package api

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
)

// caches are the informer caches that the server itself reads: those of admission above all, but also of authorization
// and the allocator of addresses. A key is the resource.
type caches map[schema.GroupResource]cache.Store

// startedCaches returns the caches of the informers of factory that are started.
func startedCaches(factory informers.SharedInformerFactory) caches {
	now := make(chan struct{})
	close(now) // WaitForCacheSync returns all started informers, and does not wait
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
		// it exists, so the nil function is not called
		found[resource.GroupResource()] = factory.InformerFor(object, nil).GetStore()
	}
	return found
}

// CachesSynced reports whether the caches that the server itself reads, for admission above all, have the newest event
// of a resource, and for admission policies and their bindings, whether admission goes by them, which it does up to a
// second later. It is true for a resource without such a cache.
func (s *Server) CachesSynced(gr schema.GroupResource) bool {
	store, ok := s.caches[gr]
	if !ok {
		return true
	}
	seen := snapshot.VersionNumber(store.LastStoreSyncResourceVersion())
	return seen > 0 && seen >= s.LastEvent(gr) && s.policiesInForce(gr)
}
