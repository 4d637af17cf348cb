package connect

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// noAnswerError says that a server did not answer in time.
type noAnswerError struct{ after time.Duration }

func (e *noAnswerError) Error() string { return fmt.Sprintf("no answer within %s", e.after) }

// answerIn returns a wrapper of transports that gives up on a request when its answer has not begun in time: the first
// of all, connecting included, in one time, and each that is sent after some answer in another. What follows the
// beginning of an answer takes as long as it takes, so that watches and long lists live.
func answerIn(first, later time.Duration) func(http.RoundTripper) http.RoundTripper {
	answered := &atomic.Bool{} // shared: several clients may be made of one configuration
	return func(next http.RoundTripper) http.RoundTripper {
		return &impatient{next: next, first: first, later: later, answered: answered}
	}
}

type impatient struct {
	next         http.RoundTripper
	first, later time.Duration
	answered     *atomic.Bool
}

// WrappedRoundTripper lets apimachinery find the transport below.
func (t *impatient) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *impatient) RoundTrip(req *http.Request) (*http.Response, error) {
	limit := t.first
	if t.answered.Load() {
		limit = t.later
	}
	late := &noAnswerError{limit}
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
	resp.Body = &cancelling{resp.Body, cancel}
	return resp, nil
}

// cancelling frees the context of a request when its answer has been read.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close implements io.Closer.
func (b *cancelling) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}
