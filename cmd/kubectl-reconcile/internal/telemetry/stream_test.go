package telemetry

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// follow opens the trace of server, which is not over before its headers are there: from then on it misses nothing.
func follow(t *testing.T, server *httptest.Server, query string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/trace"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func emit(r *trace.Recorder, controllers ...string) {
	for _, c := range controllers {
		r.Emit(c, 0, "default/web", &trace.Log{Message: "hello"})
	}
}

func TestTraceIsLive(t *testing.T) {
	stream := NewStream()
	server := serve(t, Options{Stream: stream})
	recorder := trace.NewRecorder(clock.RealClock{}, stream)
	emit(recorder, "deployment") // without a reader
	all := trace.NewReader(follow(t, server, "").Body)
	for range 3 {
		emit(recorder, "replicaset")
		e, err := all.Next() // it is sent before the trace ends
		if err != nil || e.Controller != "replicaset" || e.Key != "default/web" {
			t.Fatalf("read %+v, %v", e, err)
		}
	}
	stream.Close()
	if _, err := all.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end of the session: %v, want the end", err)
	}
	if _, err := trace.NewReader(follow(t, server, "").Body).Next(); !errors.Is(err, io.EOF) {
		t.Errorf("of a session that has ended: %v, want the end", err)
	}
}

func TestTraceOfSome(t *testing.T) {
	for _, tt := range []struct {
		reason, query string
		code          int
		want          int
	}{
		{"all", "", http.StatusOK, 3},
		{"one", "?controller=replicaset", http.StatusOK, 1},
		{"a list", "?controller=replicaset,deployment", http.StatusOK, 2},
		{"several", "?controller=replicaset&controller=deployment", http.StatusOK, 2},
		{"an empty one is none", "?controller=", http.StatusOK, 3},
		{"a typo, which would wait forever", "?controller=replicasets", http.StatusBadRequest, 0},
	} {
		stream := NewStream()
		resp := follow(t, serve(t, Options{Stream: stream}), tt.query)
		if resp.StatusCode != tt.code {
			t.Errorf("%s: status %d, want %d", tt.reason, resp.StatusCode, tt.code)
		}
		if tt.code != http.StatusOK {
			continue
		}
		emit(trace.NewRecorder(clock.RealClock{}, stream), "deployment", "replicaset", "")
		stream.Close()
		got := 0
		for r := trace.NewReader(resp.Body); ; got++ {
			if _, err := r.Next(); err != nil {
				break
			}
		}
		if got != tt.want {
			t.Errorf("%s: %d events, want %d", tt.reason, got, tt.want)
		}
	}
}

// TestSlowReaderIsDropped: a reader that does not read costs the controllers nothing, and cannot take what it has received for all.
func TestSlowReaderIsDropped(t *testing.T) {
	stream := NewStream()
	server := serve(t, Options{Stream: stream})
	slow := follow(t, server, "")
	recorder := trace.NewRecorder(clock.RealClock{}, stream)
	for began := time.Now(); stream.readers.Load() > 0; {
		emit(recorder, "replicaset")
		if time.Since(began) > 2*time.Minute {
			t.Fatal("a reader that reads nothing is still there")
		}
	}
	if n := testutil.ToFloat64(stream.dropped); n != 1 {
		t.Errorf("%v readers were dropped, want 1", n)
	}
	if _, err := io.Copy(io.Discard, bufio.NewReader(slow.Body)); err == nil {
		t.Error("the trace of a dropped reader looks complete")
	}
	fresh := trace.NewReader(follow(t, server, "").Body)
	emit(recorder, "deployment")
	if e, err := fresh.Next(); err != nil || e.Controller != "deployment" {
		t.Errorf("another reader got %+v, %v", e, err)
	}
}

func TestReadersAreBounded(t *testing.T) {
	stream := NewStream()
	var subs []*subscription
	for range maxReaders {
		sub, err := stream.subscribe(nil)
		if err != nil {
			t.Fatal(err)
		}
		subs = append(subs, sub)
	}
	if resp := follow(t, serve(t, Options{Stream: stream}), ""); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one reader too many got %d", resp.StatusCode)
	}
	stream.unsubscribe(subs[0])
	stream.unsubscribe(subs[0])
	if _, err := stream.subscribe(nil); err != nil {
		t.Errorf("after one has gone: %v", err)
	}
}

// TestReaderGoes: a reader that has gone is no reader any more.
func TestReaderGoes(t *testing.T) {
	stream := NewStream()
	resp := follow(t, serve(t, Options{Stream: stream}), "")
	resp.Body.Close()
	for deadline := time.Now().Add(2 * time.Minute); stream.readers.Load() > 0; {
		if time.Now().After(deadline) {
			t.Fatal("it still counts")
		}
		<-time.After(time.Millisecond)
	}
}

// TestStreamConcurrently is for the race detector.
func TestStreamConcurrently(t *testing.T) {
	stream := NewStream()
	recorder := trace.NewRecorder(clock.RealClock{}, stream, NewMetrics())
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 1000 {
				emit(recorder, "replicaset")
			}
		})
		work.Go(func() {
			for range 50 {
				sub, err := stream.subscribe([]string{"replicaset"})
				if err != nil {
					t.Error(err)
					return
				}
				select {
				case <-sub.events:
				case <-time.After(time.Microsecond):
				}
				stream.unsubscribe(sub)
			}
		})
	}
	work.Go(stream.Close)
	work.Wait()
	if n := stream.readers.Load(); n != 0 {
		t.Errorf("%d readers are left", n)
	}
}
