package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// list lists targets and returns the sorted names of the objects.
func list(t *testing.T, r *Reader, targets ...Target) ([]string, []Incomplete) {
	t.Helper()
	var names []string
	missing, err := r.ListMetadata(t.Context(), targets, func(target Target, o *metav1.PartialObjectMetadata) {
		if o.ManagedFields != nil || o.Annotations != nil {
			t.Errorf("%s has managed fields or annotations", o.Name)
		}
		if o.Labels["app"] != "x" || o.Generation != 2 || len(o.Finalizers) != 1 || len(o.OwnerReferences) != 1 || !*o.OwnerReferences[0].Controller || o.CreationTimestamp.Unix() != 1000 {
			t.Errorf("%s has lost something: %+v", o.Name, o)
		}
		names = append(names, target.Kind.String()+" "+o.Namespace+"/"+o.Name)
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names, missing
}

func names(kind Kind, namespace string, n int) []string {
	var out []string
	for _, o := range objects(namespace, n) {
		out = append(out, kind.String()+" "+namespace+"/"+o.Name)
	}
	return out
}

func TestListMetadata(t *testing.T) {
	s := newServer(t)
	s.Handle("/api/v1/namespaces/a/pods", listing{TB: t, objects: objects("a", 1203), protobuf: true})
	s.Handle("/apis/example.com/v1/widgets", listing{TB: t, objects: objects("b", 501)})
	s.Handle("/api/v1/namespaces/c/pods", listing{TB: t, objects: objects("c", 500), protobuf: true})
	got, missing := list(t, s.reader(t), Target{pods, "a"}, Target{widgets, ""}, Target{pods, "c"})
	want := slices.Concat(names(pods, "a", 1203), names(pods, "c", 500), names(widgets, "b", 501))
	if diff := cmp.Diff(want, got); diff != "" || missing != nil {
		t.Errorf("missing %v, objects (-want +got):\n%s", missing, diff)
	}
	if asked := s.asked(); len(asked) != 3+2+1 {
		t.Errorf("pages: %v", asked)
	}
}

// TestListWholeObjects: servers that do not know partial objects send whole ones.
func TestListWholeObjects(t *testing.T) {
	s := newServer(t)
	var items []map[string]any
	for _, o := range objects("a", 2) {
		items = append(items, map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": o.ObjectMeta, "spec": map[string]any{"size": 3}})
	}
	s.HandleFunc("/apis/example.com/v1/widgets", answerJSON("application/json", map[string]any{"kind": "WidgetList", "items": items, "metadata": map[string]any{}}))
	got, missing := list(t, s.reader(t), Target{widgets, ""})
	if diff := cmp.Diff(names(widgets, "a", 2), got); diff != "" || missing != nil {
		t.Errorf("missing %v, objects (-want +got):\n%s", missing, diff)
	}
}

// TestExpiredToken: every object is returned once, whether the server offers another token or not.
func TestExpiredToken(t *testing.T) {
	gone := func(w http.ResponseWriter, next string) bool {
		err := apierrors.NewResourceExpired("the token is too old")
		err.ErrStatus.Continue = next
		fail(w, err)
		return true
	}
	for _, tt := range []struct {
		reason   string
		broken   func(w http.ResponseWriter, r *http.Request, from int) bool
		requests int
		missing  bool
	}{
		{"the error has another token", func(w http.ResponseWriter, r *http.Request, from int) bool {
			return r.URL.Query().Get("continue") == "at-500" && gone(w, "500")
		}, 4, false},
		{"the answer does not, so all is listed again", func(w http.ResponseWriter, _ *http.Request, from int) bool {
			return from == 500 && gone(w, "")
		}, 3, false},
		{"the error has the token that has just expired", func(w http.ResponseWriter, _ *http.Request, from int) bool {
			return from == 500 && gone(w, "at-500")
		}, 3, false},
		{"a server without Status", func(w http.ResponseWriter, _ *http.Request, from int) bool {
			if from == 500 {
				w.WriteHeader(http.StatusGone)
			}
			return from == 500
		}, 3, false},
		{"even the second list fails", func(w http.ResponseWriter, r *http.Request, from int) bool {
			return (from == 500 || r.URL.Query().Get("limit") == "") && gone(w, "")
		}, 3, true},
	} {
		s := newServer(t)
		s.Handle("/api/v1/pods", listing{TB: t, objects: objects("a", 1100), protobuf: true, broken: tt.broken})
		got, missing := list(t, s.reader(t), Target{pods, ""})
		if tt.missing != (len(missing) > 0) {
			t.Errorf("%s: missing %v", tt.reason, missing)
		}
		if diff := cmp.Diff(names(pods, "a", 1100), got); diff != "" && !tt.missing {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if asked := s.asked(); len(asked) != tt.requests {
			t.Errorf("%s: %d requests, want %d: %v", tt.reason, len(asked), tt.requests, asked)
		}
	}
}

// broken is a connection that ends in the middle of the answer.
func broken(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{")
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// TestBrokenPage: a connection that breaks within a page is not an unreadable page; the objects read before are
// passed on once, and the rest is said to be missing.
func TestBrokenPage(t *testing.T) {
	s := newServer(t)
	s.Handle("/api/v1/pods", listing{TB: t, objects: objects("a", 2*pageSize), protobuf: true, broken: func(w http.ResponseWriter, r *http.Request, from int) bool {
		if from == 0 {
			return false
		}
		answered := httptest.NewRecorder()
		listing{TB: t, objects: objects("a", 2*pageSize), protobuf: true}.ServeHTTP(answered, r)
		body := answered.Body.Bytes()
		w.Header().Set("Content-Type", answered.Header().Get("Content-Type"))
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}})
	got, missing := list(t, s.reader(t), Target{pods, ""})
	if len(got) <= pageSize || len(got) >= 2*pageSize || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("%d objects of %d, after half of the last page", len(got), 2*pageSize)
	}
	if len(missing) != 1 || missing[0].Reason != ReasonUnavailable {
		t.Errorf("missing: %v, want the pods, as the connection broke", missing)
	}
}

// TestListFails: a target that fails has a reason, and the others are read.
func TestListFails(t *testing.T) {
	status := func(err *apierrors.StatusError) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fail(w, err) }
	}
	plain := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "plain words", code) }
	}
	gr := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	for _, tt := range []struct {
		answer http.HandlerFunc
		want   string
		reason string
	}{
		{status(apierrors.NewForbidden(gr, "", errors.New("no"))), ReasonForbidden, "the user is not allowed"},
		{status(apierrors.NewUnauthorized("who")), ReasonUnauthorized, "the server does not accept the credentials"},
		{status(apierrors.NewNotFound(gr, "")), ReasonNotServed, "the kind is gone"},
		{plain(http.StatusNotFound), ReasonNotServed, "the kind is gone, from a plain server"},
		{status(apierrors.NewMethodNotSupported(gr, "list")), "MethodNotAllowed", "405"},
		{status(apierrors.NewTimeoutError("late", 0)), ReasonTimeout, "504"},
		{plain(http.StatusGatewayTimeout), ReasonTimeout, "504 of a proxy"},
		{status(apierrors.NewServiceUnavailable("down")), ReasonUnavailable, "503"},
		{plain(http.StatusBadGateway), ReasonUnavailable, "502 of a proxy"},
		{status(apierrors.NewInternalError(errors.New("conversion webhook for example.com/v1, Kind=Widget failed: x"))), ReasonConversion, "a conversion webhook fails"},
		{status(apierrors.NewInternalError(errors.New("etcd"))), ReasonInternal, "500"},
		{plain(http.StatusInternalServerError), ReasonInternal, "500 of a plain server"},
		{status(apierrors.NewResourceExpired("old")), "Expired", "a list, rather than a page, that expires"},
		{answerJSON("text/html; charset=utf-8", "<html>"), ReasonUnreadable, "a login page"},
		{answerJSON("", "x"), ReasonUnreadable, "no content type"},
		{answerJSON("application/json", []int{1}), ReasonUnreadable, "JSON of another shape"},
		{answerJSON("application/vnd.kubernetes.protobuf", "x"), ReasonUnreadable, "protobuf without its prefix"},
		{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
			_, _ = io.WriteString(w, protobufPrefix+"\xff\xff")
		}, ReasonUnreadable, "broken protobuf"},
		{broken, ReasonUnavailable, "the connection breaks"},
	} {
		s := newServer(t)
		s.Handle("/apis/example.com/v1/namespaces/a/widgets", tt.answer)
		s.Handle("/api/v1/pods", listing{TB: t, objects: objects("a", 3), protobuf: true})
		got, missing := list(t, s.reader(t), Target{widgets, "a"}, Target{pods, ""})
		if len(got) != 3 {
			t.Errorf("%s: the other kind has %v", tt.reason, got)
		}
		if len(missing) != 1 {
			t.Errorf("%s: missing %v", tt.reason, missing)
			continue
		}
		m := missing[0]
		if m.Message == "" {
			t.Errorf("%s: no message", tt.reason)
		}
		m.Message = ""
		if diff := cmp.Diff(Incomplete{Group: "example.com", Version: "v1", Resource: "widgets", Namespace: "a", Reason: tt.want}, m); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// TestListWithoutAnswer: a request without an answer ends when the reader's timeout has passed.
func TestListWithoutAnswer(t *testing.T) {
	s := newServer(t)
	s.HandleFunc("/api/v1/pods", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	r := s.reader(t)
	r.timeout = 10 * time.Millisecond
	_, missing := list(t, r, Target{pods, ""})
	want := []Incomplete{{Version: "v1", Resource: "pods", Reason: ReasonTimeout, Message: "no answer within 10ms"}}
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

func TestListEndsWithContext(t *testing.T) {
	s := newServer(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s.HandleFunc("/api/v1/pods", func(_ http.ResponseWriter, r *http.Request) {
		cancel(errors.New("enough"))
		<-r.Context().Done()
	})
	_, err := s.reader(t).ListMetadata(ctx, []Target{{pods, ""}}, func(Target, *metav1.PartialObjectMetadata) {})
	if err == nil || err.Error() != "enough" {
		t.Errorf("the context ended, and the error is %v", err)
	}
}

// TestParallel: many lists at once, but not too many.
func TestParallel(t *testing.T) {
	s := newServer(t)
	full, fill := context.WithCancel(t.Context())
	defer fill()
	var targets []Target
	for i := range 3 * maxInFlight {
		kind := widgets
		kind.Resource = fmt.Sprintf("w%d", i)
		targets = append(targets, Target{kind, ""})
		l := listing{TB: t, objects: objects("a", 1)}
		s.HandleFunc("/apis/example.com/v1/"+kind.Resource, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			if s.current == maxInFlight && len(s.requests) == maxInFlight {
				fill() // it may be that several see it
			}
			s.mu.Unlock()
			<-full.Done() // so that they pile up
			l.ServeHTTP(w, r)
		})
	}
	got, missing := list(t, s.reader(t), targets...)
	if len(got) != len(targets) || missing != nil || s.most != maxInFlight {
		t.Errorf("%d objects, missing %v, %d requests at once; want %d at once", len(got), missing, s.most, maxInFlight)
	}
}

func TestMetadata(t *testing.T) {
	s := newServer(t)
	object := objects("a", 1)[0]
	s.HandleFunc("/api/v1/namespaces/a/pods/o-0000", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
		_, _ = w.Write(protobuf(t, schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"}, &object))
	})
	s.HandleFunc("/apis/example.com/v1/namespaces/a/widgets/o-0000", answerJSON("application/json", map[string]any{"kind": "Widget", "metadata": object.ObjectMeta, "spec": 1}))
	r := s.reader(t)
	want := object.DeepCopy()
	dropLargeMetadata(want)
	for _, kind := range []Kind{pods, widgets} {
		got, err := r.Metadata(t.Context(), kind, "a", "o-0000")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.ObjectMeta, got.ObjectMeta); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	for _, tt := range []struct{ namespace, name, want string }{
		{"a", "none", "could not find"},
		{"a", "..", "invalid name"}, {"../..", "x", "invalid name"}, {"a", "x/y", "invalid name"}, {"a", "%2e", "invalid name"},
		{"a", "", "is needed"}, {"", "x", "is needed"},
	} {
		before := len(s.asked())
		_, err := r.Metadata(t.Context(), pods, tt.namespace, tt.name)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("reading %q in %q: %v, want %q", tt.name, tt.namespace, err, tt.want)
		}
		if asked := len(s.asked()) > before; asked != (tt.want == "could not find") {
			t.Errorf("reading %q in %q: the server was asked: %v", tt.name, tt.namespace, asked)
		}
	}
}

// TestLargePages: lists that are decoded while they arrive have large pages, others do not.
func TestLargePages(t *testing.T) {
	s := newServer(t)
	s.Handle("/api/v1/pods", listing{TB: t, objects: objects("a", 4*pageSize), protobuf: true})
	r := s.reader(t)
	r.largePage = largePageSize
	if got, missing := list(t, r, Target{pods, ""}); len(got) != 4*pageSize || missing != nil {
		t.Errorf("%d objects, missing %v", len(got), missing)
	}
	if asked := s.asked(); len(asked) != 1 {
		t.Errorf("pages: %v", asked)
	}
}
