package guard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const openAPI = `{"paths":{
 "/apis/example.com/v1/namespaces/{namespace}/gadgets":{
  "get":{"parameters":[{"name":"dryRun","in":"query"}]},
  "post":{"parameters":[{"name":"pretty","in":"query"},{"name":"dryRun","in":"query"}]},
  "delete":{"parameters":[{"name":"dryRun","in":"header"}]}},
 "/apis/example.com/v1/namespaces/{namespace}/gadgets/{name}":{
  "parameters":[{"$ref":"#/components/parameters/dryRun-1"}],
  "put":{},"patch":{"parameters":[{"$ref":"#/components/parameters/gone"}]}},
 "/apis/example.com/v1/namespaces/{namespace}/gadgets/{name}/start":{"put":{"parameters":[{"$ref":"#/components/parameters/pretty-1"}]}}},
"components":{"parameters":{"dryRun-1":{"name":"dryRun","in":"query"},"pretty-1":{"name":"pretty","in":"query"}}}}`

func TestOperationsThatTakeDryRun(t *testing.T) {
	known, dry, err := parseDocument([]byte(openAPI))
	if err != nil {
		t.Fatal(err)
	}
	const gadgets = "/apis/example.com/v1/namespaces/{namespace}/gadgets"
	want := map[string]bool{"POST " + gadgets: true, "PUT " + gadgets + "/{name}": true,
		"PATCH " + gadgets + "/{name}": true}
	if diff := cmp.Diff(want, dry); diff != "" {
		t.Errorf("operations that take dryRun (-want +got):\n%s", diff)
	}
	want["DELETE "+gadgets], want["PUT "+gadgets+"/{name}/start"] = true, true
	if diff := cmp.Diff(want, known); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

// TestDocumentsAreReadWhenNeeded: once for all operations, again for one that is new, and not again and again for one
// that is not there.
func TestDocumentsAreReadWhenNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paths []string
		served, fail := openAPI, error(nil)
		fetch := func(_ context.Context, path string) ([]byte, error) {
			paths = append(paths, path)
			if path == "/openapi/v3" {
				return []byte(`{"paths":{"apis/example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/example.com/v1?hash=1"}}}`), nil
			}
			return []byte(served), fail
		}
		var o operations
		takes := func(operation string, want bool, reads int) {
			t.Helper()
			paths = nil
			got, err := o.takesDryRun(t.Context(), fetch, "", "apis/example.com/v1", operation)
			if got != want || (err != nil) != (fail != nil) || len(paths) != reads {
				t.Errorf("%s: %t (%v) after reading %q", operation, got, err, paths)
			}
		}
		const gadgets, toys = "POST /apis/example.com/v1/namespaces/{namespace}/gadgets", "POST /apis/example.com/v1/toys"
		takes(gadgets, true, 2)
		takes(gadgets, true, 0)
		takes(toys, false, 0)
		time.Sleep(2 * rereadAfter) //nolint:forbidigo // of a synctest bubble
		served = `{"paths":{"/apis/example.com/v1/toys":{"post":{"parameters":[{"name":"dryRun","in":"query"}]}}}}`
		takes(toys, true, 2)
		time.Sleep(2 * rereadAfter) //nolint:forbidigo // of a synctest bubble
		fail = errors.New("gone")
		takes(gadgets, false, 2)
		takes(gadgets, false, 0)
		if got, err := o.takesDryRun(t.Context(), fetch, "", "apis/example.com/v1", toys); !got || err != nil {
			t.Errorf("what was known is not, after a read that failed for something else: %t, %v", got, err)
		}
		fail = nil
		time.Sleep(2 * rereadAfter) //nolint:forbidigo // of a synctest bubble
		served = openAPI
		takes(gadgets, true, 2)
	})
}

// TestDocumentsOfCancelledCallers: that one caller does not wait for the document says nothing to the next about the
// server.
func TestDocumentsOfCancelledCallers(t *testing.T) {
	const gadgets = "POST /apis/example.com/v1/namespaces/{namespace}/gadgets"
	ctx, leave := context.WithCancel(t.Context())
	fetch := func(ctx context.Context, path string) ([]byte, error) {
		leave()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if path == "/openapi/v3" {
			return []byte(`{"paths":{"apis/example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/example.com/v1"}}}`), nil
		}
		return []byte(openAPI), nil
	}
	var o operations
	if got, err := o.takesDryRun(ctx, fetch, "", "apis/example.com/v1", gadgets); got ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled caller gets %t, %v", got, err)
	}
	if got, err := o.takesDryRun(t.Context(), fetch, "", "apis/example.com/v1", gadgets); !got || err != nil {
		t.Errorf("the other caller gets %t, %v", got, err)
	}
}

// FuzzParseDocument: a server may send anything.
func FuzzParseDocument(f *testing.F) {
	f.Add([]byte(openAPI))
	f.Add([]byte(`{"paths":{"/x":{"post":null,"parameters":7}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		known, dry, err := parseDocument(body)
		if err != nil {
			return
		}
		for operation := range dry {
			if !known[operation] {
				t.Errorf("%q takes dryRun and is not there", operation)
			}
		}
	})
}
