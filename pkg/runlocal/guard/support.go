package guard

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// takesDryRun says whether the server can try the write without keeping it, else why it is not asked to.
func (t *transport) takesDryRun(c *call) (takes bool, reason string) {
	takes, err := t.operations.takesDryRun(c.req.Context(), t.fetcher(c.req), c.document(), c.operation())
	switch {
	case err != nil:
		return false, "it is not known whether the server can try this without keeping it: " + err.Error()
	case !takes:
		return false, "the server does not say that it can try this without keeping it"
	}
	return true, ""
}

// document names the OpenAPI document of the call's group and version.
func (c *call) document() string {
	return strings.TrimPrefix(c.groupVersion(), "/")
}

// groupVersion is the path that the resources of the call's group and version are under.
func (c *call) groupVersion() string {
	if c.info.APIGroup == "" {
		return "/" + c.info.APIPrefix + "/" + c.info.APIVersion
	}
	return "/" + c.info.APIPrefix + "/" + c.info.APIGroup + "/" + c.info.APIVersion
}

// operation is the call's method and the template of its path in OpenAPI documents.
func (c *call) operation() string {
	i := c.info
	parts := []string{c.req.Method + " " + c.groupVersion()}
	if i.Namespace != "" && i.Resource != "namespaces" {
		parts = append(parts, "namespaces", "{namespace}")
	}
	parts = append(parts, i.Resource)
	if i.Name != "" {
		parts = append(parts, "{name}")
	}
	if i.Subresource != "" {
		parts = append(parts, i.Subresource)
	}
	return strings.Join(parts, "/")
}

// get makes a request of the same user as like, for another path.
func (t *transport) get(ctx context.Context, like *http.Request, at *url.URL, accept string) (*http.Response, error) {
	req := like.Clone(ctx)
	req.Method, req.URL = http.MethodGet, at
	req.RequestURI = ""
	setBody(req, nil)
	req.Header.Del("Content-Type")
	req.Header.Set("Accept", accept)
	return t.next.RoundTrip(req)
}

// mostDocument bounds an OpenAPI document: that of the core group has 2 MB.
const mostDocument = 64 << 20

// fetcher asks as the user of the request does.
func (t *transport) fetcher(like *http.Request) fetcher {
	return func(ctx context.Context, path string) ([]byte, error) {
		relative, err := url.Parse(path)
		if err != nil {
			return nil, err
		}
		at := *like.URL
		at.Path, at.RawPath, at.RawQuery = relative.Path, "", relative.RawQuery
		if !strings.HasPrefix(at.Path, t.prefix+"/") {
			at.Path = t.prefix + at.Path
		}
		resp, err := t.get(ctx, like, &at, "application/json")
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close() //nolint:errcheck // all that is wanted has been read
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("the server answers %d", resp.StatusCode)
		}
		return io.ReadAll(io.LimitReader(resp.Body, mostDocument))
	}
}
