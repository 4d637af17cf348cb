package moment

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// guard is the transport to what serves a recording. A request for what was not recorded is answered as if it were
// forbidden, with a reason of its own: that an object is not in a recording does not mean that it did not exist.
type guard struct {
	next     http.RoundTripper
	requests request.RequestInfoFactory
	recorded map[schema.GroupResource][]recordedPart
}

// recordedPart is what one stream has of a kind.
type recordedPart struct {
	namespace string // empty for all
	// partial is true if objects may be missing: there is a selector, or the list had not come to its end.
	partial bool
}

func newGuard(next http.RoundTripper, from replay.Imported, state *replay.State) *guard {
	g := &guard{
		next: next, recorded: map[schema.GroupResource][]recordedPart{},
		requests: request.RequestInfoFactory{
			APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
		},
	}
	for _, s := range state.Streams() {
		part := recordedPart{s.Namespace, !isListed(from, s) || s.Labels != "" || s.Fields != ""}
		resource := canonical(s.GroupResource())
		g.recorded[resource] = append(g.recorded[resource], part)
	}
	return g
}

// isListed reports whether the objects of a stream that existed at its beginning are known. The watch of kubectl begins
// with events of all of them, and has no list.
func isListed(from replay.Imported, s *replay.StreamState) bool {
	return s.Listed || from == replay.ImportedWatchEvents || from == replay.ImportedObjects
}

// canonical returns the name under which objects are recorded that are served by two groups.
func canonical(resource schema.GroupResource) schema.GroupResource {
	if resource == (schema.GroupResource{Group: "events.k8s.io", Resource: "events"}) {
		resource.Group = ""
	}
	return resource
}

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	info, err := g.requests.NewRequestInfo(req)
	if err != nil || !info.IsResourceRequest {
		return g.next.RoundTrip(req)
	}
	if req.Method != http.MethodGet {
		return refusal(req, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
			"a recording takes no writes"), nil
	}
	resource := canonical(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource})
	found, partial := false, false
	for _, part := range g.recorded[resource] {
		if part.namespace == "" || info.Namespace == "" || part.namespace == info.Namespace {
			found, partial = true, partial || part.partial
		}
	}
	if !found {
		return notRecorded(req), nil
	}
	resp, err := g.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusNotFound && info.Name != "" && partial {
		_ = resp.Body.Close() // it is not read
		return notRecorded(req), nil
	}
	return resp, err
}

// notRecorded is the answer to a request for what was not recorded.
func notRecorded(req *http.Request) *http.Response {
	return refusal(req, http.StatusForbidden, cluster.ReasonNotRecorded, "not recorded")
}

func refusal(req *http.Request, code int, reason metav1.StatusReason, message string) *http.Response {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: reason, Message: message,
		Code: int32(code), //nolint:gosec // a constant
	})
	if err != nil {
		body = nil // cannot happen
	}
	if req.Body != nil {
		_ = req.Body.Close() // a transport must close it
	}
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}
