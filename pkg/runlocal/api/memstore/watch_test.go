package memstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
)

// brief returns what tests compare of an event: "ADDED a=1 @5", "BOOKMARK @7 end", "ERROR 410 text".
func brief(ev watch.Event) string {
	switch obj := ev.Object.(type) {
	case *metav1.Status:
		return fmt.Sprintf("%s %d %s", ev.Type, obj.Code, obj.Message)
	case *example.Pod:
		if ev.Type != watch.Bookmark {
			return fmt.Sprintf("%s %s=%s @%s", ev.Type, obj.Name, obj.Labels["k"], obj.ResourceVersion)
		}
		if obj.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			return fmt.Sprintf("%s @%s end", ev.Type, obj.ResourceVersion)
		}
		return fmt.Sprintf("%s @%s", ev.Type, obj.ResourceVersion)
	default:
		return fmt.Sprintf("%s %T", ev.Type, obj)
	}
}

// drain returns the events that w has sent once nothing moves any more, and "closed" if it has ended. It must be called
// in a bubble.
func drain(w watch.Interface) []string {
	var got []string
	for {
		synctest.Wait()
		select {
		case ev, open := <-w.ResultChan():
			if !open {
				return append(got, "closed")
			}
			got = append(got, brief(ev))
		default:
			return got
		}
	}
}

func pick(value string) storage.SelectionPredicate {
	return storage.SelectionPredicate{
		Label: labels.SelectorFromSet(labels.Set{"k": value}), Field: fields.Everything(), GetAttrs: storage.DefaultNamespaceScopedAttr,
	}
}

