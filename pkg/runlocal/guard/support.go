package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/client-go/kubernetes/scheme"
)

// unknown is the begin of a reason.
const unknown = "it is not known whether the server can try this without keeping it: "

// takesDryRun reports whether the server can try the write without keeping it, else why it is not asked to.
func (t *transport) takesDryRun(c *call) (takes bool, reason string) {
	var registered string
	if !builtIn(c.info.APIGroup) {
		service, err := t.registration(c)
		switch {
		case err != nil:
			return false, unknown + err.Error()
		case service.aggregated && !t.aggregated:
			return false, "another server answers for this group, and whether it keeps what it is to try only is not known"
		}
		registered = service.spec
	}
	takes, err := t.operations.takesDryRun(c.req.Context(), t.fetcher(c.req), registered, c.document(), c.operation())
	switch {
	case err != nil:
		return false, unknown + err.Error()
	case !takes:
		return false, "the server does not say that it can try this without keeping it"
	}
	return true, ""
}

// builtIn reports whether kube-apiserver itself answers for a group: its own storage keeps nothing of a dry run.
func builtIn(group string) bool {
	switch group {
	case apiextensions.GroupName, apiregistration:
		return true
	}
	return scheme.Scheme.IsGroupRegistered(group)
}

// apiregistration is the group of APIServices, which client-go has no types of.
const apiregistration = "apiregistration.k8s.io"

// registered is what a server says of who answers for a group and version.
type registered struct {
	// spec is that of the APIService, as it was sent; empty if there is none.
	spec string
	// aggregated is that another server does, which need not do as the objects of kube-apiserver's do.
	aggregated bool
}

// registration reads who answers for the group and version of the call. It is read for each write: it may change.
func (t *transport) registration(c *call) (registered, error) {
	name := c.info.APIVersion + "." + c.info.APIGroup
	at := *c.req.URL
	at.Path, at.RawPath, at.RawQuery = t.prefix+"/apis/"+apiregistration+"/v1/apiservices/"+name, "", ""
	resp, err := t.get(c.req.Context(), c.req, &at, "application/json")
	if err != nil {
		return registered{}, fmt.Errorf("reading APIService %q: %w", name, err)
	}
	defer resp.Body.Close() //nolint:errcheck // all that is wanted has been read
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound: // as of custom resources where there is no aggregation layer
		return registered{}, nil
	default:
		return registered{}, fmt.Errorf("reading APIService %q: the server answers %d", name, resp.StatusCode)
	}
	var service struct{ Spec json.RawMessage }
	var spec struct{ Service *json.RawMessage }
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostDocument))
	if err == nil {
		err = json.Unmarshal(body, &service)
	}
	if err == nil {
		err = json.Unmarshal(service.Spec, &spec)
	}
	if err != nil {
		return registered{}, fmt.Errorf("reading APIService %q: %w", name, err)
	}
	return registered{spec: string(service.Spec), aggregated: spec.Service != nil}, nil
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
