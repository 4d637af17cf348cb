package connect

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// answerTimeoutError is the error that a server did not answer in time.
type answerTimeoutError struct{ after time.Duration }

func (e *answerTimeoutError) Error() string { return fmt.Sprintf("no answer within %s", e.after) }

// limitAnswerTime returns a wrapper of transports that cancels a request whose answer has not begun in time: within
// first, connecting included, until any request was answered, and within later from then on. The rest of an answer is
// not limited, so that watches and long lists are not cut off.
func limitAnswerTime(first, later time.Duration) func(http.RoundTripper) http.RoundTripper {
	answered := &atomic.Bool{} // shared: several clients may be made from one configuration
	return func(next http.RoundTripper) http.RoundTripper {
		return &answerTimeout{next: next, first: first, later: later, answered: answered}
	}
}

// answerTimeout is the transport of limitAnswerTime.
type answerTimeout struct {
	next         http.RoundTripper
	first, later time.Duration
	answered     *atomic.Bool
}

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery, which looks for the innermost transport.
func (t *answerTimeout) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *answerTimeout) RoundTrip(req *http.Request) (*http.Response, error) {
	limit := t.first
	if t.answered.Load() {
		limit = t.later
	}
	late := &answerTimeoutError{limit}
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(limit, func() { cancel(late) })
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	if !timer.Stop() && req.Context().Err() == nil {
		if err == nil {
			_ = resp.Body.Close() // its context is cancelled: it cannot be read
		}
		cancel(nil)
		return nil, late
	}
	if err != nil {
		cancel(nil)
		return nil, err
	}
	t.answered.Store(true)
	resp.Body = &cancelOnClose{resp.Body, cancel}
	return resp, nil
}

// cancelOnClose is the body of an answer that cancels the context of its request when it is closed.
type cancelOnClose struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close implements io.Closer.
func (b *cancelOnClose) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// warnings writes each of the API's warnings once. It implements rest.WarningHandler, and may be called concurrently.
type warnings struct {
	out io.Writer

	mu    sync.Mutex
	shown map[string]bool // guarded by mu
}

// NewWarnings returns a handler that writes each warning of an API to out once, in a line "warning: …".
func NewWarnings(out io.Writer) rest.WarningHandler {
	return &warnings{out: out, shown: map[string]bool{}}
}

// warningCode is the code of the warnings of a Kubernetes API; others, as of proxies, are not shown.
const warningCode = 299

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	if code != warningCode || text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.shown[text] {
		w.shown[text] = true
		fmt.Fprintf(w.out, "warning: %s\n", render.Escape(text))
	}
}