// TestWatchStarts checks what a watch begins with, for every version it can begin at. The store has seen: a=1 @2, b=1
// @3, a=2 @4, b deleted @5; it is compacted to 3, and the events up to there are not kept.
func TestWatchStarts(t *testing.T) {
	yes, no := true, false
	bookmarks := storage.SelectionPredicate{Label: labels.Everything(), Field: fields.Everything(),
		AllowWatchBookmarks: true}
	tests := []struct {
		reason string
		opts   storage.ListOptions
		want   []string
	}{
		{"no version: the state, then what follows", storage.ListOptions{}, []string{"ADDED a=2 @4", "ADDED c=1 @6"}},
		{"version 0 is the same", storage.ListOptions{ResourceVersion: "0"}, []string{"ADDED a=2 @4", "ADDED c=1 @6"}},
		{"the newest version: only what follows", storage.ListOptions{ResourceVersion: "5"}, []string{"ADDED c=1 @6"}},
		{"an older version: what happened since, deletions at their own version", storage.ListOptions{ResourceVersion: "3"},
			[]string{"MODIFIED a=2 @4", "DELETED b=1 @5", "ADDED c=1 @6"}},
		{"a version whose events are not kept: gone, as an event", storage.ListOptions{ResourceVersion: "2"},
			[]string{"ERROR 410 too old resource version: 2 (3)", "closed"}},
		{"a version yet to come: nothing before it", storage.ListOptions{ResourceVersion: "6"}, nil},
		{"events from now on, without the state", storage.ListOptions{SendInitialEvents: &no}, []string{"ADDED c=1 @6"}},
		{"the same, for version 0", storage.ListOptions{ResourceVersion: "0", SendInitialEvents: &no}, []string{"ADDED c=1 @6"}},
		{"the state, and where it ends", storage.ListOptions{SendInitialEvents: &yes, Predicate: bookmarks},
			[]string{"ADDED a=2 @4", "BOOKMARK @5 end", "ADDED c=1 @6"}},
		{"only watches with bookmarks get the end of the initial events", storage.ListOptions{SendInitialEvents: &yes},
			[]string{"ADDED a=2 @4", "ADDED c=1 @6"}},
		{"the state even if the events since the version are not kept", storage.ListOptions{ResourceVersion: "2", SendInitialEvents: &yes, Predicate: bookmarks},
			[]string{"ADDED a=2 @4", "BOOKMARK @5 end", "ADDED c=1 @6"}},
		{"the state at a version yet to come cannot be had", storage.ListOptions{ResourceVersion: "9", SendInitialEvents: &yes},
			[]string{"ERROR 504 Timeout: Too large resource version: 9, current: 5", "closed"}},
		{"only what the predicate selects, also of the state", storage.ListOptions{Predicate: pick("1")}, []string{"ADDED c=1 @6"}},
	}
	for _, mode := range []Mode{Objects, Encoded} {
		for _, test := range tests {
			t.Run(mode.String()+"/"+test.reason, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t, mode, Options{})
					f.mustCreate(t, labelled("a", "1"))
					f.mustCreate(t, labelled("b", "1"))
					f.mustLabel(t, "a", "2")
					f.mustDelete(t, "b")
					f.compactWatch(t.Context(), t, "3")
					w := f.mustWatch(t, test.opts)
					got := drain(w)
					f.mustCreate(t, labelled("c", "1"))
					if !slices.Contains(got, "closed") {
						got = append(got, drain(w)...)
					}
					if diff := cmp.Diff(test.want, got); diff != "" {
						t.Errorf("events (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// TestWatchTransitions wants an object that enters or leaves a selection to be added or deleted.
func TestWatchTransitions(t *testing.T) {
	for _, mode := range []Mode{Objects, Encoded} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, mode, Options{})
				w := f.mustWatch(t, storage.ListOptions{ResourceVersion: "1", Predicate: pick("in")})
				f.mustCreate(t, labelled("a", "out")) // 2
				f.mustLabel(t, "a", "in")
				f.mustLabel(t, "a", "in") // changes nothing
				err := f.GuaranteedUpdate(t.Context(), "/pods/ns/a", &example.Pod{}, false, nil, addAnnotation, nil)
				if err != nil {
					t.Fatal(err)
				}
				f.mustLabel(t, "a", "out") // 5
				f.mustLabel(t, "a", "in")
				f.mustDelete(t, "a")
				want := []string{"ADDED a=in @3", "MODIFIED a=in @4", "DELETED a=in @5", "ADDED a=in @6",
					"DELETED a=in @7"}
				if diff := cmp.Diff(want, drain(w)); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestSlowWatcher wants a watcher that does not read to cost a bounded number of events, and then to end with 410,
// after what it was sent already.
func TestSlowWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Objects, Options{History: 10})
		slow := f.mustWatch(t, storage.ListOptions{ResourceVersion: "1"})
		f.mustCreate(t, labelled("a", "0"))
		const writes = resultBuffer + batchSize + 40*10
		for i := range writes {
			f.mustLabel(t, "a", fmt.Sprint(i+1))
			synctest.Wait() // the watcher goes as far as its client lets it
		}
		if n := len(f.table.history.events); n > (lagFactor+2)*10 {
			t.Errorf("%d events kept for a watcher that does not read, with a history of 10", n)
		}
		got := drain(slow)
		if got[0] != "ADDED a=0 @2" || got[1] != "MODIFIED a=1 @3" {
			t.Errorf("first events are %v", got[:2])
		}
		sent := len(got) - 2
		want := []string{fmt.Sprintf("ERROR 410 too old resource version: %d (%d)", sent+1, f.table.watchable()),
			"closed"}
		if diff := cmp.Diff(want, got[sent:]); diff != "" || sent < resultBuffer {
			t.Errorf("end after %d events (-want +got):\n%s", sent, diff)
		}
	})
}

// TestLaggingWatcherKeepsEvents wants a watcher that is late, but not too late, to receive everything.
func TestLaggingWatcherKeepsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Objects, Options{History: 50})
		late := f.mustWatch(t, storage.ListOptions{ResourceVersion: "1"})
		f.mustCreate(t, labelled("a", "0"))
		const writes = 700 // well over the history, and under 16 times as many
		for i := range writes {
			f.mustLabel(t, "a", fmt.Sprint(i+1))
			synctest.Wait()
		}
		got := drain(late)
		if len(got) != writes+1 || got[writes] != fmt.Sprintf("MODIFIED a=%d @%d", writes, writes+2) {
			t.Errorf("%d events, the last is %q", len(got), got[len(got)-1])
		}
		w := f.mustWatch(t, storage.ListOptions{ResourceVersion: "2"})
		f.mustLabel(t, "a", "x")
		for i := range 2 * 50 { // no watcher is behind any more: the history shrinks to its size
			f.mustLabel(t, "a", fmt.Sprint(i))
			synctest.Wait()
			drain(late)
			drain(w)
		}
		if n := len(f.table.history.events); n > 2*50 {
			t.Errorf("%d events kept while no watcher is behind", n)
		}
	})
}

