package controllers

import (
	"testing"
	"time"

	"k8s.io/client-go/discovery"
)

// countingCache counts how often a cache is emptied.
type countingCache struct {
	discovery.CachedDiscoveryInterface
	times int
}

func (e *countingCache) Invalidate() { e.times++ }

func TestKindCacheIsFresh(t *testing.T) {
	type step struct {
		after   time.Duration
		changes uint64
		want    bool
		reason  string
	}
	for _, test := range []struct {
		name  string
		told  bool // whether changes are known
		steps []step
	}{
		{"changes are known", true, []step{
			{0, 7, false, "nothing was asked yet"},
			{0, 7, true, "it was asked just now"},
			{kindsPollInterval, 7, false, "discovery may lag behind the change"},
			{discoveryLag + 1, 7, true, "discovery has had its time"},
			{time.Hour, 7, true, "nothing has changed"},
			{0, 8, false, "there may be a new kind"},
			{0, 8, true, "it was asked just now"},
		}},
		{"changes are not known", false, []step{
			{0, 0, false, "nothing was asked yet"},
			{kindsResyncPeriod - 1, 0, true, "it was asked not long ago"},
			{1, 0, false, "it was asked long ago"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			now, changes := time.Unix(1e9, 0), uint64(0)
			inner := &countingCache{}
			cache := &kindCache{CachedDiscoveryInterface: inner, now: func() time.Time { return now }}
			if test.told {
				cache.changes = func() uint64 { return changes }
			}
			asked := 0
			for _, s := range test.steps {
				now, changes = now.Add(s.after), s.changes
				if got := cache.Fresh(); got != s.want {
					t.Errorf("%s: fresh is %v", s.reason, got)
				}
				if !s.want {
					cache.Invalidate() // as a mapper does
					asked++
				}
			}
			if inner.times != asked {
				t.Errorf("the cache behind it was emptied %d times, want %d", inner.times, asked)
			}
		})
	}
}

func TestKindTurnsComeWhenSomethingMayHaveChanged(t *testing.T) {
	number := uint64(1)
	k := kindPoller{changes: func() uint64 { return number }}
	if !k.wait(t.Context()) || k.lastChanges != 1 {
		t.Fatal("the first time it asks at once")
	}
	number++
	if !k.wait(t.Context()) || k.lastChanges != 2 {
		t.Error("it asks when the number has changed")
	}
	if !k.wait(t.Context()) {
		t.Error("it asks again soon after a change: discovery may lag behind")
	}
}
