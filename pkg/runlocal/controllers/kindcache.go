package controllers

import (
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

// kindCache is what is known of the kinds that the API serves. kube-controller-manager forgets it every 30 s; this one
// counts as stale as soon as there may be new kinds, and a mapper asks again when it misses one.
type kindCache struct {
	discovery.CachedDiscoveryInterface
	changes func() uint64 // Kinds.Changes; nil if that is not known
	now     func() time.Time

	mu     sync.Mutex // guards what follows
	last   uint64
	asked  time.Time // when it was last emptied
	unsure time.Time // until when discovery may lag behind the last change
}

// newMapper returns a mapper of kinds and resources that learns of new ones. It asks when it is first used.
func newMapper(e environment) *restmapper.DeferredDiscoveryRESTMapper {
	return restmapper.NewDeferredDiscoveryRESTMapper(&kindCache{
		CachedDiscoveryInterface: memory.NewMemCacheClient(e.client.Discovery()), changes: e.changes(), now: time.Now,
	})
}

var _ discovery.CachedDiscoveryInterface = (*kindCache)(nil)

// Fresh implements discovery.CachedDiscoveryInterface: a mapper that misses a kind in a cache that is fresh takes it that
// there is none. What was asked for a moment ago counts as fresh in any case, for the mapper asks until it is.
func (k *kindCache) Fresh() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	age := now.Sub(k.asked)
	if k.changes == nil {
		return age < kindsUnasked
	}
	if changes := k.changes(); changes != k.last {
		k.last, k.unsure = changes, now.Add(kindsUnsure)
		return false
	}
	return age < kindsLook || !k.asked.IsZero() && now.After(k.unsure)
}

// Invalidate implements discovery.CachedDiscoveryInterface.
func (k *kindCache) Invalidate() {
	k.mu.Lock()
	k.asked = k.now()
	k.mu.Unlock()
	k.CachedDiscoveryInterface.Invalidate()
}
