package guard

import (
	"net/http"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/internal/apirequest"
)

// Mode is how a dry run is done.
type Mode string

const (
	// Server sends writes with dryRun=All: the server admits, defaults and validates them, and stores nothing. Writes
	// for which it does not support this are treated as in Client, and so are those to aggregated APIs unless
	// Options.Aggregated is set. The zero value means Server.
	Server Mode = "server"
	// Client sends no write at all. The response is made from the request and the current object: nothing is admitted,
	// defaulted or validated.
	Client Mode = "client"
)

// Options configure DryRun. The zero value is a dry run on the server.
type Options struct {
	Mode Mode
	// Aggregated also sends writes, marked as a dry run, to the servers of aggregated APIs whose OpenAPI documents say
	// that they support it. Their storage is not Kubernetes', and may ignore the mark.
	Aggregated bool
	// Notice, if it is not nil, is called once for each distinct Notice. It may be called concurrently.
	Notice func(Notice)
}

// Notice reports that writes were not sent to the server although Mode is Server.
type Notice struct {
	// Verb is the API's, such as create.
	Verb string
	// Resource is the resource, such as "deployments.apps", with the subresource if there is one: "pods/binding".
	Resource string
	// Reason is why, a clause such as "the server does not say that it can try this without keeping it".
	Reason string
}

// DryRun returns a copy of config whose clients change nothing on the server, whatever they send. Reads are sent, and
// so are reviews of permissions and tokens, which a server does not store.
func DryRun(config *rest.Config, o Options) *rest.Config {
	guarded := rest.CopyConfig(config)
	shared := &shared{mode: o.Mode, aggregated: o.Aggregated, prefix: apirequest.Prefix(config),
		notices: noticeDeduper{notify: o.Notice}}
	guarded.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{shared, next} })
	return guarded
}

// shared is the state that all transports of one DryRun share.
type shared struct {
	mode       Mode
	aggregated bool   // Options.Aggregated
	prefix     string // of every path, for servers that are not at the root of their host
	operations operations
	notices    noticeDeduper
}

// transport is the RoundTripper of DryRun.
type transport struct {
	*shared
	next http.RoundTripper
}

var _ http.RoundTripper = (*transport)(nil)

// WrappedRoundTripper lets apimachinery find the transport below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c := readCall(req, t.prefix)
	switch c.class {
	case read:
		return t.next.RoundTrip(req)
	case write, review:
		if err := c.readBody(); err != nil {
			return nil, err
		}
	default:
		closeBody(req)
		return refusal(req, http.StatusForbidden, c.why), nil
	}
	if c.class == review {
		return t.sendDry(c)
	}
	return t.write(c)
}

// notSentHeader is set in responses to writes that were not sent to the server.
const notSentHeader = "Kubectl-Reconcile-Not-Sent"

// Answered reports whether resp was made by DryRun or LimitNamespaces: then the server did not receive the write.
func Answered(resp *http.Response) bool { return resp.Header.Get(notSentHeader) != "" }

// answerHere answers a write without the server, and marks the response so that Answered reports it.
func (t *transport) answerHere(c *call) (*http.Response, error) {
	resp, err := t.answer(c)
	if err == nil {
		resp.Header.Set(notSentHeader, "true") // the response may be that of a read
	}
	return resp, err
}

// write sends a write as a dry run if the server supports that, and answers it here otherwise.
func (t *transport) write(c *call) (*http.Response, error) {
	if t.mode == Client {
		return t.answerHere(c)
	}
	if takes, reason := t.takesDryRun(c); !takes {
		t.notices.record(c, reason)
		return t.answerHere(c)
	}
	resp, err := t.sendDry(c)
	if err == nil && refusedByWebhook(resp) {
		t.notices.record(c, "an admission webhook does not support dry run")
		_ = resp.Body.Close()
		return t.answerHere(c)
	}
	return resp, err
}

// sendDry sends the call marked as a dry run.
func (t *transport) sendDry(c *call) (*http.Response, error) {
	dry, err := c.dryRunRequest()
	if err != nil {
		return refusal(c.req, http.StatusUnsupportedMediaType, err.Error()), nil
	}
	return t.next.RoundTrip(dry)
}

// closeBody closes the body of a request that is not sent, as a RoundTripper must.
func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// noticeDeduper calls notify once for each distinct Notice. It is safe for concurrent use.
type noticeDeduper struct {
	notify func(Notice) // may be nil

	mu   sync.Mutex
	seen map[Notice]bool
}

// record reports that c was not sent, and why.
func (n *noticeDeduper) record(c *call, reason string) {
	notice := Notice{Verb: c.info.Verb, Resource: c.resource(), Reason: reason}
	n.mu.Lock()
	told := n.seen[notice]
	if n.seen == nil {
		n.seen = map[Notice]bool{}
	}
	n.seen[notice] = true
	n.mu.Unlock()
	if !told && n.notify != nil {
		n.notify(notice)
	}
}
