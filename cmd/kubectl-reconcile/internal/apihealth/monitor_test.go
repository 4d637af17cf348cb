package apihealth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notices collects what is reported.
type notices struct {
	mu   sync.Mutex
	list []Notice
}

func (n *notices) add(notice Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, notice)
}

// server answers by status; by an error if that is one of these.
type server struct{ status int }

const (
	refusing = 0
	another  = -1 // another server in its place
)

var (
	errRefused = errors.New("connection refused")
	errAnother = &url.Error{Op: "Get", URL: "https://cluster",
		Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}
)

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	switch s.status {
	case refusing:
		return nil, errRefused
	case another:
		return nil, errAnother
	}
	return &http.Response{StatusCode: s.status, Status: http.StatusText(s.status), Body: http.NoBody}, nil
}

// step is a request, made after a while.
type step struct {
	after  time.Duration
	status int
}

func TestMonitor(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		reason string
		steps  []step
		want   []Notice // Since counts from the begin of the test
	}{
		{"a server that answers is not worth a word", []step{{0, 200}, {s, 404}, {s, 500}, {s, 429}}, nil},
		{"one failure is a broken connection", []step{{0, 200}, {s, 0}, {time.Minute, 200}}, nil},
		{"failures with an answer in between", []step{{0, 0}, {s, 200}, {s, 0}, {s, 200}, {s, 0}}, nil},
		{"failures that last are reported once", []step{{s, 0}, {s, 0}, {s, 0}, {s, 0}, {time.Hour, 0}},
			[]Notice{{Kind: Unreachable, Since: at(s), Reason: "connection refused"}}},
		{"and their end, by any answer", []step{{s, 0}, {2 * s, 0}, {s, 403}, {s, 200}},
			[]Notice{{Kind: Unreachable, Since: at(s), Reason: "connection refused"},
				{Kind: Reachable, Since: at(s), For: 3 * s}}},
		{"a load balancer without a server behind it", []step{{s, 503}, {2 * s, 502}, {s, 504}, {s, 200}},
			[]Notice{{Kind: Unreachable, Since: at(s), Reason: "it says Bad Gateway"},
				{Kind: Reachable, Since: at(s), For: 4 * s}}},
		{"again", []step{{0, 0}, {2 * s, 0}, {s, 200}, {s, 0}, {2 * s, 0}},
			[]Notice{
				{Kind: Unreachable, Since: at(0), Reason: "connection refused"}, {Kind: Reachable, Since: at(0), For: 3 * s},
				{Kind: Unreachable, Since: at(4 * s), Reason: "connection refused"},
			}},
		{"another server in its place is reported when it is seen, and once", []step{{s, 0}, {2 * s, 0}, {s, another}, {s, another}, {s, 0}, {s, another}, {s, 200}},
			[]Notice{
				{Kind: Unreachable, Since: at(s), Reason: "connection refused"},
				{Kind: Unreachable, Untrusted: true, Since: at(s), Reason: errAnother.Error()},
				{Kind: Reachable, Since: at(s), For: 7 * s},
			}},
		{"a certificate that is exchanged in between is not worth a word", []step{{s, 200}, {s, another}, {s, 200}}, nil},
		{"the same in the next outage", []step{{0, another}, {2 * s, another}, {s, 200}, {s, another}, {2 * s, another}},
			[]Notice{
				{Kind: Unreachable, Untrusted: true, Since: at(0), Reason: errAnother.Error()}, {Kind: Reachable, Since: at(0), For: 3 * s},
				{Kind: Unreachable, Untrusted: true, Since: at(4 * s), Reason: errAnother.Error()},
			}},
		{"a token that is renewed in time", []step{{0, 200}, {s, 401}, {s, 200}, {s, 401}, {s, 200}}, nil},
		{"a token that has expired is reported once", []step{{0, 401}, {2 * s, 401}, {s, 401}},
			[]Notice{{Kind: Unauthorized, Since: at(0), Reason: "Unauthorized"}}},
		{"and that another is taken", []step{{0, 401}, {2 * s, 401}, {s, 403}},
			[]Notice{{Kind: Unauthorized, Since: at(0), Reason: "Unauthorized"},
				{Kind: Authorized, Since: at(0), For: 3 * s}}},
		{"a server that comes back and knows us no more", []step{{0, 0}, {2 * s, 0}, {s, 401}, {2 * s, 401}},
			[]Notice{
				{Kind: Unreachable, Since: at(0), Reason: "connection refused"}, {Kind: Reachable, Since: at(0), For: 3 * s},
				{Kind: Unauthorized, Since: at(3 * s), Reason: "Unauthorized"},
			}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var got notices
				behind := &server{}
				m := New(nil, got.add)
				client := m.Wrap(behind)
				for _, step := range tt.steps {
					<-time.After(step.after)
					behind.status = step.status
					ask(t.Context(), t, client)
				}
				if diff := cmp.Diff(tt.want, shifted(got.list, began)); diff != "" {
					t.Errorf("notices (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// at is a time of a test that began at the zero time.
func at(d time.Duration) time.Time { return time.Time{}.Add(d) }

// shifted counts times from began.
func shifted(list []Notice, began time.Time) []Notice {
	var out []Notice
	for _, n := range list {
		n.Since = at(n.Since.Sub(began))
		out = append(out, n)
	}
	return out
}

func ask(ctx context.Context, t *testing.T, client http.RoundTripper) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://cluster/api", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := client.RoundTrip(req); err == nil {
		resp.Body.Close()
	}
}

// hanging answers when it is let.
type hanging struct{ answer chan struct{} }

func (h hanging) RoundTrip(*http.Request) (*http.Response, error) {
	<-h.answer
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// TestMonitorOfSilence: a server that takes requests and does not answer is away, while nothing has failed yet.
func TestMonitorOfSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var got notices
		behind := hanging{make(chan struct{})}
		m := New(nil, got.add)
		done := make(chan struct{})
		go func() {
			defer close(done)
			ask(t.Context(), t, m.Wrap(behind))
		}()
		<-time.After(answerTimeout - 1)
		synctest.Wait()
		if n := len(m.Problems()); n != 0 {
			t.Errorf("%d troubles while a slow answer may come", n)
		}
		<-time.After(time.Second)
		synctest.Wait()
		if trouble := m.Problems(); len(trouble) != 1 || trouble[0].Kind != Unreachable {
			t.Errorf("troubles %v, want that the server is away", trouble)
		}
		close(behind.answer)
		<-done
		want := []Notice{
			{Kind: Unreachable, Since: at(0), Reason: "a request has no answer for 15s"},
			{Kind: Reachable, Since: at(0), For: answerTimeout + time.Second - 1},
		}
		if diff := cmp.Diff(want, shifted(got.list, began)); diff != "" {
			t.Errorf("notices (-want +got):\n%s", diff)
		}
		if n := len(m.Problems()); n != 0 {
			t.Errorf("%d troubles afterwards", n)
		}
	})
}

// TestMonitorOfOwnEnd: requests that we let go of, as at the end of a session, say nothing of the server.
func TestMonitorOfOwnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got notices
		client := New(nil, got.add).Wrap(&server{status: 200})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 5 {
			ask(ctx, t, client)
			<-time.After(time.Second)
		}
		if len(got.list) > 0 {
			t.Errorf("reported %v", got.list)
		}
	})
}
