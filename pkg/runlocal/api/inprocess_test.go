package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// label is the value of a pprof label of the calling goroutine. The profile is the only exported view of another
// goroutine's labels; the calling one shows in its text.
func label(key string) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err.Error()
	}
	for block := range strings.SplitSeq(profile.String(), "\n\n") {
		if !strings.Contains(block, "inprocess_test.go") || !strings.Contains(block, "api.label") {
			continue
		}
		_, after, ok := strings.Cut(block, `"`+key+`":"`)
		if !ok {
			return ""
		}
		value, _, _ := strings.Cut(after, `"`)
		return value
	}
	return "not found"
}

// Writes are attributed to reconciles by this.
func TestCommitSeesTheLabelsOfTheClient(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	f := start(t, Options{OnCommit: func(context.Context, uint64) {
		mu.Lock()
		defer mu.Unlock()
		seen[label("reconcile")] = true
	}})
	mu.Lock()
	clear(seen)
	mu.Unlock()
	writes := map[string]func(context.Context) error{
		"create": func(ctx context.Context) error {
			_, err := f.CoreV1().ConfigMaps(f.namespace).Create(ctx,
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{})
			return err
		},
		"create-2": func(ctx context.Context) error {
			_, err := f.CoreV1().Pods(f.namespace).Create(ctx, pod("p"), metav1.CreateOptions{})
			return err
		},
	}
	var clients sync.WaitGroup
	for name, write := range writes {
		clients.Go(func() {
			pprof.Do(t.Context(), pprof.Labels("reconcile", name), func(ctx context.Context) {
				if err := write(ctx); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		})
	}
	clients.Wait()
	mu.Lock()
	defer mu.Unlock()
	for name := range writes {
		if !seen[name] {
			t.Errorf("no commit has label %q, but %v", name, seen)
		}
	}
}

func newTransport(t *testing.T, h http.HandlerFunc) *transport {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	rt := &transport{base: ctx}
	rt.serve(h)
	t.Cleanup(func() {
		cancel()
		rt.drain()
	})
	return rt
}

func roundTrip(ctx context.Context, rt http.RoundTripper) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://host/path?q=1", nil)
	if err != nil {
		return nil, err
	}
	return rt.RoundTrip(req)
}

func TestRoundTrip(t *testing.T) {
	for _, tt := range []struct {
		handler http.HandlerFunc
		status  int
		body    string
		err     string // of RoundTrip
		readErr error  // of the body
		reason  string
	}{
		{func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X", "1")
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, r.RequestURI)
		}, 418, "/path?q=1", "", nil, "status, header and body arrive"},
		{func(http.ResponseWriter, *http.Request) {}, 200, "", "", nil, "a handler that writes nothing says 200"},
		{func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusNotFound)
			w.WriteHeader(http.StatusOK)
		}, 404, "", "", nil, "the first final status counts"},
		{func(http.ResponseWriter, *http.Request) { panic("oops") }, 0, "", "oops", nil, "a panic is the client's error, not the process's end"},
		{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "", "unexpected EOF", nil, "an aborted handler cuts the connection"},
		{func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, 200, "half", "", io.ErrUnexpectedEOF, "aborted halfway, the body ends with an error"},
	} {
		resp, err := roundTrip(t.Context(), newTransport(t, tt.handler))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q: %s", err, tt.err, tt.reason)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %s", err, tt.reason)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode != tt.status || string(body) != tt.body || !errors.Is(err, tt.readErr) {
			t.Errorf("got %d %q %v: %s", resp.StatusCode, body, err, tt.reason)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRoundTripEndsWithItsContext(t *testing.T) {
	ended := make(chan struct{})
	rt := newTransport(t, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(ended)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := roundTrip(ctx, rt); !errors.Is(err, cause) {
		t.Errorf("RoundTrip: %v, want %v", err, cause)
	}
	<-ended
}

func TestClosingTheBodyEndsTheHandler(t *testing.T) {
	ended := make(chan error, 1)
	rt := newTransport(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		_, err := w.Write([]byte("late"))
		ended <- err
	})
	resp, err := roundTrip(t.Context(), rt)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("writing to a closed body: %v", err)
	}
	if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("reading a closed body: %v", err)
	}
}

// Admission and other server-side code makes requests with the context of the request it serves.
func TestServerContextHasNoValuesOfTheClient(t *testing.T) {
	type key struct{}
	rt := newTransport(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(key{}) != nil {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	resp, err := roundTrip(context.WithValue(t.Context(), key{}, "secret"), rt)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Error("a value of the client's context is visible to the server")
	}
}
