package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

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
	failure error // why the handler ended before its time
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

// run serves req and ends the response. Like net/http it outlives a panic of the handler, which reaches the client as an
// error.
func (w *response) run(h http.Handler, req *http.Request) {
	defer func() {
		w.finish(recover())
	}()
	h.ServeHTTP(w, req)
}

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

// Header is for the handler, before its first Flush.
func (w *response) Header() http.Header { return w.header }

// WriteHeader keeps the first final status code.
func (w *response) WriteHeader(code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setCode(code)
}

func (w *response) setCode(code int) {
	if w.code == 0 && code >= http.StatusOK {
		w.code = code
	}
}

// Write never blocks: a client that does not read makes the buffer grow, as it would the kernel's and then the server's.
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

// Flush hands status and header to the client.
func (w *response) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setCode(http.StatusOK)
	w.start()
}

func (w *response) start() {
	select {
	case <-w.started:
	default:
		w.sent = w.header.Clone()
		close(w.started)
	}
}

// CloseNotify satisfies upstream's response wrappers, which ask for it; a request's end shows in its context.
func (w *response) CloseNotify() <-chan bool { return nil }

// responseBody is the client's side.
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
