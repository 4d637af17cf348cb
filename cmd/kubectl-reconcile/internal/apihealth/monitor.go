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
	// reportAfter is how long a problem must last to be reported: connections break, and tokens are renewed.
	reportAfter = 2 * time.Second
	// answerTimeout is how long a request may be without a response before the server counts as unreachable. The
	// headers of a response come long before that, also for a slow list of a large cluster.
	answerTimeout = 15 * time.Second
)

// Kind is what a Notice reports.
type Kind string

// The kinds of notices. Each of the first two is reported once or twice (see Notice.Untrusted), until its opposite is.
const (
	// Unreachable means that the server has not answered for a while.
	Unreachable Kind = "away"
	// Unauthorized means that the server has answered 401 for a while.
	Unauthorized Kind = "refused"
	// Reachable means that the server answers again.
	Reachable Kind = "back"
	// Authorized means that the server accepts the credentials again.
	Authorized Kind = "accepted"
)

// Notice is a change in whether an API server can be used.
type Notice struct {
	Kind Kind
	// Untrusted is whether a server is Unreachable because the client does not trust the certificate of what answers.
	// When this changes while the problem lasts, the problem is reported again, each sort once.
	Untrusted bool
	// Since is when the problem began.
	Since time.Time
	// For is how long the problem lasted; 0 while it lasts.
	For time.Duration
	// Reason is the latest error or status; empty when the problem is over.
	Reason string
}

// Monitor observes the requests to one API server. Its methods may be called concurrently.
type Monitor struct {
	clock  clock.WithDelayedExecution
	notify func(Notice)

	mu                        sync.Mutex // held while notify is called, so that notices come in order
	unreachable, unauthorized problem
}

// problem is a problem that may last; the zero value is none.
type problem struct {
	since     time.Time
	reason    string
	untrusted bool
	// the values of untrusted for which notify was called; not empty while a problem is reported
	reported map[bool]bool
}

// New returns a Monitor that calls notify for each change, one at a time. notify must not make requests through the
// Monitor, nor call its methods. A nil clock means the real one.
func New(clk clock.WithDelayedExecution, notify func(Notice)) *Monitor {
	if clk == nil {
		clk = clock.RealClock{}
	}
	return &Monitor{clock: clk, notify: notify}
}

// Wrap returns a RoundTripper that sends requests by next and observes the results. It is for rest.Config.Wrap, where
// the first wrapper is nearest to the network: no transport that answers without the server may be below.
func (m *Monitor) Wrap(next http.RoundTripper) http.RoundTripper { return &transport{m, next} }

// Problems returns the problems that were reported and last.
func (m *Monitor) Problems() []Notice {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Notice
	for _, p := range []struct {
		kind Kind
		*problem
	}{{Unreachable, &m.unreachable}, {Unauthorized, &m.unauthorized}} {
		if len(p.reported) > 0 {
			out = append(out, p.notice(p.kind))
		}
	}
	return out
}

func (p *problem) notice(kind Kind) Notice {
	return Notice{Kind: kind, Untrusted: p.untrusted, Since: p.since, Reason: p.reason}
}

// problemSeen records that a problem exists, which began at the given time if it is new, and reports it once it has
// lasted for reportAfter. The caller holds m.mu.
func (m *Monitor) problemSeen(p *problem, kind Kind, at time.Time, reason string, untrusted bool) {
	if p.since.IsZero() {
		p.since, p.reported = at, map[bool]bool{}
	}
	p.reason, p.untrusted = reason, untrusted
	if !p.reported[untrusted] && m.clock.Since(p.since) >= reportAfter {
		p.reported[untrusted] = true
		m.notify(p.notice(kind))
	}
}

// problemEnded records that a problem does not exist, and reports its end if it was reported. The caller holds m.mu.
func (m *Monitor) problemEnded(p *problem, kind Kind) {
	if len(p.reported) > 0 {
		m.notify(Notice{Kind: kind, Since: p.since, For: m.clock.Since(p.since)})
	}
	*p = problem{}
}

// unanswered records that a request made at the given time has no response yet.
func (m *Monitor) unanswered(sent time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.problemSeen(&m.unreachable, Unreachable, sent,
		fmt.Sprintf("a request has no answer for %s", m.clock.Since(sent).Round(time.Second)), false)
}

// completed records the result of a request.
func (m *Monitor) completed(req *http.Request, resp *http.Response, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	switch {
	case err != nil && errors.Is(req.Context().Err(), context.Canceled):
		// The client has cancelled the request.
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

// isUntrusted reports whether err is that the server's certificate was not verified.
func isUntrusted(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError))
}

// isUnavailable reports whether a status means that a proxy does not reach the server, or that the server starts or
// stops.
func isUnavailable(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable ||
		status == http.StatusGatewayTimeout
}

// transport is the RoundTripper of Wrap.
type transport struct {
	*Monitor
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := t.clock.Now()
	late := t.clock.AfterFunc(answerTimeout, func() { t.unanswered(sent) })
	resp, err := t.next.RoundTrip(req)
	late.Stop()
	t.completed(req, resp, err)
	return resp, err
}

// WrappedRoundTripper lets k8s.io/apimachinery find the transport underneath, whose idle connections it closes.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }
