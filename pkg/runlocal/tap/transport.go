package tap

import (
	"net/http"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// transport observes a controller's requests. The caller gets every answer whole.
type transport struct {
	c      *Controller
	next   http.RoundTripper
	prefix string // of every path, for servers that are not at the root of their host
}

var _ http.RoundTripper = (*transport)(nil)

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	t.c.calls.Add(1)
	defer t.c.calls.Add(-1)
	if !t.c.tap.on() {
		return t.next.RoundTrip(req)
	}
	s, r := current(), current().working()
	call := t.begin(req)
	start := t.c.tap.clock.Now()
	resp, err := t.send(s, r, req)
	call.request.Latency = trace.Duration(t.c.tap.clock.Since(start))
	call.answered(resp, err)
	call.emit(r)
	return resp, err
}

// send makes the request in a scope of its own: what happens in it is the reconcile's doing, what is logged in it is not
// the controller's.
func (t *transport) send(s *scope, r *reconcile, req *http.Request) (*http.Response, error) {
	if r != nil {
		inner := &scope{controller: t.c, reconcile: r, event: s.event, inCall: true}
		defer inner.enter(keyLabels(r)).leave()
	}
	return t.next.RoundTrip(req)
}
