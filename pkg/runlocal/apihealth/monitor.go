package apihealth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// reportAfter is how long trouble must last to be told: a connection may break, and a token be renewed, in between.
	reportAfter = 2 * time.Second
	// answerTimeout is how long a request may be without an answer before that counts as trouble. It is far more than a slow
	// list of a large cluster takes, of which the head of the answer comes at once.
	answerTimeout = 15 * time.Second
)

// Kind says what a Notice tells.
type Kind string

// The kinds of notices. Each of the first two, told once or twice, is followed by its opposite, or by nothing.
const (
	// Unreachable: the server has not answered for a while.
	Unreachable Kind = "away"
	// Unauthorized: the server has answered 401 for a while.
	Unauthorized Kind = "refused"
	// Reachable: it answers again.
	Reachable Kind = "back"
	// Authorized: it takes the credentials again.
	Authorized Kind = "accepted"
)

// Notice is a change in how an API server can be reached.
type Notice struct {
	Kind Kind
	// Untrusted says, of Away, that somebody answers whose certificate is not one that the client trusts. Trouble that becomes
	// of this sort, or ceases to be, is told again, each sort once.
	Untrusted bool
	// Since is when the trouble began.
	Since time.Time
	// For is how long it lasted; 0 while it lasts.
	For time.Duration
	// Reason is the latest error or status; empty when the trouble is over.
	Reason string
}

// Monitor watches over the requests to one API server. All its methods may be called concurrently.
type Monitor struct {
	clock  clock.WithDelayedExecution
	notify func(Notice)

	mu                        sync.Mutex // held while notify is called, so that notices come in order
	unreachable, unauthorized problem
}

// problem is one sort of it; the zero value is none.
type problem struct {
	since     time.Time
	reason    string
	untrusted bool
	reported  map[bool]bool // by untrusted
}

// New returns a Monitor that calls notify for each change, one at a time. notify must not make requests through the
// Monitor. A nil clock is the real one.
func New(clk clock.WithDelayedExecution, notify func(Notice)) *Monitor {
	if clk == nil {
		clk = clock.RealClock{}
	}
	return &Monitor{clock: clk, notify: notify}
}

// Wrap returns a RoundTripper that does what next does, and is watched. It is meant for rest.Config.Wrap, where what wraps
// first is nearest to the network: nothing that answers in the server's place may be in between.
func (m *Monitor) Wrap(next http.RoundTripper) http.RoundTripper { return &transport{m, next} }

// Problems tells what lasts and was told: the notices that would be repeated.
func (m *Monitor) Problems() []Notice {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Notice
	for _, t := range []struct {
		kind Kind
		*problem
	}{{Unreachable, &m.unreachable}, {Unauthorized, &m.unauthorized}} {
		if len(t.reported) > 0 {
			out = append(out, t.notice(t.kind))
		}
	}
	return out
}

func (t *problem) notice(kind Kind) Notice {
	return Notice{Kind: kind, Untrusted: t.untrusted, Since: t.since, Reason: t.reason}
}

// problemSeen notes trouble of that kind that began at that time, and tells it when it has lasted.
func (m *Monitor) problemSeen(t *problem, kind Kind, at time.Time, reason string, untrusted bool) {
	if t.since.IsZero() {
		t.since, t.reported = at, map[bool]bool{}
	}
	t.reason, t.untrusted = reason, untrusted
	if !t.reported[untrusted] && m.clock.Since(t.since) >= reportAfter {
		t.reported[untrusted] = true
		m.notify(t.notice(kind))
	}
}

// problemEnded notes that there is no such trouble.
func (m *Monitor) problemEnded(t *problem, kind Kind) {
	if len(t.reported) > 0 {
		m.notify(Notice{Kind: kind, Since: t.since, For: m.clock.Since(t.since)})
	}
	*t = problem{}
}

// unanswered notes that a request that was made then has no answer yet.
func (m *Monitor) unanswered(made time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.problemSeen(&m.unreachable, Unreachable, made, fmt.Sprintf("a request has no answer for %s", m.clock.Since(made).Round(time.Second)), false)
}

// completed notes what became of a request.
func (m *Monitor) completed(req *http.Request, resp *http.Response, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	switch {
	case err != nil && errors.Is(req.Context().Err(), context.Canceled):
		// Whoever made the request has let go of it.
	case err != nil:
		m.problemSeen(&m.unreachable, Unreachable, now, err.Error(), isUntrusted(err))
	case isUnavailable(resp.StatusCode):
		m.problemSeen(&m.unreachable, Unreachable, now, "it says "+resp.Status, false)
	case resp.StatusCode == http.StatusUnauthorized:
		m.problemEnded(&m.unreachable, Reachable)
		m.problemSeen(&m.unauthorized, Unauthorized, now, resp.Status, false)
	default:
		m.problemEnded(&m.unreachable, Reachable)
		m.problemEnded(&m.unauthorized, Authorized)
	}
}

// isUntrusted reports whether an error is that the server's certificate is not one to trust.
func isUntrusted(err error) bool {
	wrong := (*tls.CertificateVerificationError)(nil)
	return errors.As(err, &wrong)
}

// isUnavailable reports whether a status means that nobody is there, in front of whom something answers; or that the server is
// starting or ending.
func isUnavailable(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// transport is a RoundTripper that is watched.
type transport struct {
	*Monitor
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	made := t.clock.Now()
	late := t.clock.AfterFunc(answerTimeout, func() { t.unanswered(made) })
	resp, err := t.next.RoundTrip(req)
	late.Stop()
	t.completed(req, resp, err)
	return resp, err
}

// WrappedRoundTripper lets k8s.io/apimachinery find the transport underneath, whose idle connections it closes.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }
