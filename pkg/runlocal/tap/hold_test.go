package tap

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// heldKeys returns the held keys of the only queue; those that only a delay has added have a mark.
func heldKeys(tap *Tap) []string {
	var out []string
	for _, k := range tap.State().Controllers[0].Queues[0].Held {
		text := k.Key
		if k.Delayed {
			text += " (delayed)"
		}
		out = append(out, text)
	}
	return out
}

// TestHeldKeys: keys wait until they are released, however they were added.
func TestHeldKeys(t *testing.T) {
	inBubble(t, func(t *testing.T, tap *Tap, q testQueue, sink *eventLog) {
		tap.HoldKeys(true)
		q.Add("b")
		q.Add("a")
		q.AddAfter("c", time.Millisecond)
		pass(time.Second)
		if got := heldKeys(tap); !slices.Equal(got, []string{"a", "b", "c (delayed)"}) {
			t.Fatalf("held are %q", got)
		}
		if s := tap.State(); s.Idle() || !s.IdleButHeld() {
			t.Error("a queue with held keys only is not idle, and idle but for them")
		}
		if tap.ReleaseKey("deployment", "", "d") || tap.ReleaseKey("deployment", "other", "a") || tap.ReleaseKey("job", "", "a") {
			t.Error("a key is released that is not held")
		}
		if !tap.ReleaseKey("deployment", "", "b") || tap.ReleaseKey("deployment", "", "b") {
			t.Error("a held key is released once")
		}
		if s := tap.State(); s.IdleButHeld() {
			t.Error("a released key is work to do")
		}
		start, _ := reconcileOnce(q, sink, func(key string) {
			if key != "b" {
				t.Errorf("%q was released, and %q is taken", "b", key)
			}
			q.Add("b") // waits like any other
		})
		if len(start.Causes) != 1 {
			t.Errorf("causes %+v", start.Causes)
		}
		if got := heldKeys(tap); !slices.Equal(got, []string{"a", "b", "c (delayed)"}) {
			t.Errorf("after the reconcile, held are %q", got)
		}
		q.Add("c") // by something else than the delay
		if got := heldKeys(tap); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("held are %q", got)
		}
		tap.HoldKeys(false)
		for range 3 {
			reconcileOnce(q, sink, nothing)
		}
		if s := tap.State(); !s.Idle() {
			t.Errorf("keys are left: %+v", s)
		}
	})
}

// TestAddKey: a key is added to the queue that is named, as if the controller had.
func TestAddKey(t *testing.T) {
	inBubble(t, func(t *testing.T, tap *Tap, _ testQueue, _ *eventLog) {
		tap.HoldKeys(true)
		if tap.AddKey("deployment", "other", "a") || tap.AddKey("job", "", "a") {
			t.Error("a key is added to a queue that is not there")
		}
		if !tap.AddKey("deployment", "", "a") || !slices.Equal(heldKeys(tap), []string{"a"}) {
			t.Errorf("held are %q, and a was added", heldKeys(tap))
		}
	})
}

