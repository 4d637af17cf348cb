package runlocal

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// TestMarkInPieces: the end of what there was is seen wherever the stream is cut.
func TestMarkInPieces(t *testing.T) {
	const before, after = `{"type":"ADDED"}{"metadata":{"annotations":{"`, `":"true"}}}{"type":"ADDED"}`
	text := before + string(initialEventsEnd) + after
	for size := 1; size <= len(text); size++ {
		var ended, whole int
		body := &listingBody{
			ReadCloser: io.NopCloser(strings.NewReader(text)), watch: true,
			ended: func() { ended++ }, whole: func() { whole++ },
		}
		piece := make([]byte, size)
		read := 0
		for whole == 0 {
			n, err := body.Read(piece)
			if err != nil {
				t.Fatalf("in pieces of %d: the mark was not seen: %v", size, err)
			}
			read += n
		}
		if least := len(before) + len(initialEventsEnd); read < least || read >= least+size || ended != 1 {
			t.Errorf("in pieces of %d: seen after %d bytes, want %d; ended %d times", size, read, least, ended)
		}
	}
}

func TestListsAreWholeAtTheirEnd(t *testing.T) {
	for _, test := range []struct {
		reason string
		body   io.Reader
		watch  bool
		whole  bool
	}{
		{"a list that was read to its end", strings.NewReader("{}"), false, true},
		{"a list that was cut off", iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("{}"))), false, false},
		{"a watch that ended before all initial events", strings.NewReader("{}"), true, false},
		{"a list that says what a watch would", strings.NewReader(string(initialEventsEnd)), false, true},
	} {
		whole, ended := false, false
		body := &listingBody{ReadCloser: io.NopCloser(test.body), watch: test.watch, ended: func() { ended = true },
			whole: func() { whole = true }}
		_, _ = io.ReadAll(body)
		if whole != test.whole || !ended {
			t.Errorf("%s: whole %t, ended %t", test.reason, whole, ended)
		}
	}
}

func TestInformerRequests(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, test := range []struct {
		reason, method, uri string
		want                listingRequest
		ok                  bool
	}{
		{"a list of an informer", "GET", "/p/api/v1/pods?limit=500&resourceVersion=0",
			listingRequest{pods, true, false}, true},
		{"its second page", "GET", "/p/api/v1/pods?limit=500&continue=x", listingRequest{pods, true, false}, true},
		{"a watch that begins with a list", "GET", "/p/api/v1/pods?watch=true&sendInitialEvents=true",
			listingRequest{pods, true, true}, true},
		{"a watch", "GET", "/p/api/v1/pods?watch=true&resourceVersion=7", listingRequest{pods, false, true}, true},
		{"a list that a controller requests", "GET", "/p/api/v1/namespaces/a/pods", listingRequest{}, false},
		{"an object", "GET", "/p/api/v1/namespaces/a/pods/b?resourceVersion=0", listingRequest{}, false},
		{"a deletion of many", "DELETE", "/p/api/v1/namespaces/a/pods?resourceVersion=0", listingRequest{}, false},
		{"what is no object", "GET", "/p/version?watch=true", listingRequest{}, false},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, "https://host"+test.uri, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := informerRequest(req, "/p"); ok != test.ok || ok && got != test.want {
			t.Errorf("%s: %+v %t", test.reason, got, ok)
		}
	}
}

// TestFilled counts what a start waits for: what controllers read, requested or not, and what is requested beside that.
func TestFilled(t *testing.T) {
	pods, sets, nodes := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Group: "apps",
		Resource: "replicasets"}, schema.GroupResource{Resource: "nodes"}
	l := newListings([]controllers.Controller{{Short: "replicaset", Reads: []schema.GroupResource{pods, sets}},
		{Short: "deployment", Reads: []schema.GroupResource{sets}}})
	for _, step := range []struct {
		reason      string
		do          func()
		filled, all int
	}{
		{"no request", func() {}, 0, 2},
		{"a request without an answer", func() { l.requested(pods) }, 0, 2},
		{"one is listed", func() { l.listed(pods) }, 1, 2},
		{"a request for one that no controller names", func() { l.requested(nodes) }, 1, 3},
		{"what cannot be listed has not come", func() { l.failed(sets, errors.New("no")) }, 1, 3},
		{"all have come", func() { l.listed(sets); l.listed(nodes) }, 3, 3},
		{"what was listed once counts", func() { l.failed(pods, errors.New("gone")) }, 3, 3},
	} {
		step.do()
		if filled, all := l.filled(); filled != step.filled || all != step.all {
			t.Errorf("%s: %d of %d, want %d of %d", step.reason, filled, all, step.filled, step.all)
		}
	}
}

// TestUndecided: what is needed and was not requested yet may be refused, too.
func TestUndecided(t *testing.T) {
	pods, sets := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Group: "apps", Resource: "replicasets"}
	l := newListings([]controllers.Controller{{Short: "replicaset", Reads: []schema.GroupResource{pods, sets}}})
	for _, step := range []struct {
		reason    string
		do        func()
		undecided bool
	}{
		{"nothing was requested", func() {}, true},
		{"one was refused, the other not requested", func() { l.requested(pods); l.failed(pods, errors.New("no")) }, true},
		{"the other has no answer", func() { l.requested(sets) }, true},
		{"both are answered", func() { l.listed(sets) }, false},
	} {
		if step.do(); l.undecided() != step.undecided {
			t.Errorf("%s: undecided is %t", step.reason, !step.undecided)
		}
	}
}
