package cluster

import (
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestProgress looks at a reader whose lists are of several pages, before each of them.
func TestProgress(t *testing.T) {
	for _, read := range []struct {
		how  string
		list func(*testing.T, *Reader, []Target)
	}{
		{"metadata", func(t *testing.T, r *Reader, targets []Target) {
			if missing, err := r.ListMetadata(t.Context(), targets, func(Target, *metav1.PartialObjectMetadata) {}); err != nil || len(missing) != 1 {
				t.Errorf("missing %v, error %v", missing, err)
			}
		}},
		{"whole objects", func(t *testing.T, r *Reader, targets []Target) {
			var running sync.WaitGroup
			for _, target := range targets {
				running.Go(func() {
					_ = r.ListObjects(t.Context(), target, ListOptions{}, func(*unstructured.Unstructured) error { return nil })
				})
			}
			running.Wait()
		}},
	} {
		s := newServer(t)
		s.Handle("/apis/example.com/v1/namespaces/a/widgets", listing{TB: t, objects: objects("a", 1203), remaining: true})
		s.Handle("/apis/example.com/v1/namespaces/c/widgets", listing{TB: t, objects: objects("c", 3)})
		r := s.reader(t)
		if diff := cmp.Diff(Progress{}, r.Progress()); diff != "" {
			t.Errorf("%s: before the first list (-want +got):\n%s", read.how, diff)
		}
		var mu sync.Mutex
		var seen []Progress
		s.before = func(req *http.Request) {
			if req.URL.Query().Get("continue") != "" {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, r.Progress())
			}
		}
		read.list(t, r, []Target{{widgets, "a"}, {widgets, "c"}, {pods, "none"}})
		if diff := cmp.Diff(Progress{Kinds: 2, Done: 2, Objects: 1206, Expected: 1206}, r.Progress()); diff != "" {
			t.Errorf("%s: after the last list (-want +got):\n%s", read.how, diff)
		}
		if len(seen) != 2 || seen[0].Expected-1203 > 3 || seen[0].Expected < 1203 || seen[0].Objects < 500 || seen[1].Objects < 1000 || seen[1].Done == seen[1].Kinds {
			t.Errorf("%s: before the second and the third page: %+v", read.how, seen)
		}
	}
}
