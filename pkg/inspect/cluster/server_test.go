package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// fakeServer answers as an API server does, and can fail in ways that the embedded one cannot. A path without a
// handler is 404.
type fakeServer struct {
	*httptest.Server
	*http.ServeMux

	// before is called with each request before it is answered; it may be nil.
	before func(*http.Request)

	mu       sync.Mutex
	requests []string
	current  int // requests in flight
	most     int
}

func newServer(t testing.TB) *fakeServer {
	t.Helper()
	s := &fakeServer{ServeMux: http.NewServeMux()}
	s.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "nothing at "+r.URL.Path, 0, false))
	})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.enter(r)
		if s.before != nil {
			s.before(r)
		}
		defer s.leave()
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *fakeServer) enter(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.URL.RequestURI())
	s.current++
	s.most = max(s.most, s.current)
}

func (s *fakeServer) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current--
}

// asked returns the URLs requested so far.
func (s *fakeServer) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.requests...)
}

func (s *fakeServer) config() *rest.Config { return &rest.Config{Host: s.URL, QPS: -1} }

func (s *fakeServer) reader(t testing.TB) *Reader {
	t.Helper()
	r, err := NewReader(s.config())
	if err != nil {
		t.Fatal(err)
	}
	r.retryBackoff, r.largePage = time.Millisecond, pageSize
	r.timeout = 2 * time.Minute // a busy machine must not end a request
	t.Cleanup(r.client.Client.CloseIdleConnections)
	return r
}

// fail answers with a Status.
func fail(w http.ResponseWriter, err *apierrors.StatusError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(err.ErrStatus.Code))
	status := err.ErrStatus
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	writeJSON(w, &status)
}

func writeJSON(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

// answerJSON handles a path with a JSON document.
func answerJSON(contentType string, v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		writeJSON(w, v)
	}
}

// protobuf encodes with the envelope that servers use.
func protobuf(t testing.TB, gvk schema.GroupVersionKind, v interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw, err := v.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}, Raw: raw, ContentType: runtime.ContentTypeProtobuf}
	body, err := envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(protobufPrefix), body...)
}

// typed encodes an object of client-go's scheme in protobuf.
func typed(t testing.TB, obj runtime.Object) []byte {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		t.Fatal("no serializer for protobuf")
	}
	var out bytes.Buffer
	if err := info.Serializer.Encode(obj, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// objects returns metadata with all fields that servers send.
func objects(namespace string, n int) []metav1.PartialObjectMetadata {
	out := make([]metav1.PartialObjectMetadata, n)
	for i := range out {
		name := fmt.Sprintf("o-%04d", i)
		out[i].ObjectMeta = metav1.ObjectMeta{
			Name: name, Namespace: namespace, UID: types.UID(namespace + "-" + name), ResourceVersion: strconv.Itoa(i + 1), Generation: 2,
			Labels: map[string]string{"app": "x"}, Annotations: map[string]string{"a": strings.Repeat("b", 100)}, Finalizers: []string{"f"},
			CreationTimestamp: metav1.Unix(1000, 0),
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: "v1", Kind: "Owner", Name: "owner", UID: "u", Controller: new(true)}},
			ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:x":{}}`)}},
		}
	}
	return out
}

// listing serves objects in pages. Continue tokens are offsets.
type listing struct {
	testing.TB
	objects []metav1.PartialObjectMetadata
	// protobuf is the encoding, if the client asks for it; else JSON.
	protobuf bool
	// remaining adds how many objects remain after a page.
	remaining bool
	// broken is called before each page, and reports whether it has answered in place of the listing.
	broken func(w http.ResponseWriter, r *http.Request, from int) bool
}

func (l listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("continue"), "at-"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	if l.broken != nil && l.broken(w, r, from) {
		return
	}
	to := len(l.objects)
	list := metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "77"}}
	if limit > 0 && from+limit < to {
		to = from + limit
		list.Continue = fmt.Sprintf("at-%d", to)
		if l.remaining {
			list.RemainingItemCount = new(int64(len(l.objects) - to))
		}
	}
	list.Items = l.objects[from:to]
	gvk := schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadataList"}
	if l.protobuf && strings.Contains(r.Header.Get("Accept"), "protobuf") {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		_, _ = w.Write(protobuf(l, gvk, &list))
		return
	}
	list.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: gvk.Kind}
	w.Header().Set("Content-Type", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
	writeJSON(w, &list)
}

var (
	pods    = Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: "pods", Namespaced: true}
	widgets = Kind{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, Resource: "widgets", Namespaced: true}
)