// TestBookmarks checks when periodic bookmarks are sent: every minute, and once more before the deadline of the
// request.
func TestBookmarks(t *testing.T) {
	bookmarks := storage.SelectionPredicate{Label: labels.Everything(), Field: fields.Everything(),
		AllowWatchBookmarks: true}
	tests := []struct {
		reason   string
		opts     storage.ListOptions
		deadline time.Duration
		after    time.Duration
		want     []string
	}{
		{"before a minute has passed", storage.ListOptions{Predicate: bookmarks}, time.Hour, 59 * time.Second, nil},
		{"each minute", storage.ListOptions{Predicate: bookmarks}, time.Hour, 121 * time.Second, []string{"BOOKMARK @3", "BOOKMARK @3"}},
		{"not for clients that do not know them", storage.ListOptions{}, time.Hour, 121 * time.Second, nil},
		{"two seconds before the deadline", storage.ListOptions{Predicate: bookmarks}, 30 * time.Second, 29 * time.Second, []string{"BOOKMARK @3"}},
		{"never with less than two seconds to go", storage.ListOptions{Predicate: bookmarks}, 2 * time.Second, 1500 * time.Millisecond, nil},
		{"every five seconds with ProgressNotify", storage.ListOptions{ProgressNotify: true}, time.Hour, 11 * time.Second,
			[]string{"BOOKMARK @3", "BOOKMARK @3"}},
		{"not below a version that is yet to come", storage.ListOptions{Predicate: bookmarks, ResourceVersion: "9"}, time.Hour, 61 * time.Second, nil},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, Objects, Options{})
				ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
				defer cancel()
				test.opts.Recursive = true
				if test.opts.ResourceVersion == "" {
					test.opts.ResourceVersion = "1"
				}
				if test.opts.Predicate.Label == nil {
					test.opts.Predicate = storage.Everything
				}
				w, err := f.Watch(ctx, "/pods/other", test.opts)
				if err != nil {
					t.Fatal(err)
				}
				f.mustCreate(t, labelled("a", "1"))
				f.mustCreate(t, labelled("b", "1")) // neither is watched, both make time pass
				synctest.Wait()
				<-time.After(test.after) // virtual
				if diff := cmp.Diff(test.want, drain(w)); diff != "" {
					t.Errorf("bookmarks (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestWatchFromBeforeTheTable wants "too old" for versions from before a resource was served, as a watch cache that is
// filled then answers, while a list of that time is still told.
func TestWatchFromBeforeTheTable(t *testing.T) {
	f := newFixture(t, Objects, Options{})
	f.mustCreate(t, labelled("a", "1"))
	late, err := f.store.newResource(f.config(t), "/late", newPod, Objects)
	if err != nil {
		t.Fatal(err)
	}
	opts := storage.ListOptions{ResourceVersion: "1", Recursive: true, Predicate: storage.Everything}
	w, err := late.Watch(t.Context(), "/late", opts)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	status, _ := (<-w.ResultChan()).Object.(*metav1.Status)
	if status == nil || status.Message != "too old resource version: 1 (2)" {
		t.Errorf("a watch from before the table began with %v", status)
	}
	opts.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	if err := late.GetList(t.Context(), "/late", opts, &example.PodList{}); err != nil {
		t.Errorf("listing at a version from before the table: %v", err)
	}
}

// TestRequestWatchProgress wants a bookmark at once, and only with ProgressNotify.
func TestRequestWatchProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Objects, Options{})
		notified := f.mustWatch(t, storage.ListOptions{ResourceVersion: "1", ProgressNotify: true})
		other := f.mustWatch(t, storage.ListOptions{ResourceVersion: "1"})
		f.mustCreate(t, labelled("a", "1"))
		if err := f.RequestWatchProgress(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"ADDED a=1 @2", "BOOKMARK @2"}, drain(notified)); diff != "" {
			t.Errorf("events of the watch with ProgressNotify (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"ADDED a=1 @2"}, drain(other)); diff != "" {
			t.Errorf("events of the watch that did not (-want +got):\n%s", diff)
		}
	})
}

