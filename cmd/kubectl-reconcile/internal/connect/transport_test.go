package connect

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answers is a transport that answers after some time, unless the request is cancelled before.
type answers struct{ after time.Duration }

func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(a.after):
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("late"))}, nil
	case <-req.Context().Done():
		return nil, context.Cause(req.Context())
	}
}

func TestAnswerIn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		delays []time.Duration
		late   time.Duration // when the last request timed out; 0 if it was answered
		reason string
	}{
		{"at once", []time.Duration{0}, 0, "as it ought to be"},
		{"just in time", []time.Duration{9 * time.Second}, 0, "slow is not dead"},
		{"never", []time.Duration{time.Hour}, 10 * time.Second, "a server that never answered is not waited for"},
		{"slow list", []time.Duration{time.Second, 60 * time.Second}, 0, "a server that answers may take its time"},
		{"dies", []time.Duration{time.Second, time.Hour}, 70 * time.Second, "but not for ever"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wrap := limitAnswerTime(10*time.Second, 70*time.Second)
				for i, delay := range tt.delays {
					began := time.Now()
					resp, err := wrap(answers{delay}).RoundTrip(request(t.Context(), t))
					if last := i == len(tt.delays)-1; last && tt.late > 0 {
						wantLate(t, err, tt.late, time.Since(began), tt.reason)
						return
					}
					if err != nil {
						t.Fatalf("request %d: %v: %s", i, err, tt.reason)
					}
					if err := resp.Body.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

func request(ctx context.Context, t *testing.T) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://example.com", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func wantLate(t *testing.T, err error, want, waited time.Duration, reason string) {
	t.Helper()
	late := (*answerTimeoutError)(nil)
	if !errors.As(err, &late) || late.after != want || waited != want {
		t.Errorf("after %s: %v; want to give up after %s: %s", waited, err, want, reason)
	}
}

func TestAnswerInLeavesInterruptsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := limitAnswerTime(10*time.Second, time.Minute)(answers{time.Hour}).RoundTrip(request(ctx, t))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the request was cancelled, and yet: %v", err)
		}
	})
}

func TestWarnings(t *testing.T) {
	var out strings.Builder
	w := NewWarnings(&out)
	for _, header := range []struct {
		code int
		text string
	}{
		{warningCode, "v1 Endpoints is deprecated"},
		{warningCode, "v1 Endpoints is deprecated"}, // once is enough
		{199, "of a proxy on the way"},
		{warningCode, ""},
		{warningCode, "a \x1b[31mred\x1b[0m policy"},
	} {
		w.HandleWarningHeader(header.code, "-", header.text)
	}
	want := "warning: v1 Endpoints is deprecated\nwarning: a ^[[31mred^[[0m policy\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
