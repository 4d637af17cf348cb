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
	// kindsLook is how often it is looked whether kinds may have changed. That costs next to nothing.
	kindsLook = 100 * time.Millisecond
	// kindsUnsure is for how long after a change discovery may lag behind it: it is asked at each turn. So it is after an error.
	kindsUnsure = 2 * time.Second
	// kindsUnasked is how long is waited when changes are not known, as in kube-controller-manager.
	kindsUnasked = 30 * time.Second
)

// kindTurns tell a goroutine that asks again and again which kinds the API serves when it is worth asking. It is for that
// goroutine alone.
type kindTurns struct {
	// changes returns a number that changes when kinds may have; nil if that is not known.
	changes func() uint64
	// partial reports that not all changes are known: kinds are asked for from time to time as well.
	partial bool
	// pressing reports whether there is another reason to ask; nil if there is none.
	pressing func() bool

	asked  time.Time // zero before the first turn
	last   uint64
	unsure time.Time
}

// again makes the next turns come soon, changes or none: what was not answered is asked for again.
func (k *kindTurns) again() { k.unsure = time.Now().Add(kindsUnsure) }

// wait returns when discovery is to be asked, or with false when ctx has ended.
func (k *kindTurns) wait(ctx context.Context) bool {
	for !k.due(time.Now()) {
		if !pause(ctx, kindsLook) {
			return false
		}
	}
	k.asked = time.Now()
	return ctx.Err() == nil
}

// due reports whether discovery is to be asked.
func (k *kindTurns) due(now time.Time) bool {
	if k.changes != nil {
		if changes := k.changes(); changes != k.last {
			k.last = changes
			k.again()
			return true
		}
	}
	switch {
	case k.asked.IsZero(), k.pressing != nil && k.pressing():
		return true
	case k.changes != nil && now.Before(k.unsure):
		return true
	}
	return (k.changes == nil || k.partial) && now.Sub(k.asked) >= kindsUnasked
}

func pause(ctx context.Context, d time.Duration) bool {
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
