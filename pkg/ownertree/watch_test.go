package ownertree

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// TestWatchGathersBursts: changes that follow each other closely make one snapshot, and those that never pause one
// every maxDelay.
func TestWatchGathersBursts(t *testing.T) {
	for _, tt := range []struct {
		reason  string
		changes int
		apart   time.Duration
		want    int // snapshots
	}{
		{"a single change", 1, 0, 1},
		{"a burst", 50, 10 * time.Millisecond, 1},
		{"changes further apart than the quiet period", 5, 2 * quietPeriod, 5},
		{"changes without a pause for three and a half times the maximum delay", 70, maxDelay / 20, 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			kind := cluster.Kind{Resource: "configmaps", Namespaced: true}
			kind.Kind, kind.Version = "ConfigMap", "v1"
			target := cluster.Target{Kind: kind, Namespace: "n"}
			w := newWatchState(&cluster.Kinds{}, Scope{}, 1)
			w.Listed(target, nil)
			ctx := t.Context()
			if !w.waitListed(ctx) {
				t.Fatal("the only target was listed, and is still waited for")
			}
			go func() {
				for range tt.changes {
					w.Changed(target, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}})
					time.Sleep(tt.apart) //nolint:forbidigo // it moves the bubble's clock
				}
			}()
			got := 0
			for w.changesWithin(10 * maxDelay) {
				if !w.waitQuiet(ctx) {
					t.Fatal("the context has not ended")
				}
				got++
			}
			if got != tt.want {
				t.Errorf("%s: %d snapshots, want %d", tt.reason, got, tt.want)
			}
		})
	}
}

// changesWithin reports whether there is a change to wait for within d.
func (w *watchState) changesWithin(d time.Duration) bool {
	select {
	case <-w.signal:
		select {
		case w.signal <- struct{}{}:
		default: // there is another already
		}
		return true
	case <-time.After(d):
		return false
	}
}
