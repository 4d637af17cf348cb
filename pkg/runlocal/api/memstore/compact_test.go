package memstore

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
)

// TestCompactLoop wants each compaction to forget the states from before the one before it, as upstream's compactor does: so a
// state is there for one interval at least, and for two at most.
func TestCompactLoop(t *testing.T) {
	const interval = 5 * time.Minute
	for _, tt := range []struct {
		after  time.Duration
		want   int64
		reason string
	}{
		{interval - time.Second, 0, "nothing happens before the interval is over"},
		{interval + time.Second, 0, "the first time it only notes the version"},
		{2*interval + time.Second, 3, "the second time forgets what was before the first"},
		{3*interval + time.Second, 4, "and so on"},
		{9*interval + time.Second, 4, "with no further writes nothing is left to forget"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, Objects, Options{CompactionInterval: interval})
				f.mustCreate(t, labelled("a", "1"))
				f.mustLabel(t, "a", "2") // 3
				go func() {
					<-time.After(interval + time.Minute)
					f.mustLabel(t, "a", "3") // 4, between the first and the second time
				}()
				<-time.After(tt.after) // virtual
				synctest.Wait()
				if got := f.CompactRevision(); got != tt.want {
					t.Errorf("after %v the store is compacted to %d, want %d: %s", tt.after, got, tt.want, tt.reason)
				}
				<-time.After(2 * interval) // the write comes in any case
			})
		})
	}
}

// TestCompactLoopEnds wants no compaction after Close; that its goroutine is gone is what goleak and synctest look at.
func TestCompactLoopEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Objects, Options{CompactionInterval: time.Minute})
		f.mustCreate(t, labelled("a", "1"))
		<-time.After(time.Minute + time.Second)
		f.store.Close()
		<-time.After(time.Hour)
		if got := f.CompactRevision(); got != 0 {
			t.Errorf("compacted to %d after the store was closed", got)
		}
	})
}

// TestCompactedReads tells what a compaction takes away, and what not: a kube-apiserver's watch cache, which answers watches, has
// nothing to do with it.
func TestCompactedReads(t *testing.T) {
	for _, tt := range []struct {
		mode  Mode
		watch []string
	}{
		{Objects, []string{"MODIFIED a=2 @3", "ADDED b=1 @4"}},
		{Encoded, []string{"MODIFIED a=2 @3", "ADDED b=1 @4"}},
		{Uncached, []string{"ERROR 410 The resourceVersion for the provided watch is too old.", "closed"}},
	} {
		t.Run(tt.mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, tt.mode, Options{})
				f.mustCreate(t, labelled("a", "1"))
				f.mustLabel(t, "a", "2")
				f.mustCreate(t, labelled("b", "1"))
				f.store.Compact(3)
				if diff := cmp.Diff(tt.watch, drain(f.mustWatch(t, storage.ListOptions{ResourceVersion: "2"}))); diff != "" {
					t.Errorf("a watch from a compacted version (-want +got):\n%s", diff)
				}
				want := []string{"ADDED b=1 @4"}
				if diff := cmp.Diff(want, drain(f.mustWatch(t, storage.ListOptions{ResourceVersion: "3"}))); diff != "" {
					t.Errorf("a watch from the version compacted to (-want +got):\n%s", diff)
				}
				exactly := func(version string) error {
					opts := storage.ListOptions{
						Recursive: true, Predicate: storage.Everything, ResourceVersion: version, ResourceVersionMatch: "Exact",
					}
					return f.GetList(t.Context(), "/pods", opts, &example.PodList{})
				}
				if err := exactly("2"); !apierrors.IsResourceExpired(err) {
					t.Errorf("a list of a compacted version: %v", err)
				}
				if err := exactly("3"); err != nil {
					t.Errorf("a list of the version compacted to: %v", err)
				}
			})
		})
	}
}
