package guard

import (
	"net/http"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/apirequest"
)

// Mode says how a dry run is done.
type Mode string

const (
	// Server sends writes with dryRun=All: the server admits, defaults and validates them, and keeps nothing. What it
	// cannot try that way is done as in Client, and so is what another server answers for: see Options.Aggregated. It is
	// what the zero value means.
	Server Mode = "server"
	// Client sends no write at all, and answers in the server's place: nothing is admitted, defaulted or validated.
	Client Mode = "client"
)

// Options say how requests are guarded. The zero value is a dry run on the server.
type Options struct {
	Mode Mode
	// Aggregated also sends writes marked as a dry run to servers of aggregated APIs that say that they take it. Their storage
	// may keep what it is to try only: it is not Kubernetes'.
	Aggregated bool
	// Notice is told of each sort of write that a dry run on the server does not send, once each. It may be called
	// concurrently, and may be nil.
	Notice func(Notice)
}

// Notice tells of writes that were not sent to the server, although a dry run there was asked for.
type Notice struct {
	// Verb is the API's, such as create.
	Verb string
	// Resource is such as "deployments.apps", with the subresource if there is one: "pods/binding".
	Resource string
	// Reason is why, a clause: "the server does not say that it can try this without keeping it".
	Reason string
}

// DryRun returns a copy of config whose clients change nothing on the server, whatever they send. Reads go through, and so
// do reviews of permissions and tokens, of which a server keeps nothing.
func DryRun(config *rest.Config, o Options) *rest.Config {
	guarded := rest.CopyConfig(config)
	shared := &shared{mode: o.Mode, aggregated: o.Aggregated, prefix: apirequest.Prefix(config), notices: noticeDeduper{notify: o.Notice}}
	guarded.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{shared, next} })
	return guarded
}

// shared is what all transports of one guard have in common.
type shared struct {
	mode       Mode
	aggregated bool   // writes to aggregated APIs may be sent
	prefix     string // of every path, for servers that are not at the root of their host
	operations operations
	notices    noticeDeduper
}

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

// notSentHeader is a header of answers to writes that the server did not get.
const notSentHeader = "Kubectl-Reconcile-Not-Sent"

// Answered reports whether a guard answered a write in the server's place, or refused it: then the server did not get it.
func Answered(resp *http.Response) bool { return resp.Header.Get(notSentHeader) != "" }

// answerHere answers a write, and says that the server did not get it.
func (t *transport) answerHere(c *call) (*http.Response, error) {
	resp, err := t.answer(c)
	if err == nil {
		resp.Header.Set(notSentHeader, "true") // a read may have answered it
	}
	return resp, err
}

// write sends a write as a dry run, or answers it.
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

// closeBody keeps the promise of a RoundTripper for a request that it does not send.
func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// noticeDeduper tells of each sort of write once.
type noticeDeduper struct {
	notify func(Notice) // may be nil

	mu   sync.Mutex
	seen map[Notice]bool
}

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
