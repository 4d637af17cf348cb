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

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/apirequest"
)

// requestClass says what may become of a request.
type requestClass int

const (
	// refused is what must not be sent, and what is not known to be anything else.
	refused requestClass = iota
	// requestInfo changes nothing.
	read
	// review is answered by the server, which keeps nothing of it.
	review
	// write is sent as a dry run or not at all.
	write
)

// call is a request and what it is.
type call struct {
	req   *http.Request
	info  *request.RequestInfo
	class requestClass
	why   string // of refused
	path  string // without the prefix
	body  []byte // of write and review, read by readBody
}

// readCall finds out what a request is. Whatever is not known is refused.
func readCall(req *http.Request, prefix string) *call {
	c := &call{req: req, path: apirequest.Path(req, prefix)}
	info, err := apirequest.Read(req, prefix)
	if err != nil {
		c.why = "a request that cannot be read: " + err.Error()
		return c
	}
	c.info = info
	c.class, c.why = classify(req, c.path, info)
	return c
}

// streamingSubresources are subresources that lead to a node, a pod or a service: what happens there nobody can take back.
var streamingSubresources = sets.New("exec", "attach", "portforward", "proxy")

// classify decides by what is known to be harmless.
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

// maxPathParts are resource, name and subresource.
const maxPathParts = 3

var writes = sets.New(http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete)

// reviews are the resources whose creation asks a question.
var reviews = sets.New(
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	schema.GroupResource{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	schema.GroupResource{Group: "authentication.k8s.io", Resource: "tokenreviews"},
)

func isReview(method string, info *request.RequestInfo) bool {
	return method == http.MethodPost && info.Subresource == "" &&
		reviews.Has(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource})
}

// resource is such as "deployments.apps" or "pods/binding".
func (c *call) resource() string {
	text := schema.GroupResource{Group: c.info.APIGroup, Resource: c.info.Resource}.String()
	if c.info.Subresource != "" {
		text += "/" + c.info.Subresource
	}
	return text
}

// maxBodySize is what an API server takes (--max-request-body of its storage: 3 MiB).
const maxBodySize = 3 << 20

// readBody takes the body from the request, and closes it.
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

// dryRunRequest is the request as it may be sent: marked as a dry run wherever a server may look for that.
func (c *call) dryRunRequest() (*http.Request, error) {
	body := c.body
	if encoding := c.req.Header.Get("Content-Encoding"); encoding != "" && len(body) > 0 {
		return nil, fmt.Errorf("a body of encoding %q cannot be marked as a dry run", encoding)
	}
	var err error
	switch {
	case c.req.Method == http.MethodDelete && len(body) > 0:
		body, err = markDelete(c.req.Header.Get("Content-Type"), body)
	case c.info.Subresource == "eviction":
		body, err = markEviction(c.req.Header.Get("Content-Type"), body)
	}
	if err != nil {
		return nil, err
	}
	dry := c.req.Clone(c.req.Context())
	query := dry.URL.Query()
	query.Set("dryRun", dryRunAll)
	dry.URL.RawQuery = query.Encode()
	setBody(dry, body)
	return dry, nil
}

func setBody(req *http.Request, body []byte) {
	if len(body) == 0 {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
		return
	}
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
}
