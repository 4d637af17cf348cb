package lease

import (
	"errors"
	"net/http"
)

// errReleased is why nothing is written after Release.
var errReleased = errors.New("the Lease was given back")

// errStale says that the last renewal is too long ago, by one clock or the other.
var errStale = errors.New("it was not renewed in time: this machine was asleep, or its clock jumped")

// Invalidate ends the right to write from here on, for the reason given, although the Lease is still held: Release gives it back.
// Only the first reason counts.
func (h *Lock) Invalidate(why error) { h.closed.CompareAndSwap(nil, &why) }

// Valid is why nothing may be written for the holder at this moment; nil if it may be. It is stricter than Lost: it looks at
// the wall clock too, which goes on while a machine sleeps. The next renewal then finds the Lease lost, though no one has taken it:
// another may write in the meantime who has a Lease of another name, as runners with shards have.
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

// FencedError is that a request was not sent, for the Lease was not valid.
type FencedError struct{ Err error }

// Error implements error.
func (e *FencedError) Error() string { return "writing without a Lease: " + e.Err.Error() }

// Unwrap returns why the Lease was not valid.
func (e *FencedError) Unwrap() error { return e.Err }

// Fence lets no request but reads through to next while the Lease is not valid: others end with a *FencedError.
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

// WrappedRoundTripper lets client-go reach what is behind.
func (f *fencedTransport) WrappedRoundTripper() http.RoundTripper { return f.next }
