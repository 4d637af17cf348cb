package trial

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestEnding: a request ends with the trial, and keeps nothing once it is answered.
func TestEnding(t *testing.T) {
	failed := errors.New("failed")
	for _, tt := range []struct {
		reason string
		err    error // of the request
		do     func(end func(), resp *http.Response)
	}{
		{"it failed", failed, func(func(), *http.Response) {}},
		{"its answer was read", nil, func(_ func(), resp *http.Response) { _ = resp.Body.Close() }},
		{"the trial ends", nil, func(end func(), _ *http.Response) { end() }},
	} {
		ctx, end := context.WithCancel(t.Context())
		var sent context.Context
		e := ending{ctx, roundTripper(func(req *http.Request) (*http.Response, error) {
			if sent = req.Context(); tt.err != nil {
				return nil, tt.err
			}
			return &http.Response{Body: io.NopCloser(strings.NewReader("answer"))}, nil
		})}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := e.RoundTrip(req)
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v", tt.reason, err)
		}
		if tt.err == nil && sent.Err() != nil {
			t.Errorf("%s: the request ended with the headers of its answer", tt.reason)
		}
		tt.do(end, resp)
		<-sent.Done()
		end()
	}
}
