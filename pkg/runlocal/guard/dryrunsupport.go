package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/client-go/kubernetes/scheme"
)

// supportUnknown begins the Reason where finding out has failed.
const supportUnknown = "it is not known whether the server can try this without keeping it: "

// takesDryRun reports whether c may be sent to the server as a dry run, and if not why.
func (t *transport) takesDryRun(c *call) (takes bool, reason string) {
	var registered string
	if !builtIn(c.info.APIGroup) {
		service, err := t.registration(c)
		switch {
		case err != nil:
			return false, supportUnknown + err.Error()
		case service.aggregated && !t.aggregated:
			return false, "another server answers for this group, " +
				"and whether it keeps what it is to try only is not known"
		}
		registered = service.spec
	}
	takes, err := t.operations.takesDryRun(c.req.Context(), t.fetcher(c.req), registered, c.document(), c.operation())
	switch {
	case err != nil:
		return false, supportUnknown + err.Error()
	case !takes:
		return false, "the server does not say that it can try this without keeping it"
	}
	return true, ""
}

// builtIn reports whether kube-apiserver itself serves a group: its storage honours dry runs.
func builtIn(group string) bool {
	switch group {
	case apiextensions.GroupName, apiregistration:
		return true
	}
	return scheme.Scheme.IsGroupRegistered(group)
}

// apiregistration is the group of APIServices, for which client-go has no types.
const apiregistration = "apiregistration.k8s.io"

// apiServiceInfo is what an APIService says about who serves a group and version.
type apiServiceInfo struct {
	// spec is the spec as it was received, in JSON; empty if there is no APIService.
	spec string
	// aggregated is whether another server than kube-apiserver does. That one need not honour dry runs.
	aggregated bool
}

// registration reads the APIService of the call's group and version. It is not cached, for it may change between two
// writes.
func (t *transport) registration(c *call) (apiServiceInfo, error) {
	name := c.info.APIVersion + "." + c.info.APIGroup
	at := *c.req.URL
	at.Path, at.RawPath, at.RawQuery = t.prefix+"/apis/"+apiregistration+"/v1/apiservices/"+name, "", ""
	resp, err := t.get(c.req.Context(), c.req, &at, "application/json")
	if err != nil {
		return apiServiceInfo{}, fmt.Errorf("reading APIService %q: %w", name, err)
	}
	defer resp.Body.Close() //nolint:errcheck // the body was read
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound: // as of custom resources where there is no aggregation layer
		return apiServiceInfo{}, nil
	default:
		return apiServiceInfo{}, fmt.Errorf("reading APIService %q: the server answers %d", name, resp.StatusCode)
	}
	var service struct{ Spec json.RawMessage }
	var spec struct{ Service *json.RawMessage }
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocumentSize))
	if err == nil {
		err = json.Unmarshal(body, &service)
	}
	if err == nil {
		err = json.Unmarshal(service.Spec, &spec)
	}
	if err != nil {
		return apiServiceInfo{}, fmt.Errorf("reading APIService %q: %w", name, err)
	}
	return apiServiceInfo{spec: string(service.Spec), aggregated: spec.Service != nil}, nil
}

// document returns the name of the OpenAPI document of the call's group and version, such as "apis/apps/v1".
func (c *call) document() string {
	return strings.TrimPrefix(c.groupVersion(), "/")
}

// groupVersion returns the path of the call's group and version.
func (c *call) groupVersion() string {
	if c.info.APIGroup == "" {
		return "/" + c.info.APIPrefix + "/" + c.info.APIVersion
	}
	return "/" + c.info.APIPrefix + "/" + c.info.APIGroup + "/" + c.info.APIVersion
}

// operation returns the call's method and the template of its path, as OpenAPI documents name operations.
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

// get reads another path of the server with the headers, and so the credentials, of like.
func (t *transport) get(ctx context.Context, like *http.Request, at *url.URL, accept string) (*http.Response, error) {
	req := like.Clone(ctx)
	req.Method, req.URL = http.MethodGet, at
	req.RequestURI = ""
	setBody(req, nil)
	req.Header.Del("Content-Type")
	req.Header.Set("Accept", accept)
	return t.next.RoundTrip(req)
}

// maxDocumentSize bounds an OpenAPI document in bytes: that of the core group has 2 MB.
const maxDocumentSize = 64 << 20

// fetcher returns a fetcher with the credentials of like.
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
		defer resp.Body.Close() //nolint:errcheck // the body was read
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("the server answers %d", resp.StatusCode)
		}
		return io.ReadAll(io.LimitReader(resp.Body, maxDocumentSize))
	}
}

