package tap

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"runtime/pprof"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Handler returns a handler that records the requests for resources that clients outside of the session send to next,
// its API server, each as a trace.ClientRequest. Clients get answers unchanged. It may serve concurrently.
func (t *Tap) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !t.recording() {
			next.ServeHTTP(w, req)
			return
		}
		c := (&transport{c: &Controller{tap: t}}).begin(req)
		if c.request.Version == "" { // it is for no resource
			next.ServeHTTP(w, req)
			return
		}
		agent, program := userAgent(req)
		a := &clientAnswer{
			ResponseWriter: w, tap: t, call: c, agent: agent, program: program, manager: fieldManager(req),
			start: t.clock.Now(), code: http.StatusOK,
		}
		defer a.end() // also after a panic, by which handlers end an answer early
		serving := &activity{program: program, inRequest: true}
		defer serving.enter(pprof.Labels("program", program)).end() // for Committed
		next.ServeHTTP(responsewriter.WrapForHTTP1Or2(a), req)
	})
}

const (
	// maxClientAnswer bounds the answers that are kept until they are recorded: an object is at most about this large.
	// A longer one is recorded without its object.
	maxClientAnswer = 3 << 20
	// maxUserAgent bounds user agents, in bytes.
	maxUserAgent = 256
)

// userAgent returns the user agent of a request, and the name of the program in it.
func userAgent(req *http.Request) (agent, program string) {
	agent = req.UserAgent()
	agent = strings.ToValidUTF8(agent[:min(len(agent), maxUserAgent)], "?")
	program, _, _ = strings.Cut(agent, "/")
	return agent, cmp.Or(program, "unknown")
}

// fieldManager returns the field manager that a request names; empty if it names none.
func fieldManager(req *http.Request) string {
	name := req.URL.Query().Get("fieldManager")
	return strings.ToValidUTF8(name[:min(len(name), maxUserAgent)], "?")
}

// clientAnswer observes the answer to a client outside. As every http.ResponseWriter it is used by one goroutine at a
// time: the filter that ends requests in time has a lock.
type clientAnswer struct {
	http.ResponseWriter
	tap  *Tap
	call *call
	// agent is the user agent, program its name of a program, and manager the field manager that the request names.
	agent, program, manager string

	start time.Time
	began bool // the header was written
	code  int
	keeps bool // the body is kept
	body  bytes.Buffer
	ended bool
}

var _ responsewriter.UserProvidedDecorator = (*clientAnswer)(nil)

// Unwrap implements responsewriter.UserProvidedDecorator.
func (a *clientAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *clientAnswer) WriteHeader(code int) {
	if !a.began && code >= http.StatusOK {
		a.began, a.code = true, code
		a.keeps = a.call.request.IsWrite() || code >= http.StatusBadRequest
		a.call.request.Latency = trace.Duration(a.tap.clock.Since(a.start))
	}
	a.ResponseWriter.WriteHeader(code)
	if a.began && a.call.request.Verb == "watch" && code < http.StatusBadRequest {
		a.end() // its answer may last for long
	}
}

// Write implements http.ResponseWriter.
func (a *clientAnswer) Write(b []byte) (int, error) {
	if !a.began {
		a.WriteHeader(http.StatusOK)
	}
	if a.keeps && !a.ended {
		a.body.Write(b)
	}
	if a.body.Len() > maxClientAnswer {
		a.keeps, a.body = false, bytes.Buffer{}
	}
	return a.ResponseWriter.Write(b)
}

// end records the request.
func (a *clientAnswer) end() {
	if a.ended {
		return
	}
	a.ended = true
	resp := &http.Response{StatusCode: a.code, Header: a.Header(), Body: io.NopCloser(&a.body)}
	a.call.answered(resp, nil)
	a.tap.rec.Emit("", 0, "", &trace.ClientRequest{
		Program: a.program, UserAgent: a.agent, FieldManager: a.manager, Request: *a.call.request,
	})
}
