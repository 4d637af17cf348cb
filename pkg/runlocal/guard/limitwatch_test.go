package guard

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// pipes are the watches of some namespaces, whose frames a test writes.
type pipes struct {
	writers []*io.PipeWriter
	from    []string // the resourceVersion of each request, in the order of the namespaces
}

// RoundTrip answers what LimitNamespaces requests of a server: discovery, lists, and watches.
func (p *pipes) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasSuffix(req.URL.Path, "/v1") {
		return newResponse(req, http.StatusOK, "application/json",
			[]byte(`{"resources":[{"name":"configmaps","namespaced":true}]}`)), nil
	}
	i := int(req.URL.Path[len("/api/v1/namespaces/")] - 'a')
	if !req.URL.Query().Has("watch") {
		body := fmt.Sprintf(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[]}`,
			10)
		return newResponse(req, http.StatusOK, "application/json", []byte(body)), nil
	}
	reader, writer := io.Pipe()
	p.writers[i], p.from[i] = writer, req.URL.Query().Get("resourceVersion")
	resp := newResponse(req, http.StatusOK, streamed[runtime.ContentTypeJSON], nil)
	resp.Body = reader
	return resp, nil
}

// sends writes an event of a namespace; it is read before it returns.
func (p *pipes) sends(t *testing.T, namespace int, event []byte) {
	if _, err := p.writers[namespace].Write(event); err != nil {
		t.Error(err)
	}
}

// watchFixture is the side of a limited client.
type watchFixture struct {
	*pipes
	transport *namespaceLimiter
	source    frameReader
	body      io.Closer
}

func newWatchFixture(namespaces ...string) *watchFixture {
	p := &pipes{writers: make([]*io.PipeWriter, len(namespaces)), from: make([]string, len(namespaces))}
	shared := &namespaceLimit{namespaces: namespaces, scopes: newResourceScopes(), histories: newWatchHistories()}
	return &watchFixture{pipes: p, transport: &namespaceLimiter{shared, p}}
}

func (w *watchFixture) get(t *testing.T, query string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://server/api/v1/configmaps?"+query,
		http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// beginWatch watches from a version; it returns the code of the answer.
func (w *watchFixture) begin(t *testing.T, version string) int {
	t.Helper()
	resp := w.get(t, "watch=true&resourceVersion="+version)
	if resp.StatusCode == http.StatusOK {
		var err error
		if w.source, err = newFrameReader(resp.Header.Get("Content-Type"), resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	w.body = resp.Body
	return resp.StatusCode
}

// reads returns the next frames that the client gets.
func (w *watchFixture) reads(t *testing.T, n int) []string {
	t.Helper()
	var out []string
	for range n {
		f, err := w.source.next()
		if err != nil {
			return append(out, fmt.Sprint(err))
		}
		out = append(out, fmt.Sprintf("%s %s", f.kind, f.version))
	}
	return out
}

// TestMergedBookmarks: a bookmark holds for all namespaces.
func TestMergedBookmarks(t *testing.T) {
	type sent struct {
		namespace int
		kind      watch.EventType
		version   string
	}
	for _, row := range []struct {
		reason string
		sent   []sent
		want   []string
	}{
		{"of one namespace alone it is not sent", []sent{{0, watch.Bookmark, "20"}, {0, watch.Added, "21"}}, []string{"ADDED 21"}},
		{"the least of both", []sent{{0, watch.Bookmark, "20"}, {1, watch.Bookmark, "30"}, {0, watch.Added, "31"}}, []string{"BOOKMARK 20", "ADDED 31"}},
		{"equal ones, once", []sent{{0, watch.Bookmark, "20"}, {1, watch.Bookmark, "20"}, {1, watch.Bookmark, "20"}, {0, watch.Added, "21"}}, []string{"BOOKMARK 20", "ADDED 21"}},
		{"behind an event there is nothing to mark", []sent{{0, watch.Added, "20"}, {1, watch.Bookmark, "30"}, {1, watch.Added, "31"}}, []string{"ADDED 20", "ADDED 31"}},
		{"an event is a sign of progress too", []sent{{0, watch.Added, "40"}, {1, watch.Bookmark, "30"}, {0, watch.Added, "41"}}, []string{"ADDED 40", "BOOKMARK 30", "ADDED 41"}},
		{"numbers, not text", []sent{{0, watch.Bookmark, "99"}, {1, watch.Bookmark, "100"}, {1, watch.Added, "101"}}, []string{"BOOKMARK 99", "ADDED 101"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture("a", "b")
			w.get(t, "")
			if code := w.begin(t, "10"); code != http.StatusOK {
				t.Fatal(code)
			}
			got := make(chan []string)
			go func() { got <- w.reads(t, len(row.want)) }()
			for _, s := range row.sent {
				w.sends(t, s.namespace, encodedEvent(t, runtime.ContentTypeJSON, s.kind, configMap("web", s.version)))
				synctest.Wait() // one after the other
			}
			if diff := cmp.Diff(row.want, <-got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.reason, diff)
			}
			if err := w.body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMergedResumes: a watch that continues another misses nothing of a namespace that was behind another.
func TestMergedResumes(t *testing.T) {
	w := newWatchFixture("a", "b", "c")
	w.get(t, "")
	w.begin(t, "10")
	if diff := cmp.Diff([]string{"10", "10", "10"}, w.from); diff != "" {
		t.Errorf("after a list all begin at its version (-want +got):\n%s", diff)
	}
	w.sendAndRead(t, 0, "100")
	w.sendAndRead(t, 1, "90")
	w.body.Close()
	for _, row := range []struct {
		reason, version string
		want            []string
		code            int
	}{
		{"the last that it has received: c had no event yet", "90", []string{"100", "90", "10"}, http.StatusOK},
		{"the client was one event behind", "100", []string{"100", "10", "10"}, http.StatusOK},
		{"a version that no client can have", "95", nil, http.StatusGone},
		{"the list's own", "10", []string{"10", "10", "10"}, http.StatusOK},
		{"no version: from wherever the server begins", "", []string{"", "", ""}, http.StatusOK},
	} {
		w.from = make([]string, 3)
		if code := w.begin(t, row.version); code != row.code {
			t.Errorf("%s: answered with %d, want %d", row.reason, code, row.code)
		}
		if diff := cmp.Diff(row.want, w.from); row.want != nil && diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
		w.body.Close()
	}
}

func (w *watchFixture) sendAndRead(t *testing.T, namespace int, version string) {
	t.Helper()
	go w.sends(t, namespace, encodedEvent(t, runtime.ContentTypeJSON, watch.Modified, configMap("web", version)))
	if diff := cmp.Diff([]string{"MODIFIED " + version}, w.reads(t, 1)); diff != "" {
		t.Fatal(diff)
	}
}

// TestMergedResumesFromTheLeast: a version may be sent twice, and which of the two a client has seen is not known.
func TestMergedResumesFromTheLeast(t *testing.T) {
	const sent, kept = true, false
	for _, row := range []struct {
		reason string
		log    []delivery
		want   []string
	}{
		{
			"a bookmark of 100 came behind an event 110, which the client has not seen if it saw the event 100 last",
			[]delivery{{0, "100", sent}, {0, "110", sent}, {1, "100", sent}}, []string{"100", "10"},
		},
		{
			"nor has it where the bookmark was kept back",
			[]delivery{{0, "100", sent}, {0, "110", sent}, {1, "100", kept}}, []string{"100", "10"},
		},
		{
			"bookmarks behind the last event: b has nothing up to there either",
			[]delivery{{0, "100", sent}, {0, "100", kept}, {1, "100", kept}, {0, "100", sent}}, []string{"100", "100"},
		},
		{"a bookmark that was kept back until all were so far", []delivery{{1, "100", kept}, {0, "105", kept}, {1, "100", sent}}, []string{"105", "100"}},
		{"a bookmark that no client has seen", []delivery{{1, "100", kept}}, nil},
	} {
		h := newWatchHistories()
		h.recordList("key", "10")
		stream := h.beginWatch("key", "10", 2)
		for _, e := range row.log {
			stream.add(e.namespace, e.version, e.sent)
		}
		if diff := cmp.Diff(row.want, stream.positionsAt("100")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestMergedTrustsNoOthersList: a list of a version that a watch has delivered is that of another client, which has
// seen all up to it. The watching one has not.
func TestMergedTrustsNoOthersList(t *testing.T) {
	w := newWatchFixture("a", "b")
	w.get(t, "")
	w.begin(t, "10")
	w.sendAndRead(t, 0, "100")
	w.body.Close()
	w.transport.histories.recordList(watchKey(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://server/api/v1/configmaps", http.NoBody)), "100")
	if code := w.begin(t, "100"); code != http.StatusOK || w.from[1] != "10" {
		t.Errorf("b, of which the client has received nothing, is watched from %q (%d), want 10", w.from[1], code)
	}
	w.body.Close()
}

// TestMergedForgets: memory is bounded, and what is forgotten is known to be.
func TestMergedForgets(t *testing.T) {
	w := newWatchFixture("a", "b")
	w.get(t, "")
	w.begin(t, "10")
	const events = 3 * maxDeliveries
	for i := range events {
		w.sendAndRead(t, i%2, fmt.Sprint(100+i))
	}
	w.body.Close()
	if code := w.begin(t, fmt.Sprint(100+events-1)); code != http.StatusOK || w.from[0] != fmt.Sprint(100+events-2) {
		t.Errorf("the last event: %d, begun at %q", code, w.from)
	}
	w.body.Close()
	if code := w.begin(t, "101"); code != http.StatusGone {
		t.Errorf("an event of long ago: %d", code)
	}
	for i := range 3 * maxLists {
		w.transport.histories.recordList("other", fmt.Sprint(i))
	}
	if got := len(w.transport.histories.byKey["other"].lists); got != maxLists {
		t.Errorf("%d lists are kept", got)
	}
}

// TestMergedEnds: when one ends, all do, and no goroutine is left.
func TestMergedEnds(t *testing.T) {
	for _, row := range []struct {
		reason string
		end    func(*watchFixture)
		want   []string
	}{
		{"the server ends one", func(w *watchFixture) { w.writers[1].Close() }, []string{"EOF"}},
		{"one breaks", func(w *watchFixture) { w.writers[1].CloseWithError(io.ErrUnexpectedEOF) }, []string{"unexpected EOF"}},
		{"the version of one is gone", func(w *watchFixture) {
			event := encodedEvent(t, runtime.ContentTypeJSON, watch.Error, gone())
			go func() { _, _ = w.writers[0].Write(event) }()
		}, []string{"ERROR ", "EOF"}},
	} {
		w := newWatchFixture("a", "b")
		w.get(t, "")
		w.begin(t, "10")
		row.end(w)
		if diff := cmp.Diff(row.want, w.reads(t, len(row.want))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
		w.body.Close()
		for i, writer := range w.writers {
			if _, err := writer.Write([]byte("{}")); err == nil {
				t.Errorf("%s: the watch of namespace %d has not ended", row.reason, i)
			}
		}
	}
}

// TestMergedCloses while frames are sent that no client reads.
func TestMergedCloses(t *testing.T) {
	w := newWatchFixture("a", "b")
	w.begin(t, "0")
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		event := encodedEvent(t, runtime.ContentTypeJSON, watch.Added, configMap("web", "20"))
		for {
			if _, err := w.writers[0].Write(event); err != nil {
				return
			}
		}
	}()
	w.body.Close()
	select {
	case <-stopped:
	case <-time.After(deadline):
		t.Error("the watch of a has not ended")
	}
}
