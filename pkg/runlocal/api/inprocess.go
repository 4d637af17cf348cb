package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
)

// errStopped answers requests made after the server stopped.
var errStopped = errors.New("the embedded API server has stopped")

// transport is an http.RoundTripper that calls the server's handler without a socket.
//
// Every request is served in a goroutine that RoundTrip itself starts. A goroutine inherits the pprof labels of the one
// that starts it, and so do those that upstream's filters start in turn: this is how memstore's OnCommit, at the far end
// of the handler, still knows which reconcile of a client made the write. Do not serve from a pool.
type transport struct {
	base    context.Context // the server's lifetime; the only parent of a request's context
	handler atomic.Pointer[http.Handler]
	serving sync.WaitGroup

	mu      sync.Mutex // orders serving.Add before the Wait of drain
	drained bool
}

var _ http.RoundTripper = (*transport)(nil)

// serve sets the handler. Requests before it fail.
func (t *transport) serve(h http.Handler) { t.handler.Store(&h) }

// RoundTrip returns when the handler has flushed or finished. It fails when the request's context ends, when the server
// has stopped, and when the handler panics.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	h := t.handler.Load()
	if h == nil || !t.begin() {
		return nil, fmt.Errorf("requesting %q: %w", req.URL.Path, errStopped)
	}
	// The server's context carries cancellation only: a request made by server-side code, such as admission, must not
	// show the deadline or the request info of the request that it is part of.
	ctx, cancel := context.WithCancel(t.base)
	stop := context.AfterFunc(req.Context(), cancel)
	w := newResponse()
	go func() {
		defer t.serving.Done()
		defer cancel()
		defer stop()
		w.run(*h, serverRequest(ctx, req))
	}()
	select {
	case <-w.started:
		return w.answer(req, cancel)
	case <-req.Context().Done():
		cancel()
		return nil, context.Cause(req.Context())
	}
}

// begin counts a request in, unless the server drains.
func (t *transport) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.drained {
		return false
	}
	t.serving.Add(1)
	return true
}

// drain refuses further requests and waits for those being served; the caller has cancelled base.
func (t *transport) drain() {
	t.mu.Lock()
	t.drained = true
	t.mu.Unlock()
	t.serving.Wait()
}

// serverRequest turns a client's request into what net/http would hand to a server's handler.
func serverRequest(ctx context.Context, req *http.Request) *http.Request {
	out := req.Clone(ctx)
	out.RequestURI = req.URL.RequestURI()
	out.RemoteAddr = "127.0.0.1:0"
	// HTTP/2 keeps upstream from hijacking the connection that is not there.
	out.Proto, out.ProtoMajor, out.ProtoMinor = "HTTP/2.0", 2, 0
	if out.Host == "" {
		out.Host = req.URL.Host
	}
	if out.Body == nil {
		out.Body = http.NoBody
	}
	return out
}

// answer is the client's view of a response that has started.
func (w *response) answer(req *http.Request, cancel context.CancelFunc) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure != nil && w.code == 0 {
		return nil, fmt.Errorf("serving %s %q: %w", req.Method, req.URL.Path, w.failure)
	}
	return &http.Response{
		Status:        strconv.Itoa(w.code) + " " + http.StatusText(w.code),
		StatusCode:    w.code,
		Proto:         "HTTP/2.0",
		ProtoMajor:    2,
		Header:        w.sent,
		ContentLength: -1,
		Body:          &responseBody{response: w, cancel: cancel},
		Request:       req,
	}, nil
}
