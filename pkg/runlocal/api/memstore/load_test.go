package memstore

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
)

// TestLoad wants what was loaded as if it had been written at its version, and what is older to be gone.
func TestLoad(t *testing.T) {
	for _, mode := range []Mode{Objects, Encoded, Uncached} {
		t.Run(mode.String(), func(t *testing.T) {
			f := newFixture(t, mode, Options{})
			pod := func(name, version string) *example.Pod {
				return &example.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version,
					UID: types.UID(name)}}
			}
			f.transformer = nil
			if encoded, ok := f.representation.(*encodedRepresentation); ok {
				encoded.transformer = newEncodedRepresentation(f.config(t), false).transformer
			}
			for _, p := range []*example.Pod{pod("b", "70"), pod("a", "30"), pod("c", "not a number")} {
				if err := f.store.Load(t.Context(), f.config(t), "/pods", mode, "/pods/"+p.Name, p); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.store.Load(t.Context(), f.config(t), "/pods", mode, "/pods/a", pod("a", "31")); err == nil {
				t.Error("a key was loaded twice")
			}
			f.store.StartAt(50)
			if got := f.store.ResourceVersion(); got != 70 {
				t.Errorf("the store continues at %d, want 70, the newest version", got)
			}
			if got := f.store.LastEvent("/pods"); got != 70 {
				t.Errorf("the newest event is that of %d, want 70", got)
			}
			var list example.PodList
			everything := storage.ListOptions{Predicate: storage.Everything, Recursive: true}
			if err := f.GetList(t.Context(), "/pods", everything, &list); err != nil {
				t.Fatal(err)
			}
			versions := ""
			for _, p := range list.Items {
				versions += p.Name + p.ResourceVersion + " "
			}
			if want := "a30 b70 c1 "; versions != want || list.ResourceVersion != "70" {
				t.Errorf("listed %s at %s, want %s at 70", versions, list.ResourceVersion, want)
			}
			old := everything
			old.ResourceVersion, old.ResourceVersionMatch = "40", metav1.ResourceVersionMatchExact
			if err := f.GetList(t.Context(), "/pods", old, &list); !apierrors.IsResourceExpired(err) {
				t.Errorf("a list at a version before the start: %v, want 410", err)
			}
			from := everything
			from.ResourceVersion = "69"
			w, err := f.Watch(t.Context(), "/pods", from)
			if err != nil {
				t.Fatal(err)
			}
			if ev := <-w.ResultChan(); ev.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(ev.Object)) {
				t.Errorf("a watch from before the start begins with %v, want 410", ev)
			}
			from.ResourceVersion = "70"
			if w, err = f.Watch(t.Context(), "/pods", from); err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			f.mustCreate(t, pod("d", ""))
			if ev := <-w.ResultChan(); ev.Type != watch.Added || ev.Object.(*example.Pod).ResourceVersion != "71" {
				t.Errorf("the first write after the start is %v, want d at 71", ev)
			}
		})
	}
}
