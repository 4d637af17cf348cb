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

// factory is as an API server has it; its sets are never written.
var factory = &request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// Prefix is the path that a server's address ends with, and so every path of its requests begins with; empty for most.
func Prefix(config *rest.Config) string {
	u, err := url.Parse(config.Host)
	if err != nil || u.Host == "" { // a host without a scheme
		_, path, _ := strings.Cut(config.Host, "/")
		return strings.TrimSuffix("/"+path, "/")
	}
	return strings.TrimSuffix(u.Path, "/")
}

// Read says what a request to a server with this Prefix is, as the server reads it. The request stays as it is, its body unread. A
// request that is for no resource is no error: its IsResourceRequest is false. It may be called concurrently.
func Read(req *http.Request, prefix string) (*request.RequestInfo, error) {
	at := *req.URL
	at.Path = Path(req, prefix)
	return factory.NewRequestInfo(&http.Request{Method: req.Method, URL: &at})
}

// Path is a request's path without the prefix.
func Path(req *http.Request, prefix string) string { return strings.TrimPrefix(req.URL.Path, prefix) }

// maxHead bounds how much of an answer is kept in memory to look at.
const maxHead = 1 << 16

// Head reads the first 64 KiB of an answer, or all of it if it is shorter: a Status is. The answer can be read as before
// afterwards, what was read of it included, also after an error.
func Head(resp *http.Response) ([]byte, error) {
	head, err := io.ReadAll(io.LimitReader(resp.Body, maxHead))
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), rest}
	return head, err
}
