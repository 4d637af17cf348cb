package guard

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/internal/apirequest"
)

// requestClass is how a request is treated.
type requestClass int

const (
	// refused requests must not be sent: those that are known to change something, and those that are not recognized.
	refused requestClass = iota
	// requestInfo changes nothing.
	read
	// review requests are sent marked as a dry run: the server answers them and stores nothing.
	review
	// write requests are sent as a dry run, or answered without the server.
	write
)

// call is a request and its class.
type call struct {
	req   *http.Request
	info  *request.RequestInfo
	class requestClass
	why   string // it is refused
	path  string // without the prefix of the server
	body  []byte // of a write or review, after readBody
}

// readCall classifies a request. One that is not recognized is refused.
func readCall(req *http.Request, prefix string) *call {
	c := &call{req: req, path: apirequest.Path(req, prefix)}
	info, err := apirequest.Read(req, prefix)
	if err != nil {
		c.why = "the request cannot be parsed: " + err.Error()
		return c
	}
	c.info = info
	c.class, c.why = classify(req, c.path, info)
	return c
}

// streamingSubresources connect to a node, a pod or a service: what a client does there cannot be undone.
var streamingSubresources = sets.New("exec", "attach", "portforward", "proxy")

// classify returns the class of a request, and for a refused one why. It lists what is harmless; all else is refused.
func classify(req *http.Request, clean string, info *request.RequestInfo) (requestClass, string) {
	switch {
	case path.Clean("/"+clean) != strings.TrimSuffix(clean, "/") && clean != "/" && clean != "":
		return refused, "a path that servers may read in several ways"
	case req.Header.Get("Upgrade") != "":
		return refused, "a connection that is used for something else than requests"
	case info.IsResourceRequest && (streamingSubresources.Has(info.Subresource) || info.Verb == "proxy"):
		return refused, "a way into a pod, a service or a node"
	case req.Method == http.MethodGet || req.Method == http.MethodHead:
		return read, ""
	case !info.IsResourceRequest:
		return refused, "a request that is for no object of the API"
	case len(info.Parts) > maxPathParts:
		return refused, "a path that is not one of an object or a subresource"
	case info.Resource == "serviceaccounts" && info.Subresource == "token":
		return refused, "a token would be issued: a server does that in a dry run, too"
	case isReview(req.Method, info):
		return review, ""
	case writes.Has(req.Method):
		return write, ""
	}
	return refused, "a request of an unknown sort"
}

// maxPathParts is how many parts the path of an object has: resource, name and subresource.
const maxPathParts = 3

// writes are the methods that may change something.
var writes = sets.New(http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete)

// reviews are the resources whose creation is a query: the server answers in their status, and stores none of them.
var reviews = sets.New(
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	schema.GroupResource{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	schema.GroupResource{Group: "authentication.k8s.io", Resource: "tokenreviews"},
)

// isReview reports whether a request creates a review, which a server answers and does not store.
func isReview(method string, info *request.RequestInfo) bool {
	return method == http.MethodPost && info.Subresource == "" &&
		reviews.Has(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource})
}

// resource returns the name of the call's resource, such as "deployments.apps" or "pods/binding".
func (c *call) resource() string {
	text := schema.GroupResource{Group: c.info.APIGroup, Resource: c.info.Resource}.String()
	if c.info.Subresource != "" {
		text += "/" + c.info.Subresource
	}
	return text
}

// maxBodySize is the largest body in bytes that an API server accepts. It mirrors NewConfig of
// k8s.io/apiserver/pkg/server/config.go.
const maxBodySize = 3 << 20

// readBody reads and closes the body of the request. It must not be called twice.
func (c *call) readBody() error {
	if c.req.Body == nil {
		return nil
	}
	defer closeBody(c.req)
	body, err := io.ReadAll(io.LimitReader(c.req.Body, maxBodySize+1))
	if err != nil {
		return fmt.Errorf("reading the body of %s %s: %w", c.req.Method, c.path, err)
	}
	if len(body) > maxBodySize {
		return fmt.Errorf("reading the body of %s %s: it is longer than %d bytes", c.req.Method, c.path, maxBodySize)
	}
	c.body = body
	return nil
}

// setBody sets the body of a request, nil for none.
func setBody(req *http.Request, body []byte) {
	if len(body) == 0 {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
		return
	}
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
}
