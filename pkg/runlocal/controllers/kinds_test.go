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
		known bool // whether changes are known
		steps []step
	}{
		{"changes are known", true, []step{
			{0, 7, false, "nothing was read yet"},
			{0, 7, true, "it was emptied just now"},
			{kindsPollInterval, 7, false, "discovery may lag behind the change"},
			{discoveryLag + 1, 7, true, "discovery has had its time"},
			{time.Hour, 7, true, "nothing has changed"},
			{0, 8, false, "there may be a new kind"},
			{0, 8, true, "it was emptied just now"},
		}},
		{"changes are not known", false, []step{
			{0, 0, false, "nothing was read yet"},
			{kindsResyncPeriod - 1, 0, true, "it was emptied not long ago"},
			{1, 0, false, "it was emptied long ago"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			now, changes := time.Unix(1e9, 0), uint64(0)
			inner := &countingCache{}
			cache := &kindCache{CachedDiscoveryInterface: inner, now: func() time.Time { return now }}
			if test.known {
				cache.changes = func() uint64 { return changes }
			}
			emptiedTimes := 0
			for _, s := range test.steps {
				now, changes = now.Add(s.after), s.changes
				if got := cache.Fresh(); got != s.want {
					t.Errorf("%s: fresh is %v", s.reason, got)
				}
				if !s.want {
					cache.Invalidate() // as a mapper does
					emptiedTimes++
				}
			}
			if inner.times != emptiedTimes {
				t.Errorf("the cache behind it was emptied %d times, want %d", inner.times, emptiedTimes)
			}
		})
	}
}

func TestKindTurnsComeWhenSomethingMayHaveChanged(t *testing.T) {
	number := uint64(1)
	k := kindPoller{changes: func() uint64 { return number }}
	if !k.wait(t.Context()) || k.lastChanges != 1 {
		t.Fatal("the first turn is due at once")
	}
	number++
	if !k.wait(t.Context()) || k.lastChanges != 2 {
		t.Error("a turn is due when the number has changed")
	}
	if !k.wait(t.Context()) {
		t.Error("the next turn comes soon after a change: discovery may lag behind")
	}
}
