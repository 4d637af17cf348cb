package ownertree

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

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
			w.change(target, cluster.Change[*metav1.PartialObjectMetadata]{})
			ctx := t.Context()
			if !w.waitListed(ctx) {
				t.Fatal("the only target was listed, and is still waited for")
			}
			go func() {
				for range tt.changes {
					w.change(target, changeOf(watch.Modified, nil, "a"))
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

func changeOf(event watch.EventType, err error, names ...string) cluster.Change[*metav1.PartialObjectMetadata] {
	c := cluster.Change[*metav1.PartialObjectMetadata]{Event: event, Err: err}
	for _, name := range names {
		c.Objects = append(c.Objects, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}})
	}
	return c
}

// TestWatchFailures: what a graph has, and is said to lack, while its objects cannot be read.
func TestWatchFailures(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)
	for _, tt := range []struct {
		reason  string
		changes []cluster.Change[*metav1.PartialObjectMetadata]
		want    string
	}{
		{"nothing was ever read", []cluster.Change[*metav1.PartialObjectMetadata]{changeOf("", forbidden)}, "Forbidden"},
		{"what was read stays while a watch fails", []cluster.Change[*metav1.PartialObjectMetadata]{
			changeOf("", nil, "a"), changeOf("", forbidden),
		}, "a Forbidden"},
		{"a watch that works ends the failure", []cluster.Change[*metav1.PartialObjectMetadata]{
			changeOf("", nil, "a"), changeOf("", forbidden), changeOf(watch.Bookmark, nil),
		}, "a"},
		{"objects that could not be read are missing until all are listed again", []cluster.Change[*metav1.PartialObjectMetadata]{
			changeOf("", errors.New("unreadable"), "a"), changeOf(watch.Bookmark, nil), changeOf("", forbidden), changeOf(watch.Added, nil, "b"),
		}, "a b Unavailable"},
		{"a list without an error", []cluster.Change[*metav1.PartialObjectMetadata]{
			changeOf("", errors.New("unreadable"), "a"), changeOf("", nil, "a", "b"), changeOf(watch.Deleted, nil, "a"),
		}, "b"},
	} {
		kind := cluster.Kind{Resource: "configmaps", Namespaced: true}
		kind.Kind, kind.Version = "ConfigMap", "v1"
		w := newWatchState(&cluster.Kinds{}, Scope{}, 1)
		for _, c := range tt.changes {
			w.change(cluster.Target{Kind: kind, Namespace: "n"}, c)
		}
		g, _ := w.snapshot()
		var got []string
		for _, n := range g.Nodes() {
			got = append(got, n.Name)
		}
		for _, i := range g.Incomplete() {
			got = append(got, i.Reason)
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
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