// TestWatchEnds wants a watch to end with its request, with Stop, with its storage and with the store.
func TestWatchEnds(t *testing.T) {
	tests := map[string]func(f *fixture, w watch.Interface, cancel func()){
		"stop":             func(_ *fixture, w watch.Interface, _ func()) { w.Stop(); w.Stop() },
		"end of request":   func(_ *fixture, _ watch.Interface, cancel func()) { cancel() },
		"end of storage":   func(f *fixture, _ watch.Interface, _ func()) { f.destroy() },
		"end of the store": func(f *fixture, _ watch.Interface, _ func()) { f.store.Close(); f.store.Close() },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, Objects, Options{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w, err := f.Watch(ctx, "/pods",
					storage.ListOptions{ResourceVersion: "1", Recursive: true, Predicate: storage.Everything})
				if err != nil {
					t.Fatal(err)
				}
				f.mustCreate(t, labelled("a", "1"))
				synctest.Wait()
				end(f, w, cancel)
				if diff := cmp.Diff([]string{"ADDED a=1 @2", "closed"}, drain(w)); diff != "" {
					t.Errorf("what was sent before is lost, or the end is not told (-want +got):\n%s", diff)
				}
				if n := len(f.table.watchers); n != 0 {
					t.Errorf("%d watchers are still woken", n)
				}
			})
		})
	}
}

func TestWatchAfterClose(t *testing.T) {
	f := newFixture(t, Objects, Options{})
	f.store.Close()
	_, err := f.Watch(t.Context(), "/pods", storage.ListOptions{Recursive: true, Predicate: storage.Everything})
	if !errors.Is(err, storage.ErrStorageNotReady) {
		t.Errorf("error is %v", err)
	}
	f.mustCreate(t, labelled("a", "1")) // writes still work
	if len(f.table.watchers) != 0 {
		t.Error("the watch that was refused is still woken")
	}
}

// TestUnreadableObject wants a get of an object that cannot be read to say so in the way the registry understands.
func TestUnreadableObject(t *testing.T) {
	f := newFixture(t, Encoded, Options{})
	f.mustCreate(t, labelled("a", "1"))
	f.codec.failing.Store(true)
	err := f.Get(t.Context(), "/pods/ns/a", storage.GetOptions{}, &example.Pod{})
	if !storage.IsCorruptObject(err) {
		t.Errorf("get: error is %v", err)
	}
	err = f.GuaranteedUpdate(t.Context(), "/pods/ns/a", &example.Pod{}, false, nil, addAnnotation, nil)
	if err == nil || storage.IsCorruptObject(err) {
		t.Errorf("update: error is %v", err)
	}
}

// TestUnreadableDeletion wants a watcher of an object that cannot be read to be told of its deletion as a
// kube-apiserver tells it.
func TestUnreadableDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Encoded, Options{})
		f.mustCreate(t, labelled("a", "1"))
		w := f.mustWatch(t, storage.ListOptions{ResourceVersion: "2"})
		f.codec.failing.Store(true)
		err := f.Delete(t.Context(), "/pods/ns/a", &example.Pod{}, nil, storage.ValidateAllObjectFunc, nil,
			storage.DeleteOptions{ExpectTransformOrDecodeError: true})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"ERROR 500 saw a DELETED event, but object data is corrupt - object not decodable revision=2: synthetic error", "closed"}
		if diff := cmp.Diff(want, drain(w)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}
