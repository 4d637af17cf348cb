package apirequest

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
)

// factory parses requests as an API server does. It is safe for concurrent use: its sets are never written.
var factory = &request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// Prefix returns the path in a server's address, with which the path of every request begins; empty for most servers.
func Prefix(config *rest.Config) string {
	u, err := url.Parse(config.Host)
	if err != nil || u.Host == "" { // a host without a scheme
		_, path, _ := strings.Cut(config.Host, "/")
		return strings.TrimSuffix("/"+path, "/")
	}
	return strings.TrimSuffix(u.Path, "/")
}

// Read returns what a request to a server with this Prefix is for, as the server parses it. The request is not changed
// and its body not read. A request that is not for a resource is no error: its IsResourceRequest is false. Read may be
// called concurrently.
func Read(req *http.Request, prefix string) (*request.RequestInfo, error) {
	at := *req.URL
	at.Path = Path(req, prefix)
	return factory.NewRequestInfo(&http.Request{Method: req.Method, URL: &at})
}

// Path returns a request's path without the prefix.
func Path(req *http.Request, prefix string) string { return strings.TrimPrefix(req.URL.Path, prefix) }

// maxHead is how many bytes Head reads.
const maxHead = 1 << 16

// Head returns the first 64 KiB of a response's body, or all of it if it is shorter, as a Status is. The body can be
// read from its beginning afterwards, also after an error.
func Head(resp *http.Response) ([]byte, error) {
	head, err := io.ReadAll(io.LimitReader(resp.Body, maxHead))
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), rest}
	return head, err
}
