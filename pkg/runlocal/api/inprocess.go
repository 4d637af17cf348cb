package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
)

// errStopped is the error of requests after the server has stopped.
var errStopped = errors.New("the embedded API server has stopped")

// transport is an http.RoundTripper that calls the server's handler without a socket.
//
// Every request is served in a goroutine that RoundTrip itself starts. A goroutine inherits the pprof labels of the one
// that starts it, and so do those that upstream's filters start in turn: this is how memstore's OnCommit, at the far
// end of the handler, still knows which reconcile of a client made the write. Do not serve from a pool.
type transport struct {
	base    context.Context // the server's lifetime; the only parent of a request's context
	handler atomic.Pointer[http.Handler]
	serving sync.WaitGroup

	mu      sync.Mutex // orders serving.Add before the Wait of drain
	drained bool
}

var _ http.RoundTripper = (*transport)(nil)

// serve sets the handler. Requests fail before it is called.
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
		return w.clientResponse(req, cancel)
	case <-req.Context().Done():
		cancel()
		return nil, context.Cause(req.Context())
	}
}

// begin counts a request in and returns true, unless drain was called.
func (t *transport) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.drained {
		return false
	}
	t.serving.Add(1)
	return true
}

// drain rejects further requests and waits for those being served. The caller must have cancelled base.
func (t *transport) drain() {
	t.mu.Lock()
	t.drained = true
	t.mu.Unlock()
	t.serving.Wait()
}

// serverRequest returns a client's request as net/http would pass it to a server's handler.
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

// clientResponse returns the client's side of a response that has started.
func (w *response) clientResponse(req *http.Request, cancel context.CancelFunc) (*http.Response, error) {
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

// response is the server's side of an in-process exchange: an http.ResponseWriter that a client reads from. Handler and
// client run in different goroutines; mu guards all but header, which is the handler's until started is closed.
type response struct {
	header  http.Header
	started chan struct{} // closed at the first Flush or at the end of the handler

	mu      sync.Mutex
	more    *sync.Cond // signalled when buf grows, or done or closed is set
	code    int
	sent    http.Header // a copy of header as it was when started was closed
	buf     bytes.Buffer
	failure error // the handler panicked
	done    bool  // the handler has returned
	closed  bool  // the client has closed the body
}

var (
	_ http.ResponseWriter = (*response)(nil)
	_ http.Flusher        = (*response)(nil)
)

func newResponse() *response {
	w := &response{header: http.Header{}, started: make(chan struct{})}
	w.more = sync.NewCond(&w.mu)
	return w
}

// run serves req and ends the response. Like net/http it outlives a panic of the handler, which reaches the client as
// an error.
func (w *response) run(h http.Handler, req *http.Request) {
	defer func() {
		w.finish(recover())
	}()
	h.ServeHTTP(w, req)
}

// finish ends the response after the handler has returned or panicked.
func (w *response) finish(panicked any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch cause, isError := panicked.(error); {
	case panicked == nil:
		w.setCode(http.StatusOK)
	case isError && errors.Is(cause, http.ErrAbortHandler):
		w.failure = io.ErrUnexpectedEOF
	default:
		w.failure = fmt.Errorf("the handler panicked: %v", panicked)
	}
	w.start()
	w.done = true
	w.more.Broadcast()
}

// Header implements http.ResponseWriter. It is for the handler, before its first Flush.
func (w *response) Header() http.Header { return w.header }

// WriteHeader keeps the first final status code.
func (w *response) WriteHeader(code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setCode(code)
}

// setCode sets the status code unless it is set. The caller holds w.mu.
func (w *response) setCode(code int) {
	if w.code == 0 && code >= http.StatusOK {
		w.code = code
	}
}

// Write never blocks: a client that does not read makes the buffer grow, as it would the kernel's and then the
// server's.
func (w *response) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setCode(http.StatusOK)
	if w.closed {
		return 0, io.ErrClosedPipe
	}
	n, err := w.buf.Write(p)
	w.more.Signal()
	return n, err
}

// Flush implements http.Flusher: it makes status and header available to the client.
func (w *response) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setCode(http.StatusOK)
	w.start()
}

// start makes the response available to the client. The caller holds w.mu.
func (w *response) start() {
	select {
	case <-w.started:
	default:
		w.sent = w.header.Clone()
		close(w.started)
	}
}

// CloseNotify implements http.CloseNotifier, which upstream's response wrappers require. It never fires: the end of a
// request shows in its context.
func (w *response) CloseNotify() <-chan bool { return nil }

// responseBody is the body that the client reads.
type responseBody struct {
	*response
	cancel func()
}

var _ io.ReadCloser = (*responseBody)(nil)

// Read blocks until there is data, the handler has ended, or the body was closed.
func (b *responseBody) Read(p []byte) (int, error) {
	w := b.response
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.buf.Len() == 0 {
		switch {
		case w.closed:
			return 0, http.ErrBodyReadAfterClose
		case w.done && w.failure != nil:
			return 0, w.failure
		case w.done:
			return 0, io.EOF
		}
		w.more.Wait()
	}
	return w.buf.Read(p)
}

// Close ends the request on the server too. It does not wait for the handler.
func (b *responseBody) Close() error {
	b.mu.Lock()
	b.closed = true
	b.more.Broadcast()
	b.mu.Unlock()
	b.cancel()
	return nil
}
