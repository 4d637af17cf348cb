package memstore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
)

// played is a fixture whose pods are played from version 10 on, with the pod a at 5.
type played struct{ *fixture }

func newPlayed(t *testing.T, mode Mode) played {
	t.Helper()
	f := newFixture(t, mode, Options{})
	f.transformer = nil
	if encoded, ok := f.representation.(*encodedRepresentation); ok {
		encoded.transformer = newEncodedRepresentation(f.config(t), false).transformer
	}
	if err := f.store.Load(t.Context(), f.config(t), "/pods", mode, "/pods/a", versioned("a", 5)); err != nil {
		t.Fatal(err)
	}
	if err := f.store.StartPlaying("/pods", mode, 10); err != nil {
		t.Fatal(err)
	}
	f.store.StartAt(100) // another resource is ahead
	return played{f}
}

func versioned(name string, version uint64) *example.Pod {
	return &example.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: strconv.FormatUint(version, 10)}}
}

func (p played) play(t *testing.T, pod *example.Pod, deleted bool, version uint64) uint64 {
	t.Helper()
	got, err := p.store.Play(t.Context(), p.config(t), "/pods", p.table.mode,
		Played{Key: "/pods/" + pod.Name, Object: pod, Deleted: deleted, Version: version})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// list returns the names and versions of a list, and its own version.
func (p played) list(t *testing.T) string {
	t.Helper()
	var list example.PodList
	o := storage.ListOptions{Predicate: storage.Everything, Recursive: true}
	if err := p.GetList(t.Context(), "/pods", o, &list); err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, pod := range list.Items {
		out = append(out, pod.Name+pod.ResourceVersion)
	}
	return strings.Join(append(out, "@"+list.ResourceVersion), " ")
}

func (p played) watch(t *testing.T, from string, bookmarks bool) watch.Interface {
	t.Helper()
	pred := storage.Everything
	pred.AllowWatchBookmarks = bookmarks
	o := storage.ListOptions{Predicate: pred, Recursive: true, ResourceVersion: from}
	w, err := p.Watch(t.Context(), "/pods", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// text is an event in short.
func text(ev watch.Event) string {
	if pod, ok := ev.Object.(*example.Pod); ok {
		return fmt.Sprintf("%s %s%s", ev.Type, pod.Name, pod.ResourceVersion)
	}
	return fmt.Sprintf("%s %v", ev.Type, apierrors.FromObject(ev.Object))
}

func TestPlay(t *testing.T) {
	for _, mode := range []Mode{Objects, Encoded, Uncached} {
		t.Run(mode.String(), func(t *testing.T) {
			p := newPlayed(t, mode)
			if got := p.list(t); got != "a5 @10" {
				t.Errorf("listed %s: the version is that of the resource, not of the store", got)
			}
			w := p.watch(t, "10", false)
			for _, test := range []struct {
				pod     *example.Pod
				deleted bool
				version uint64
				event   string
				list    string
				reason  string
			}{
				{versioned("b", 20), false, 20, "ADDED b20", "a5 b20 @20", "the recorded version"},
				{versioned("a", 30), false, 30, "MODIFIED a30", "a30 b20 @30", "an object that is there is modified"},
				{versioned("c", 25), false, 25, "ADDED c31", "a30 b20 c31 @31", "a late event comes after what was sent"},
				{versioned("c", 26), false, 0, "MODIFIED c32", "a30 b20 c32 @32", "an event without a version"},
				{versioned("b", 40), true, 40, "DELETED b40", "a30 c32 @40", "a deletion has its version"},
				{versioned("none", 50), true, 50, "", "a30 c32 @50", "the deletion of what is not there is no event"},
				{versioned("d", 60), false, 60, "ADDED d60", "a30 c32 d60 @60", "and what follows is"},
			} {
				p.play(t, test.pod, test.deleted, test.version)
				if test.event != "" {
					if got := text(<-w.ResultChan()); got != test.event {
						t.Errorf("got %s, want %s: %s", got, test.event, test.reason)
					}
				}
				if got := p.list(t); got != test.list {
					t.Errorf("listed %s, want %s: %s", got, test.list, test.reason)
				}
			}
			again := p.watch(t, "30", false)
			for _, want := range []string{"ADDED c31", "MODIFIED c32", "DELETED b40", "ADDED d60"} {
				if got := text(<-again.ResultChan()); got != want {
					t.Errorf("a watch that continues gets %s, want %s", got, want)
				}
			}
			for _, from := range []string{"9", "61"} {
				if got := <-p.watch(t, from, false).ResultChan(); got.Type != watch.Error ||
					!apierrors.IsResourceExpired(apierrors.FromObject(got.Object)) {
					t.Errorf("a watch from %s, which was never sent, gets %s", from, text(got))
				}
			}
		})
	}
}

func TestProgress(t *testing.T) {
	p := newPlayed(t, Objects)
	w, deaf := p.watch(t, "10", true), p.watch(t, "10", false)
	p.store.Progress("/pods", 90)
	if got := text(<-w.ResultChan()); got != "BOOKMARK 90" {
		t.Errorf("got %s", got)
	}
	p.store.Progress("/pods", 80)
	p.store.Progress("/none", 95)
	if got := p.list(t); got != "a5 @90" {
		t.Errorf("listed %s", got)
	}
	p.play(t, versioned("b", 91), false, 91)
	if got := text(<-deaf.ResultChan()); got != "ADDED b91" {
		t.Errorf("a client that wants no bookmarks gets %s", got)
	}
}

// TestWritesToPlayed: a client's write is newer than all that was recorded of any resource, and playing goes on after it.
func TestWritesToPlayed(t *testing.T) {
	p := newPlayed(t, Objects)
	p.mustCreate(t, &example.Pod{ObjectMeta: metav1.ObjectMeta{Name: "mine"}})
	if got := p.list(t); got != "mine101 a5 @101" {
		t.Errorf("listed %s", got)
	}
	if got := p.play(t, versioned("b", 20), false, 20); got != 102 {
		t.Errorf("an event after it has version %d", got)
	}
	if got := p.store.ResourceVersion(); got != 102 {
		t.Errorf("the store is at %d", got)
	}
}

func TestReplace(t *testing.T) {
	for _, mode := range []Mode{Objects, Encoded, Uncached} {
		t.Run(mode.String(), func(t *testing.T) {
			p := newPlayed(t, mode)
			replace := func(version uint64, pods ...*example.Pod) {
				t.Helper()
				objects := map[string]runtime.Object{}
				for _, pod := range pods {
					objects["/pods/"+pod.Name] = pod
				}
				err := p.store.Replace(t.Context(), p.config(t), "/pods", mode, version, maps.All(objects),
					func(key string, err error) { t.Errorf("%s: %v", key, err) })
				if err != nil {
					t.Fatal(err)
				}
			}
			p.play(t, versioned("b", 20), false, 20)
			w := p.watch(t, "20", false)
			replace(20, versioned("a", 5), versioned("b", 20))
			p.play(t, versioned("c", 30), false, 30)
			if got := text(<-w.ResultChan()); got != "ADDED c30" {
				t.Errorf("a state that is there already: got %s", got)
			}
			replace(12, versioned("a", 5), versioned("d", 12))
			var rest []string
			for ev := range w.ResultChan() {
				rest = append(rest, text(ev))
			}
			if len(rest) != 1 || !slices.ContainsFunc(rest, func(s string) bool { return strings.Contains(s, "too old") }) {
				t.Errorf("another state: got %v, want 410", rest)
			}
			if got := p.list(t); got != "a5 d12 @12" {
				t.Errorf("listed %s", got)
			}
			w = p.watch(t, "12", false)
			p.play(t, versioned("b", 20), false, 20)
			if got := text(<-w.ResultChan()); got != "ADDED b20" {
				t.Errorf("played once more: got %s", got)
			}
		})
	}
}