// TestReleaseDelayedKey: a key is passed on before its delay is over, which it is then, unless it is put back.
func TestReleaseDelayedKey(t *testing.T) {
	for _, tc := range []struct {
		name     string
		putsBack bool
		during   time.Duration // for which the reconcile puts the key off; 0 for not at all
		after    []time.Duration
		reason   string
	}{
		{"over", false, 0, nil, "it was reconciled"},
		{"again", false, 5 * time.Second, []time.Duration{5 * time.Second}, "the reconcile has another delay"},
		{"put back", true, 0, []time.Duration{2 * time.Second}, "it was too early"},
		{"put back before another", true, 5 * time.Second, []time.Duration{2 * time.Second}, "the key is added once"},
		{"put back after another", true, time.Second, []time.Duration{time.Second}, "the key is added once"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, tap *Tap, q testQueue, sink *eventLog) {
				tap.HoldKeys(true)
				q.Add("held")
				q.AddAfter("a", 2*time.Second)
				began := time.Now()
				for _, not := range [][2]string{{"", "held"}, {"", "b"}, {"other", "a"}} {
					if _, ok := tap.ReleaseDelayedKey("deployment", not[0], not[1]); ok {
						t.Errorf("a key of queue %q is released that has no delay: %q", not[0], not[1])
					}
				}
				putBack, ok := tap.ReleaseDelayedKey("deployment", "", "a")
				if _, again := tap.ReleaseDelayedKey("deployment", "", "a"); !ok || again {
					t.Error("a key with a delay is released once")
				}
				start, _ := reconcileOnce(q, sink, func(key string) {
					if tc.during > 0 {
						q.AddAfter(key, tc.during)
					}
				})
				if len(start.Causes) != 1 {
					t.Errorf("the causes are not those of the delay: %+v", start.Causes)
				}
				if tc.putsBack {
					putBack()
				}
				var after []time.Duration
				for _, d := range tap.State().Controllers[0].Queues[0].Delayed {
					after = append(after, d.Due.Sub(began))
				}
				if !slices.Equal(after, tc.after) {
					t.Errorf("delays are %s, want %s: %s", after, tc.after, tc.reason)
				}
				pass(time.Minute)
				want := []string{"held"}
				if tc.after != nil {
					want = []string{"a (delayed)", "held"}
				}
				if got := heldKeys(tap); !slices.Equal(got, want) {
					t.Errorf("held are %q at the end, want %q", got, want)
				}
			})
		})
	}
}

// TestAdditionToAReleasedKey is a cause of the reconcile that is about to begin, and makes no other.
func TestAdditionToAReleasedKey(t *testing.T) {
	inBubble(t, func(t *testing.T, tap *Tap, q testQueue, sink *eventLog) {
		tap.HoldKeys(true)
		q.Add("a")
		tap.ReleaseKey("deployment", "", "a")
		q.Add("a")
		reconcileOnce(q, sink, nothing)
		if s := tap.State(); !s.Idle() {
			t.Errorf("keys are left: %+v", s)
		}
		if n := len(details[*trace.Start](sink)); n != 1 {
			t.Errorf("%d reconciles", n)
		}
	})
}

// TestDrainWithHeldKeys: a session ends with keys held.
func TestDrainWithHeldKeys(t *testing.T) {
	inBubble(t, func(t *testing.T, tap *Tap, q testQueue, _ *eventLog) {
		tap.HoldKeys(true)
		q.Add("a")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if k, down := q.Get(); !down {
				t.Errorf("%q is taken", k)
			}
		}()
		if err := tap.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		<-ended
	})
}

// TestListOrder: what a controller lists from a cache has the order of Options.ListOrder.
func TestListOrder(t *testing.T) {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, name := range []string{"c", "a", "d", "b"} {
		if err := store.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	byName := func(_, name string) string { return name }
	ordered := orderedIndexer{store, byName}
	byIndex, err := ordered.ByIndex(cache.NamespaceIndex, "shop")
	if err != nil {
		t.Fatal(err)
	}
	index, err := ordered.Index(cache.NamespaceIndex, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}})
	if err != nil {
		t.Fatal(err)
	}
	for how, list := range map[string][]any{"List": ordered.List(), "ByIndex": byIndex, "Index": index} {
		var names []string
		for _, obj := range list {
			names = append(names, obj.(*corev1.Pod).Name)
		}
		if !slices.Equal(names, []string{"a", "b", "c", "d"}) {
			t.Errorf("%s lists %q", how, names)
		}
	}
}

// TestDropHeldKeys: a key that is dropped is as if it had been reconciled, and can be added again.
func TestDropHeldKeys(t *testing.T) {
	inBubble(t, func(t *testing.T, tap *Tap, q testQueue, sink *eventLog) {
		tap.HoldKeys(true)
		q.Add("a")
		q.Add("b")
		tap.DropHeldKeys(func(controller, queue, key string) bool {
			return controller == "deployment" && queue == "" && key == "a"
		})
		if got := heldKeys(tap); !slices.Equal(got, []string{"b"}) {
			t.Errorf("held are %q", got)
		}
		q.Add("a")
		tap.HoldKeys(false)
		reconcileOnce(q, sink, nothing)
		start, _ := reconcileOnce(q, sink, nothing)
		if len(start.Causes) != 1 {
			t.Errorf("causes of both additions: %+v", start.Causes)
		}
	})
}
