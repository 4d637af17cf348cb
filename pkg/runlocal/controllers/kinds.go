package controllers

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

const (
	// kindsPollInterval is how often it is looked whether kinds may have changed. That costs next to nothing.
	kindsPollInterval = 100 * time.Millisecond
	// discoveryLag is for how long after a change discovery may lag behind it: it is asked at each turn. So it is after an error.
	discoveryLag = 2 * time.Second
	// kindsResyncPeriod is how long is waited when changes are not known, as in kube-controller-manager.
	kindsResyncPeriod = 30 * time.Second
)

// kindPoller tell a goroutine that asks again and again which kinds the API serves when it is worth asking. It is for that
// goroutine alone.
type kindPoller struct {
	// changes returns a number that changes when kinds may have; nil if that is not known.
	changes func() uint64
	// partial reports that not all changes are known: kinds are asked for from time to time as well.
	partial bool
	// mustPoll reports whether there is another reason to ask; nil if there is none.
	urgent func() bool

	lastAsked   time.Time // zero before the first turn
	lastChanges uint64
	lagUntil    time.Time
}

// retrySoon makes the next turns come soon, changes or none: what was not answered is asked for again.
func (k *kindPoller) retrySoon() { k.lagUntil = time.Now().Add(discoveryLag) }

// wait returns when discovery is to be asked, or with false when ctx has ended.
func (k *kindPoller) wait(ctx context.Context) bool {
	for !k.due(time.Now()) {
		if !sleep(ctx, kindsPollInterval) {
			return false
		}
	}
	k.lastAsked = time.Now()
	return ctx.Err() == nil
}

// due reports whether discovery is to be asked.
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

// kindCache is what is known of the kinds that the API serves. kube-controller-manager forgets it every 30 s; this one
// counts as stale as soon as there may be new kinds, and a mapper asks again when it misses one.
type kindCache struct {
	discovery.CachedDiscoveryInterface
	changes func() uint64 // Kinds.Changes; nil if that is not known
	now     func() time.Time

	mu          sync.Mutex // guards what follows
	lastChanges uint64
	emptiedAt   time.Time // when it was last emptied
	lagUntil    time.Time // until when discovery may lag behind the last change
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
