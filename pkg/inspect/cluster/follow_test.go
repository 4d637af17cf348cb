package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// recorder records changes as lines.
type recorder struct {
	lines chan string
}

func (f recorder) change(c Change[*metav1.PartialObjectMetadata]) {
	switch {
	case c.Err != nil && len(c.Objects) == 0:
		f.lines <- "failed " + Target{}.Incomplete(c.Err).Reason
	case c.Event == "":
		f.lines <- fmt.Sprintf("listed %d", len(c.Objects))
	case c.Event == watch.Deleted:
		f.lines <- "gone " + c.Objects[0].Name
	case c.Event != watch.Bookmark:
		o := c.Objects[0]
		f.lines <- fmt.Sprintf("changed %s %s %d", o.Name, o.ResourceVersion, len(o.ManagedFields)+len(o.Annotations))
	}
}

// want waits for calls, in this order.
func (f recorder) want(t *testing.T, lines ...string) {
	t.Helper()
	for _, want := range lines {
		select {
		case got := <-f.lines:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("call (-want +got):\n%s", diff)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("no call %q", want)
		}
	}
}

// watches passes each watch to the test, which answers it.
type watches struct {
	listing
	opened chan *opened
}

// opened is a watch. Only its handler writes, as no other goroutine may after the handler has returned.
type opened struct {
	*testing.T
	at    string
	write chan map[string]any
	done  chan struct{} // closed by the test, to end the watch
	ended chan struct{} // closed when it has ended
}

func (s watches) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "" {
		s.listing.ServeHTTP(w, r)
		return
	}
	t, _ := s.TB.(*testing.T)
	o := &opened{T: t, at: r.URL.Query().Get("resourceVersion"), write: make(chan map[string]any), done: make(chan struct{}), ended: make(chan struct{})}
	defer close(o.ended)
	w.Header().Set("Content-Type", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	s.opened <- o
	for {
		select {
		case event := <-o.write:
			_ = json.NewEncoder(w).Encode(event) // the client may have gone
			_ = http.NewResponseController(w).Flush()
		case <-o.done:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (o *opened) send(what string, object any) {
	select {
	case o.write <- map[string]any{"type": what, "object": object}:
	case <-o.ended:
		o.Errorf("the watch has ended before %s", what)
	}
}

func (o *opened) object(what, name, version string) {
	meta := objects("a", 1)[0]
	meta.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
	meta.Name, meta.ResourceVersion = name, version
	o.send(what, &meta)
}

func follow(t *testing.T, s *fakeServer, target Target) recorder {
	t.Helper()
	f := recorder{lines: make(chan string, 100)}
	r := s.reader(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Follow(ctx, target, f.change) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return f
}

func TestFollow(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	served := watches{listing{TB: t, objects: objects("a", 2), protobuf: true}, make(chan *opened)}
	s.Handle("/api/v1/pods", served)
	f := follow(t, s, Target{pods, ""})
	f.want(t, "listed 2")

	first := <-served.opened
	if first.at != "77" {
		t.Errorf("the watch starts at %q, the list was of 77", first.at)
	}
	first.object("ADDED", "new", "78")
	first.object("MODIFIED", "new", "79")
	first.object("DELETED", "o-0000", "80")
	first.object("BOOKMARK", "", "90")
	f.want(t, "changed new 78 0", "changed new 79 0", "gone o-0000")
	close(first.done)

	second := <-served.opened
	if second.at != "90" {
		t.Errorf("the watch resumes at %q, the bookmark was of 90", second.at)
	}
	gone := apierrors.NewResourceExpired("too old").ErrStatus
	gone.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	second.send("ERROR", &gone)
	f.want(t, "listed 2")
	close(second.done)

	third := <-served.opened
	close(third.done) // ends without an event
	fourth := <-served.opened
	if fourth.at != "77" {
		t.Errorf("after a watch without an event the next starts at %q", fourth.at)
	}
	fourth.object("ADDED", "late", "81")
	f.want(t, "changed late 81 0")
	fourth.send("ERROR", map[string]any{"apiVersion": "v1", "kind": "Status", "code": 500, "message": "etcd"})
	f.want(t, "failed Internal")
	close(fourth.done)
	fifth := <-served.opened
	if fifth.at != "81" {
		t.Errorf("after an error the watch starts at %q, want 81", fifth.at)
	}
}

// TestFollowForbidden: a target that the user may not list is retried.
func TestFollowForbidden(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var tries int
	l := listing{TB: t, objects: objects("a", 1), broken: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		tries++
		if tries < 3 {
			fail(w, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no")))
		}
		return tries < 3
	}}
	served := watches{l, make(chan *opened, 1)}
	s.Handle("/api/v1/namespaces/a/pods", served)
	f := follow(t, s, Target{pods, "a"})
	f.want(t, "failed Forbidden", "failed Forbidden", "listed 1")
}
