package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// TestBrokenObjects: an object that cannot be decoded is left out of its list, and named; the others are read.
func TestBrokenObjects(t *testing.T) {
	const good, other = `{"metadata":{"name":"good","namespace":"a","uid":"1"}}`, `{"metadata":{"name":"other","namespace":"a","uid":"2"}}`
	for _, tt := range []struct {
		broken       string
		metadata     string // what is said of it in a list of metadata; empty if it is read
		full         string // and in one of full objects
		reason       string
		wantMetadata int // objects read
	}{
		{`null`, "items[1]: unreadable answer: it is null", "items[1]", "a null is no object", 2},
		{`5`, "items[1]", "items[1]", "nor is a number", 2},
		{`{"metadata":{"name":"x","namespace":"a","labels":7}}`, `"a/x": unreadable`, "", "custom objects may have any form", 2},
		{`{"metadata":{"name":"x","namespace":"a","uid":"3","managedFields":[{"time":"yesterday"}]}}`, "", "", "a time that is not needed is not read", 3},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			s := newServer(t)
			s.HandleFunc("/apis/example.com/v1/widgets", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, `{"kind":"WidgetList","metadata":{},"items":[%s,%s,%s]}`, good, tt.broken, other)
			})
			var got []string
			missing, err := s.reader(t).ListMetadata(t.Context(), []Target{{widgets, ""}}, func(_ Target, o *metav1.PartialObjectMetadata) {
				got = append(got, o.Name)
			})
			if err != nil {
				t.Fatal(err)
			}
			wantLeftOut(t, missing, tt.metadata)
			if len(got) != tt.wantMetadata {
				t.Errorf("metadata of %v, want %d objects", got, tt.wantMetadata)
			}
			var names []string
			err = s.reader(t).ListObjects(t.Context(), Target{widgets, ""}, ListOptions{}, func(obj *unstructured.Unstructured) error {
				names = append(names, obj.GetName())
				return nil
			})
			if !slices.Contains(names, "good") || !slices.Contains(names, "other") {
				t.Errorf("read %q", names)
			}
			var listed []string
			_, jsonErr := s.reader(t).ListJSON(t.Context(), Target{widgets, ""}, ListOptions{}, func(object json.RawMessage) error {
				listed = append(listed, string(object))
				return nil
			})
			if null := tt.broken == "null"; slices.Contains(listed, tt.broken) == null || (jsonErr != nil) != null {
				t.Errorf("as JSON: %q, %v", listed, jsonErr)
			}
			if (err != nil) != (tt.full != "") || err != nil && !strings.Contains(err.Error(), tt.full) {
				t.Errorf("error %v, want %q in it", err, tt.full)
			}
		})
	}
}

func wantLeftOut(t *testing.T, missing []Incomplete, want string) {
	t.Helper()
	switch {
	case want == "" && len(missing) == 0:
	case want == "" || len(missing) != 1 || missing[0].Reason != ReasonUnreadable || !strings.Contains(missing[0].Message, want):
		t.Errorf("missing %v, want %q", missing, want)
	}
}

// TestBrokenObjectInProtobuf: the same as for JSON.
func TestBrokenObjectInProtobuf(t *testing.T) {
	s := newServer(t)
	s.HandleFunc("/api/v1/pods", func(w http.ResponseWriter, _ *http.Request) {
		good, err := (&objects("a", 1)[0]).Marshal()
		if err != nil {
			t.Error(err)
		}
		var items []byte
		for _, item := range [][]byte{{0xff}, good} {
			items = append(protowire.AppendTag(items, fieldOfListItems, protowire.BytesType), lengthOf(len(item))...)
			items = append(items, item...)
		}
		_, _ = w.Write(protobuf(t, schema.GroupVersionKind{Version: "v1", Kind: "PodList"}, rawMessage(items)))
	})
	got, missing := list(t, s.reader(t), Target{pods, ""})
	if len(got) != 1 {
		t.Errorf("read %q, want one", got)
	}
	wantLeftOut(t, missing, "items[0]")
}

type rawMessage []byte

func (m rawMessage) Marshal() ([]byte, error) { return m, nil }

