package engine

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
)

func pod(name string, owners ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "u",
		OwnerReferences: owners}}
}

func TestHandler(t *testing.T) {
	p := pod("p")
	tests := []struct {
		name    string
		reason  string
		deliver func(h *handler)
		want    []Event
		broken  int
	}{
		{"initial add", "a handler sees what existed before", func(h *handler) { h.OnAdd(p, true) },
			[]Event{{New: p, Initial: true}}, 0},
		{"update", "both versions are there", func(h *handler) { h.OnUpdate(p, p) }, []Event{{Old: p, New: p}}, 0},
		{"delete", "the last state is the old one", func(h *handler) { h.OnDelete(p) }, []Event{{Old: p}}, 0},
		{"tombstone", "a deletion noticed late is a deletion", func(h *handler) {
			h.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/p", Obj: p})
		}, []Event{{Old: p}}, 0},
		{"empty tombstone", "a tombstone without object is reported, not dereferenced", func(h *handler) {
			h.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/p"})
		}, nil, 1},
		{"no object", "what is no API object is reported", func(h *handler) { h.OnAdd(1, false) }, nil, 1},
		{"no objects", "one report for each side of an update", func(h *handler) { h.OnUpdate(1, 2) }, nil, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []Event
			broken := 0
			tt.deliver(&handler{event: func(e Event) { got = append(got, e) }, invalid: func(error) { broken++ }})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if broken != tt.broken {
				t.Errorf("%s: %d reports, want %d", tt.reason, broken, tt.broken)
			}
		})
	}
}

// watched runs an informer on a source of objects for as long as the test.
func watched(t *testing.T, objects ...*corev1.Pod) (*cachetesting.FakeControllerSource, cache.SharedIndexInformer,
	func()) {
	t.Helper()
	objs := cachetesting.NewFakeControllerSource()
	for _, o := range objects {
		objs.Add(o)
	}
	informer := cache.NewSharedIndexInformer(objs, &corev1.Pod{}, 10*time.Minute, cache.Indexers{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	return objs, informer, func() {
		cancel()
		<-done
		objs.Shutdown()
	}
}

// snapshot is a copy of the counts.
func (c *requestCounter) snapshot() map[Request]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objs, informer, end := watched(t, pod("a"))
		defer end()
		var seen requestCounter
		c, err := New(Options{Name: "test", Reconciler: Func(func(_ context.Context, r Request) (Result, error) {
			seen.increment(r)
			return Result{}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Watch(t.Context(), informer, Self, 30*time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		objs.Add(pod("b"))
		pass(time.Minute)
		objs.Delete(pod("b"))
		pass(time.Minute)
		want := map[Request]int{{"default", "a"}: 1, {"default", "b"}: 2}
		if diff := cmp.Diff(want, seen.snapshot()); diff != "" {
			t.Errorf("reconciles after adding and deleting (-want +got):\n%s", diff)
		}
		pass(time.Hour)
		if seen.snapshot()[Request{"default", "a"}] < 2 {
			t.Errorf("no reconcile by resync within an hour")
		}
		stopped(t, c)
		before := seen.snapshot()
		objs.Modify(pod("a"))
		pass(2 * time.Hour)
		if diff := cmp.Diff(before, seen.snapshot()); diff != "" {
			t.Errorf("reconciled after the stop (-before +after):\n%s", diff)
		}
	})
}

// stuck is an informer that never syncs.
type stuck struct {
	removed int
	fail    error
}

func (s *stuck) AddEventHandlerWithOptions(cache.ResourceEventHandler,
	cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return s, s.fail
}
func (s *stuck) RemoveEventHandler(cache.ResourceEventHandlerRegistration) error {
	s.removed++
	return nil
}
func (s *stuck) HasSynced() bool                     { return false }
func (s *stuck) HasSyncedChecker() cache.DoneChecker { return s }
func (s *stuck) Name() string                        { return "stuck" }
func (s *stuck) Done() <-chan struct{}               { return nil }

func TestNothingRunsBeforeSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &history{}
		c, err := New(Options{Name: "test", Reconciler: Func(func(context.Context, Request) (Result, error) {
			h.try()
			return Result{}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		informer := &stuck{}
		if err := c.Watch(t.Context(), informer, Self, 0); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Enqueue(web)
		pass(time.Hour)
		c.Stop()
		if err := c.Wait(); !errors.Is(err, ErrNotSynced) {
			t.Errorf("Wait() = %v, want %v", err, ErrNotSynced)
		}
		if len(h.tries) != 0 || informer.removed != 1 {
			t.Errorf("%d reconciles and %d handlers removed, want 0 and 1", len(h.tries), informer.removed)
		}
	})
}

func TestWatchRefuses(t *testing.T) {
	c, err := New(Options{Name: "test", Reconciler: Func(nil)})
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	if err := c.Watch(t.Context(), &stuck{fail: boom}, Self, 0); !errors.Is(err, boom) {
		t.Errorf("Watch() = %v, want %v", err, boom)
	}
	stopped(t, c)
	if err := c.Watch(t.Context(), &stuck{}, Self, 0); err == nil {
		t.Error("Watch() after the stop = nil: its events would go nowhere")
	}
	if err := c.Start(t.Context()); err == nil {
		t.Error("Start() after the stop = nil")
	}
}
