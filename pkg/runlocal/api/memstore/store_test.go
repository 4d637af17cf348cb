package memstore

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	testingclock "k8s.io/utils/clock/testing"
)

func TestResourceVersions(t *testing.T) {
	f := newFixture(t, Objects, Options{})
	other, _, err := f.store.Decorator(Objects)(f.config(t), "/others", nil, newPod, newPodList, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	type state struct{ Store, Pods, Others, Unknown uint64 }
	now := func() state {
		return state{f.store.ResourceVersion(), f.store.LastEvent("/pods/"), f.store.LastEvent("others"),
			f.store.LastEvent("/unknown")}
	}
	var got []state
	got = append(got, now())
	f.mustCreate(t, labelled("a", "1"))
	got = append(got, now())
	if err := other.Create(t.Context(), "/others/a", labelled("a", "1"), nil, 0); err != nil {
		t.Fatal(err)
	}
	f.mustLabel(t, "a", "1")
	got = append(got, now())
	f.mustDelete(t, "a")
	f.store.Compact(f.store.ResourceVersion())
	got = append(got, now())
	want := []state{
		{1, 0, 0, 0}, // an empty etcd is at 1
		{2, 2, 0, 0},
		{3, 2, 3, 0}, // one count for all resources; an update without effect is no event
		{4, 4, 3, 0}, // a deletion is one, and stays known when it is compacted
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestCompact(t *testing.T) {
	f := newFixture(t, Objects, Options{})
	f.mustCreate(t, labelled("a", "1"))
	f.mustLabel(t, "a", "2")
	for _, step := range []struct {
		compact uint64
		want    int64
		reason  string
	}{
		{0, 0, "nothing is older than 0"},
		{3, 3, "the usual case"},
		{2, 3, "what is forgotten stays so"},
		{99, 3, "what is yet to come cannot be forgotten"},
	} {
		f.store.Compact(step.compact)
		if got := f.CompactRevision(); got != step.want {
			t.Errorf("compacted to %d: revision %d, want %d: %s", step.compact, got, step.want, step.reason)
		}
	}
	late, _, err := f.store.Decorator(Objects)(f.config(t), "/late", nil, newPod, newPodList, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	opts := storage.ListOptions{Recursive: true, Predicate: storage.Everything, ResourceVersion: "2",
		ResourceVersionMatch: "Exact"}
	if err := late.GetList(t.Context(), "/late", opts, &example.PodList{}); err == nil {
		t.Error("a resource that came later knows the state before the compaction")
	}
}

type requestKey struct{}

// TestOnCommit wants each write reported once, with its request and its version, and nothing else reported.
func TestOnCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type commit struct {
			Request any
			Version uint64
		}
		var got []commit
		f := newFixture(t, Objects, Options{OnCommit: func(ctx context.Context, version uint64) {
			got = append(got, commit{ctx.Value(requestKey{}), version})
		}})
		request := func(name string) context.Context { return context.WithValue(t.Context(), requestKey{}, name) }
		pod, out := labelled("a", "1"), &example.Pod{}
		do := func(err error) {
			if err != nil {
				t.Helper()
				t.Fatal(err)
			}
		}
		same := storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) { return obj, nil })
		do(f.Create(request("create"), "/pods/ns/a", pod, nil, 0))
		if f.Create(request("create again"), "/pods/ns/a", pod, nil, 0) == nil {
			t.Error("created twice")
		}
		do(f.GuaranteedUpdate(request("update"), "/pods/ns/a", out, false, nil, addAnnotation, nil))
		do(f.GuaranteedUpdate(request("no change"), "/pods/ns/a", out, false, nil, same, nil))
		do(f.Get(request("get"), "/pods/ns/a", storage.GetOptions{}, out))
		do(f.Delete(request("delete"), "/pods/ns/a", out, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}))
		do(f.Create(request("create with ttl"), "/pods/ns/a", pod, nil, 1))
		<-time.After(2 * time.Second) // virtual
		synctest.Wait()
		want := []commit{{"create", 2}, {"update", 3}, {"delete", 4}, {"create with ttl", 5}, {nil, 6}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("commits (-want +got):\n%s", diff)
		}
	})
}

// TestExpiry wants objects to go when their time is up, not before, and not when they were written since.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Objects, Options{})
		w := f.mustWatch(t, storage.ListOptions{ResourceVersion: "1"})
		for name, ttl := range map[string]uint64{"long": 100, "short": 10, "forever": 0, "extended": 10, "kept": 10,
			"eternal": 1 << 63} {
			if err := f.Create(t.Context(), "/pods/ns/"+name, labelled(name, "1"), nil, ttl); err != nil {
				t.Fatal(err)
			}
		}
		longer := uint64(200)
		extend := func(obj runtime.Object, meta storage.ResponseMeta) (runtime.Object, *uint64, error) {
			obj, _, err := addAnnotation(obj, meta)
			return obj, &longer, err
		}
		if err := f.GuaranteedUpdate(t.Context(), "/pods/ns/extended", &example.Pod{}, false, nil, extend,
			nil); err != nil {
			t.Fatal(err)
		}
		f.mustLabel(t, "kept", "2") // a write without a time to live takes it away, as in etcd
		drain(w)
		gone := func() []string { return drain(w) }
		for _, step := range []struct {
			wait time.Duration
			want []string
		}{
			{9 * time.Second, nil},
			{2 * time.Second, []string{"DELETED short=1 @10"}},
			{90 * time.Second, []string{"DELETED long=1 @11"}},
			{100 * time.Second, []string{"DELETED extended=1 @12"}},
			{1000 * time.Hour, nil},
		} {
			<-time.After(step.wait) // virtual
			if diff := cmp.Diff(step.want, gone()); diff != "" {
				t.Errorf("after another %v (-want +got):\n%s", step.wait, diff)
			}
		}
		if n := len(f.mustList(t, storage.ListOptions{}).Items); n != 3 {
			t.Errorf("%d objects left, want 3", n)
		}
		f.store.Close()
		if err := f.Create(t.Context(), "/pods/ns/last", labelled("last", "1"), nil, 1); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		f.mustGet(t, "last") // nothing expires in a closed store
	})
}

// TestClock wants the store to go by the clock it is given.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		f := newFixture(t, Objects, Options{Clock: clock})
		w := f.mustWatch(t, storage.ListOptions{ResourceVersion: "1"})
		if err := f.Create(t.Context(), "/pods/ns/a", labelled("a", "1"), nil, 3600); err != nil {
			t.Fatal(err)
		}
		got := drain(w)
		clock.Step(time.Hour)
		got = append(got, drain(w)...)
		if diff := cmp.Diff([]string{"ADDED a=1 @2", "DELETED a=1 @3"}, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// TestCompactLoop wants each compaction to forget the states from before the one before it, as upstream's compactor
// does: so a state is there for one interval at least, and for two at most.
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

// TestCompactedReads wants a compaction to make some reads fail, and others not: a kube-apiserver's watch cache, which
// answers watches, has nothing to do with it.
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
				if diff := cmp.Diff(tt.watch,
					drain(f.mustWatch(t, storage.ListOptions{ResourceVersion: "2"}))); diff != "" {
					t.Errorf("a watch from a compacted version (-want +got):\n%s", diff)
				}
				want := []string{"ADDED b=1 @4"}
				if diff := cmp.Diff(want,
					drain(f.mustWatch(t, storage.ListOptions{ResourceVersion: "3"}))); diff != "" {
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