func lengthOf(n int) []byte {
	var out []byte
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

// TestListStopsBetweenObjects: a page that has arrived is not decoded to its end after an interrupt.
func TestListStopsBetweenObjects(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	page := answer(`{"kind":"WidgetList","items":[` + strings.Repeat(`{},`, 1000) + `{}]}`)
	n := 0
	err := page.eachItem(ctx, &metav1.ListMeta{}, &unusable{}, func(json.RawMessage) error {
		n++
		cancel()
		return nil
	})
	if n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d objects after the interrupt: %v", n, err)
	}
}

func TestAnswerLimit(t *testing.T) {
	for _, tt := range []struct {
		url, contentType string
		want             int64
		reason           string
	}{
		{"/api", "application/json", maxDiscovery, "discovery"},
		{"/apis", "application/json", maxDiscovery, "discovery"},
		{"/api/v1", "application/json", maxDiscovery, "the kinds of a version"},
		{"/apis/apps/v1", "application/json", maxDiscovery, "the kinds of a version of a group"},
		{"/k8s/clusters/c-1/apis/apps/v1", "application/json", maxDiscovery, "behind a proxy with a path"},
		{"/version", "application/json", maxAnswer, "any other document"},
		{"/openapi/v2", "application/json", maxAnswer, "schemas are large"},
		{"/api/v1/pods?limit=500", "application/json", maxAnswer, "a page"},
		{"/api/v1/namespaces/a/pods?limit=500", "application/json", maxAnswer, "a page of a namespace"},
		{"/api/v1/pods?limit=10000", "application/vnd.kubernetes.protobuf", maxWholeList, "decoded one object at a time"},
		{"/api/v1/pods", "application/json", maxWholeList, "an informer's list"},
		{"/api/v1/namespaces/a", "application/json", maxAnswer, "a namespace is an object"},
		{"/api/v1/namespaces", "application/json", maxWholeList, "namespaces are a list"},
		{"/apis/apps/v1/namespaces/a/deployments/web", "application/json", maxAnswer, "an object"},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.url, nil)
		got := answerLimit(req.URL.Path, req.URL.Query(), strings.Contains(tt.contentType, "protobuf"))
		if got != tt.want {
			t.Errorf("%s: limit %d, want %d: %s", tt.url, got, tt.want, tt.reason)
		}
	}
}

// TestEndlessAnswers: no answer fills the memory, and the error names it.
func TestEndlessAnswers(t *testing.T) {
	s := newServer(t)
	chunk := bytes.Repeat([]byte(" "), 1<<20)
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	s.HandleFunc("/api", endless)
	s.HandleFunc("/apis", answerJSON("application/json", map[string]string{}))
	config := s.config()
	config.Wrap(LimitAnswers)
	_, err := Discover(t.Context(), config)
	if err == nil || !strings.Contains(err.Error(), "the answer to GET /api is larger than the limit of 16 MiB") || Reason(err) != ReasonTooMany {
		t.Errorf("discovery: %v", err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s.HandleFunc("/api/v1/pods", endless)
	body, err := client.RESTClient().Get().AbsPath("/api/v1/pods").Param("watch", "true").Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	if err == nil || !strings.Contains(err.Error(), "an event of the watch of /api/v1/pods is larger than") {
		t.Errorf("watch: %v", err)
	}
}

// TestWatchIsNotLimited: the limit of a watch is for each of its events.
func TestWatchIsNotLimited(t *testing.T) {
	event := append(bytes.Repeat([]byte("x"), maxEvent/2), '\n')
	b := &limitedBody{tooLarge: AnswerTooLargeError{Event: true, Limit: maxEvent}}
	b.ReadCloser = io.NopCloser(bytes.NewReader(bytes.Repeat(event, 4)))
	if n, err := io.Copy(io.Discard, b); err != nil || n != int64(4*len(event)) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestMessageHasTheCode(t *testing.T) {
	failed := apierrors.NewInternalError(errors.New("no"))
	failed.ErrStatus.Message = "no"
	got := Target{Kind: widgets}.Incomplete(failed)
	if got.Message != "no (500 InternalError)" {
		t.Errorf("message %q", got.Message)
	}
}
