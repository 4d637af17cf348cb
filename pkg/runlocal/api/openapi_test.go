package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

func (f *fixture) raw(t testing.TB, path string) (string, error) {
	t.Helper()
	body, err := f.Discovery().RESTClient().Get().RequestURI(path).SetHeader("Accept",
		"application/json").DoRaw(t.Context())
	return string(body), err
}

func TestOpenAPIV3(t *testing.T) {
	f := plain.fixture(t)
	define(t, f)
	eventually(t, "the index has the group of widgets", func(context.Context) (bool, error) {
		body, err := f.raw(t, "/openapi/v3")
		return strings.Contains(body, `"apis/example.com/v1"`), err
	})
	body, err := f.raw(t, "/openapi/v3")
	if err != nil {
		t.Fatal(err)
	}
	var index v3Index
	if err := json.Unmarshal([]byte(body), &index); err != nil {
		t.Fatal(err)
	}
	for group, schema := range map[string]string{
		"api/v1":                       "io.k8s.api.core.v1.Pod",
		"apis/apps/v1":                 "io.k8s.api.apps.v1.Deployment",
		"apis/apiextensions.k8s.io/v1": "CustomResourceDefinition",
		"apis/example.com/v1":          "com.example.v1.Widget",
	} {
		entry, ok := index.Paths[group]
		if !ok {
			t.Errorf("the index lacks %q", group)
			continue
		}
		document, err := f.raw(t, entry.ServerRelativeURL)
		if err != nil || !strings.Contains(document, `"openapi":"3.0.0"`) || !strings.Contains(document, schema) {
			t.Errorf("GET %s: %.100s, %v; want schema %q", entry.ServerRelativeURL, document, err, schema)
		}
	}
	if _, err := f.raw(t, "/openapi/v3/apis/no.such.group/v1"); err == nil {
		t.Error("there is a document of a group that does not exist")
	}
}

// A client that requests a document by the hash in the index may keep it. One with a hash of another server is sent
// there, and one without a hash may not keep anything.
func TestOpenAPICaching(t *testing.T) {
	f := plain.fixture(t)
	for _, tt := range []struct {
		hash      string
		immutable bool
		reason    string
	}{
		{"?hash=" + KubernetesVersion(), true, "the hash of the index"},
		{"?hash=0123", true, "a hash of another server, which is redirected"},
		{"", false, "no hash"},
	} {
		response, err := roundTripPath(t, f, "/openapi/v3/apis/apps/v1"+tt.hash)
		if err != nil {
			t.Fatal(err)
		}
		if got := response.Header.Get("Cache-Control"); response.StatusCode != http.StatusOK ||
			(got == "public, immutable") != tt.immutable {
			t.Errorf("%s: status %d, Cache-Control %q: %s", tt.hash, response.StatusCode, got, tt.reason)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

func roundTripPath(t *testing.T, f *fixture, path string) (*http.Response, error) {
	t.Helper()
	client, err := rest.HTTPClientFor(f.Config())
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.Config().Host+path, nil)
	if err != nil {
		return nil, err
	}
	return client.Do(request)
}

// The document of custom resources is decoded only when it has changed.
func TestCustomV2IsReadOnce(t *testing.T) {
	etag, bodies := `"1"`, 0
	document := newCustomV2(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		bodies++
		w.Header().Set("Etag", etag)
		fmt.Fprintf(w, `{"swagger":"2.0","info":{"title":%s}}`, etag)
	}))
	for i, tt := range []struct {
		etag   string
		bodies int
		reason string
	}{
		{`"1"`, 1, "the first time"},
		{`"1"`, 1, "nothing has changed"},
		{`"2"`, 2, "it has changed"},
	} {
		etag = tt.etag
		got, tag, err := document.Get()
		if err != nil || tag != tt.etag || `"`+got.Info.Title+`"` != tt.etag || bodies != tt.bodies {
			t.Errorf("read %d: %v, %s, %v after %d bodies: %s", i, got.Info, tag, err, bodies, tt.reason)
		}
	}
}

// The documents are built by the first request; many may come at once.
func TestOpenAPIConcurrentFirstRequests(t *testing.T) {
	f := start(t, Options{})
	var clients sync.WaitGroup
	for _, path := range []string{"/openapi/v3", "/openapi/v3/apis/apps/v1", "/openapi/v3/api/v1", "/openapi/v2"} {
		for range 3 {
			clients.Go(func() {
				if body, err := f.raw(t, path); err != nil || len(body) < 1000 {
					t.Errorf("GET %s: %.100s, %v", path, body, err)
				}
			})
		}
	}
	clients.Wait()
}

func TestOpenAPIV2(t *testing.T) {
	f := plain.fixture(t)
	define(t, f)
	eventually(t, "the document has deployments and widgets", func(context.Context) (bool, error) {
		body, err := f.raw(t, "/openapi/v2")
		return strings.Contains(body, `"io.k8s.api.apps.v1.Deployment"`) &&
			strings.Contains(body, `"com.example.v1.Widget"`) &&
			strings.Contains(body, `"/apis/example.com/v1/namespaces/{namespace}/widgets"`), err
	})
	document, err := f.Discovery().OpenAPISchema() // protobuf
	if err != nil || document.Info.Title != "Kubernetes" {
		t.Errorf("the document as protobuf: %v, %v", document.GetInfo(), err)
	}
}

func TestOpenAPINeedsAuthentication(t *testing.T) {
	f := plain.fixture(t)
	wrong := f.as(t, func(c *rest.Config) { c.BearerToken = "wrong" })
	for _, path := range []string{"/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1"} {
		if _, err := wrong.raw(t, path); err == nil {
			t.Errorf("GET %s succeeds with a wrong token", path)
		}
	}
}
