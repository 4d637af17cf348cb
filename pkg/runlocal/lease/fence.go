package lease

import (
	"errors"
	"fmt"
	"net/http"
)

// errStale says that the last renewal is too long ago, by one clock or the other.
var errStale = errors.New("it was not renewed in time: this machine was asleep, or its clock jumped")

// Valid says why nothing may be written for the holder at this moment; nil says that it may. It is stricter than Lost: it
// looks at the wall clock too, which goes on while a machine sleeps. When the Lease is still ours then, the next renewal
// makes it valid again.
func (h *Held) Valid() error {
	if err := h.Err(); err != nil {
		return err
	}
	h.observed.mu.Lock()
	defer h.observed.mu.Unlock()
	now, renewed := h.options.Clock.Now(), h.observed.renewed
	if now.Sub(renewed) < h.options.Duration && now.Round(0).Sub(renewed.Round(0)) < h.options.Duration {
		return nil
	}
	return &LostError{Namespace: h.options.Namespace, Name: h.options.Name, Err: errStale}
}

// Fence lets no request but reads through to next while the Lease is not valid.
func (h *Held) Fence(next http.RoundTripper) http.RoundTripper { return &fence{h, next} }

type fence struct {
	held *Held
	next http.RoundTripper
}

var _ http.RoundTripper = (*fence)(nil)

// RoundTrip implements http.RoundTripper.
func (f *fence) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return f.next.RoundTrip(req)
	}
	if err := f.held.Valid(); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as a RoundTripper must
		}
		return nil, fmt.Errorf("writing without a Lease: %w", err)
	}
	return f.next.RoundTrip(req)
}

// WrappedRoundTripper lets client-go reach what is behind.
func (f *fence) WrappedRoundTripper() http.RoundTripper { return f.next }
