package controllers

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

// Kinds tells which kinds an API serves besides the built-in ones. Its methods are called often, and concurrently.
type Kinds interface {
	// Changes returns a number that changes when the API may have begun or ceased to serve a kind.
	Changes() uint64
	// Custom returns the custom resources that are served at this moment.
	Custom() []schema.GroupResource
}

const (
	// kindsPollInterval is how often Kinds.Changes is called. That costs next to nothing.
	kindsPollInterval = 100 * time.Millisecond
	// discoveryLag is how long discovery may lag behind a change of kinds. Until then, and for as long after an error,
	// discovery is read at each turn.
	discoveryLag = 2 * time.Second
	// kindsResyncPeriod is how often discovery is read when changes are not known, as in kube-controller-manager.
	kindsResyncPeriod = 30 * time.Second
)

// kindPoller tells a goroutine that reads discovery in a loop when that is worth doing. Only that goroutine may use it.
type kindPoller struct {
	// changes returns a number that changes when kinds may have; nil if that is not known.
	changes func() uint64
	// partial is true if not all changes are known: discovery is then read from time to time as well.
	partial bool
	// urgent reports whether there is another reason to read discovery; it may be nil.
	urgent func() bool

	lastAsked   time.Time // zero before the first turn
	lastChanges uint64
	lagUntil    time.Time
}

// retrySoon makes the next turns come soon even without changes, after discovery has failed.
func (k *kindPoller) retrySoon() { k.lagUntil = time.Now().Add(discoveryLag) }

// wait returns true when discovery is to be read, and false when ctx has ended.
func (k *kindPoller) wait(ctx context.Context) bool {
	for !k.due(time.Now()) {
		if !sleep(ctx, kindsPollInterval) {
			return false
		}
	}
	k.lastAsked = time.Now()
	return ctx.Err() == nil
}

// due reports whether discovery is to be read.
func (k *kindPoller) due(now time.Time) bool {
	if k.changes != nil {
		if changes := k.changes(); changes != k.lastChanges {
			k.lastChanges = changes
			k.retrySoon()
			return true
		}
	}
	switch {
	case k.lastAsked.IsZero(), k.urgent != nil && k.urgent():
		return true
	case k.changes != nil && now.Before(k.lagUntil):
		return true
	}
	return (k.changes == nil || k.partial) && now.Sub(k.lastAsked) >= kindsResyncPeriod
}

// sleep waits for that time and returns true, or false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// kindCache caches discovery for a RESTMapper. kube-controller-manager empties its cache every 30 s; this one is stale
// as soon as there may be new kinds, and a mapper that misses a kind empties a stale cache and tries again.
type kindCache struct {
	discovery.CachedDiscoveryInterface
	changes func() uint64 // Kinds.Changes; nil if that is not known
	now     func() time.Time

	mu          sync.Mutex // guards what follows
	lastChanges uint64
	emptiedAt   time.Time // when it was last emptied
	lagUntil    time.Time // until when discovery may lag behind the last change
}

// newMapper returns a mapper of kinds and resources that finds new ones too. It reads discovery when it is first used.
func newMapper(e environment) *restmapper.DeferredDiscoveryRESTMapper {
	return restmapper.NewDeferredDiscoveryRESTMapper(&kindCache{
		CachedDiscoveryInterface: memory.NewMemCacheClient(e.client.Discovery()), changes: e.changes(), now: time.Now,
	})
}

var _ discovery.CachedDiscoveryInterface = (*kindCache)(nil)

// Fresh implements discovery.CachedDiscoveryInterface. A mapper that misses a kind in a fresh cache reports that there
// is none; in a stale one it invalidates the cache until it is fresh, so what was just emptied counts as fresh in any
// case.
func (k *kindCache) Fresh() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	age := now.Sub(k.emptiedAt)
	if k.changes == nil {
		return age < kindsResyncPeriod
	}
	if changes := k.changes(); changes != k.lastChanges {
		k.lastChanges, k.lagUntil = changes, now.Add(discoveryLag)
		return false
	}
	return age < kindsPollInterval || !k.emptiedAt.IsZero() && now.After(k.lagUntil)
}

// Invalidate implements discovery.CachedDiscoveryInterface.
func (k *kindCache) Invalidate() {
	k.mu.Lock()
	k.emptiedAt = k.now()
	k.mu.Unlock()
	k.CachedDiscoveryInterface.Invalidate()
}