// operations caches which operations of a server support dryRun, according to its OpenAPI v3 documents. There is one
// for each group and version, which is read when it is first needed. It is safe for concurrent use.
type operations struct {
	mu        sync.Mutex
	documents map[documentKey]*openAPIDocument
}

// documentKey identifies an OpenAPI document.
type documentKey struct {
	// registered is the spec of the APIService of the group and version, empty for built-in groups. When it changes,
	// another server may serve another document.
	registered string
	name       string // such as "apis/apps/v1"
}

// openAPIDocument is what the OpenAPI document of a group and version says.
type openAPIDocument struct {
	mu    sync.Mutex // guards what follows; held while the document is read, so that it is read once
	dry   map[string]bool
	known map[string]bool // all operations, with dryRun or without
	read  time.Time
	err   error // of the latest read
}

// rereadAfter is how old a document must be to be read again for an operation that it lacks, which may be that of a new
// CRD.
const rereadAfter = 5 * time.Second

// fetcher returns the body that a server has at a path, which may have a query.
type fetcher func(ctx context.Context, path string) ([]byte, error)

// takesDryRun reports whether an operation, such as "POST /api/v1/namespaces/{namespace}/pods", of the document of that
// name supports dryRun.
func (o *operations) takesDryRun(ctx context.Context, fetch fetcher, registered, name, operation string) (bool, error) {
	from := documentKey{registered, name}
	o.mu.Lock()
	d := o.documents[from]
	if d == nil {
		d = &openAPIDocument{}
		if o.documents == nil {
			o.documents = map[documentKey]*openAPIDocument{}
		}
		o.documents[from] = d
	}
	o.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.known[operation] && time.Since(d.read) > rereadAfter {
		if err := d.readAgain(ctx, fetch, name); err != nil {
			return false, err
		}
	}
	if d.known[operation] {
		return d.dry[operation], nil
	}
	return false, d.err
}

// readAgain reads the document. If that fails its content is kept, and the error is stored in d.err; it is returned
// only if ctx has ended, which says nothing to other callers. The caller holds d.mu.
func (d *openAPIDocument) readAgain(ctx context.Context, fetch fetcher, name string) error {
	known, dry, err := readDocument(ctx, fetch, name)
	if err != nil && ctx.Err() != nil {
		return err
	}
	if d.err = err; err == nil {
		d.known, d.dry = known, dry
	}
	d.read = time.Now()
	return nil
}

// readDocument reads a document, whose path it finds in the index. Both maps are nil if the server has no such
// document.
func readDocument(ctx context.Context, fetch fetcher, name string) (known, dry map[string]bool, err error) {
	body, err := fetch(ctx, "/openapi/v3")
	if err != nil {
		return nil, nil, fmt.Errorf("reading the index of OpenAPI documents: %w", err)
	}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := json.Unmarshal(body, &index); err != nil {
		return nil, nil, fmt.Errorf("reading the index of OpenAPI documents: %w", err)
	}
	entry, ok := index.Paths[name]
	if !ok {
		return nil, nil, nil
	}
	if body, err = fetch(ctx, entry.ServerRelativeURL); err != nil {
		return nil, nil, fmt.Errorf("reading the OpenAPI document of %s: %w", name, err)
	}
	known, dry, err = parseDocument(body)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the OpenAPI document of %s: %w", name, err)
	}
	return known, dry, nil
}

// parameter is a parameter of an operation, or a reference to one.
type parameter struct {
	Ref  string `json:"$ref"`
	Name string `json:"name"`
	In   string `json:"in"`
}

// parseDocument returns the operations of an OpenAPI v3 document, and which of them have the query parameter dryRun.
func parseDocument(body []byte) (known, dry map[string]bool, err error) {
	var doc struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Parameters map[string]parameter }
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, nil, err
	}
	takes := func(raw json.RawMessage) bool {
		var of []parameter
		if len(raw) == 0 || json.Unmarshal(raw, &of) != nil {
			return false
		}
		for _, p := range of {
			if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
				p = doc.Components.Parameters[name]
			}
			if p.Name == "dryRun" && p.In == "query" {
				return true
			}
		}
		return false
	}
	known, dry = map[string]bool{}, map[string]bool{}
	for path, item := range doc.Paths {
		shared := takes(item["parameters"])
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			var operation struct{ Parameters json.RawMessage }
			raw, ok := item[strings.ToLower(method)]
			if !ok || json.Unmarshal(raw, &operation) != nil {
				continue
			}
			known[method+" "+path] = true
			if shared || takes(operation.Parameters) {
				dry[method+" "+path] = true
			}
		}
	}
	return known, dry, nil
}
