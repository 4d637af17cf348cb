package lease

import (
	"errors"
	"net/http"
)

// errReleased is the error of Valid after Release.
var errReleased = errors.New("the Lease was released")

// errStale is the error of a Lease whose last renewal is too long ago by the monotonic or the wall clock.
var errStale = errors.New("it was not renewed in time: this machine was asleep, or its clock jumped")

// Invalidate makes Valid return why from now on, although the Lease is still held until Release. Only the first call
// has an effect.
func (h *Lock) Invalidate(why error) { h.closed.CompareAndSwap(nil, &why) }

// Valid returns nil if the holder may write at this moment, else why not. It is stricter than Lost: it also reads the
// wall clock, which advances while the machine sleeps. The next renewal then reports the Lease lost although no other
// process holds it: a runner with another shard, whose Lease has another name, may have written in the meantime.
func (h *Lock) Valid() error {
	if why := h.closed.Load(); why != nil {
		return *why
	}
	if err := h.Err(); err != nil {
		return err
	}
	h.observed.mu.Lock()
	defer h.observed.mu.Unlock()
	if !h.observed.overdue(h.options.Clock.Now()) {
		return nil
	}
	return &LostError{Namespace: h.options.Namespace, Name: h.options.Name, Err: errStale}
}

// FencedError is the error of a request that was not sent because the Lease was not valid.
type FencedError struct{ Err error }

// Error implements error.
func (e *FencedError) Error() string { return "writing without a Lease: " + e.Err.Error() }

// Unwrap returns why the Lease was not valid.
func (e *FencedError) Unwrap() error { return e.Err }

// Fence returns a RoundTripper that sends requests by next. While the Lease is not valid it sends reads only; all other
// requests fail with a *FencedError.
func (h *Lock) Fence(next http.RoundTripper) http.RoundTripper { return &fencedTransport{h, next} }

type fencedTransport struct {
	held *Lock
	next http.RoundTripper
}

var _ http.RoundTripper = (*fencedTransport)(nil)

// RoundTrip implements http.RoundTripper.
func (f *fencedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return f.next.RoundTrip(req)
	}
	if err := f.held.Valid(); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as a RoundTripper must
		}
		return nil, &FencedError{err}
	}
	return f.next.RoundTrip(req)
}

// WrappedRoundTripper returns the transport below, for apimachinery.
func (f *fencedTransport) WrappedRoundTripper() http.RoundTripper { return f.next }
