package connect

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// answerTimeoutError says that a server did not answer in time.
type answerTimeoutError struct{ after time.Duration }

func (e *answerTimeoutError) Error() string { return fmt.Sprintf("no answer within %s", e.after) }

// limitAnswerTime returns a wrapper of transports that gives up on a request when its answer has not begun in time: the first
// of all, connecting included, in one time, and each that is sent after some answer in another. What follows the
// beginning of an answer takes as long as it takes, so that watches and long lists live.
func limitAnswerTime(first, later time.Duration) func(http.RoundTripper) http.RoundTripper {
	answered := &atomic.Bool{} // shared: several clients may be made of one configuration
	return func(next http.RoundTripper) http.RoundTripper {
		return &answerTimeout{next: next, first: first, later: later, answered: answered}
	}
}

type answerTimeout struct {
	next         http.RoundTripper
	first, later time.Duration
	answered     *atomic.Bool
}

// WrappedRoundTripper lets apimachinery find the transport below.
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
			_ = resp.Body.Close() // it came too late, and cannot be read any more
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

// cancelOnClose frees the context of a request when its answer has been read.
type cancelOnClose struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close implements io.Closer.
func (b *cancelOnClose) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// warnings shows the API's warnings, each once. It implements client-go's rest.WarningHandler.
type warnings struct {
	out io.Writer

	mu    sync.Mutex
	shown map[string]bool
}

func NewWarnings(out io.Writer) *warnings { return &warnings{out: out, shown: map[string]bool{}} }

// warningCode is the code of the warnings that a Kubernetes API gives; others are not for people.
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
