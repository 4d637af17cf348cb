package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// operations knows which operations of a server take dryRun, by its OpenAPI v3 documents: one for each group and version,
// read when it is first needed. It may be used concurrently.
type operations struct {
	mu        sync.Mutex
	documents map[source]*document
}

// source is where a document comes from.
type source struct {
	// registered is the spec of the APIService of the group and version, empty if that does not matter: with another one,
	// the document may be another server's.
	registered string
	name       string // such as "apis/apps/v1"
}

// document is what is known of a group and version.
type document struct {
	mu    sync.Mutex // held while it is read, so that it is read once
	dry   map[string]bool
	known map[string]bool // operations that there are, dry or not
	read  time.Time
	err   error // of the latest read
}

// stale is how old a document must be to be read again for an operation that it does not have: that of a new CRD.
const stale = 5 * time.Second

// fetcher gets what a server has at a path, which may have a query.
type fetcher func(ctx context.Context, path string) ([]byte, error)

// takesDryRun reports whether the operation, such as "POST /api/v1/namespaces/{namespace}/pods", of the document takes it.
func (o *operations) takesDryRun(ctx context.Context, fetch fetcher, registered, name, operation string) (bool, error) {
	from := source{registered, name}
	o.mu.Lock()
	d := o.documents[from]
	if d == nil {
		d = &document{}
		if o.documents == nil {
			o.documents = map[source]*document{}
		}
		o.documents[from] = d
	}
	o.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.known[operation] && time.Since(d.read) > stale {
		if err := d.readAgain(ctx, fetch, name); err != nil {
			return false, err
		}
	}
	if d.known[operation] {
		return d.dry[operation], nil
	}
	return false, d.err
}

// readAgain reads the document; what was known before stays where that fails. The error is that of a caller who does not wait
// for it any more, which tells others nothing. d.mu is held.
func (d *document) readAgain(ctx context.Context, fetch fetcher, name string) error {
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

// readDocument finds the document in the index, and reads it.
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

// parameter is one of an operation, or a reference to one.
type parameter struct {
	Ref  string `json:"$ref"`
	Name string `json:"name"`
	In   string `json:"in"`
}

// parseDocument lists the operations of an OpenAPI v3 document, and those that take dryRun in the query.
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
