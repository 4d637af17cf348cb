package apirequest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func TestPrefix(t *testing.T) {
	for host, want := range map[string]string{
		"https://10.0.0.1:6443": "", "https://host/": "", "https://host/k8s/clusters/c": "/k8s/clusters/c",
		"https://host/k8s/": "/k8s", "10.0.0.1:6443": "", "localhost:8080/k8s": "/k8s", "localhost": "", "": "",
	} {
		if got := Prefix(&rest.Config{Host: host}); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	for _, row := range []struct {
		reason, method, url, prefix, want string
	}{
		{"an object", http.MethodGet, "https://s/api/v1/namespaces/shop/pods/web", "", "get /pods shop/web"},
		{"behind a prefix", http.MethodPut, "https://s/k8s/apis/apps/v1/namespaces/shop/deployments/web/status", "/k8s", "update apps/deployments/status shop/web"},
		{"a watch, by its query", http.MethodGet, "https://s/api/v1/pods?watch=true", "", "watch /pods /"},
		{"a namespace's name is its namespace, too", http.MethodGet, "https://s/api/v1/namespaces/shop", "", "get /namespaces shop/shop"},
		{"no resource", http.MethodGet, "https://s/version", "", "none"},
		{"another's prefix", http.MethodGet, "https://s/other/api/v1/pods", "/k8s", "none"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), row.method, row.url,
			iotest.ErrReader(errors.New("the body was read")))
		if err != nil {
			t.Fatal(err)
		}
		info, err := Read(req, row.prefix)
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		if info.IsResourceRequest {
			resource := info.Resource
			if info.Subresource != "" {
				resource += "/" + info.Subresource
			}
			got = info.Verb + " " + info.APIGroup + "/" + resource + " " + info.Namespace + "/" + info.Name
		}
		if got != row.want || req.URL.String() != row.url {
			t.Errorf("%s: %q (%s), want %q", row.reason, got, req.URL, row.want)
		}
	}
}

func TestHead(t *testing.T) {
	broken := errors.New("broken")
	long := strings.Repeat("x", maxHead+7)
	for _, row := range []struct {
		reason string
		body   io.Reader
		head   int
		whole  string
		err    error
	}{
		{"a short answer is read whole", strings.NewReader("short"), len("short"), "short", nil},
		{"a long one is not", strings.NewReader(long), maxHead, long, nil},
		{"one that breaks off", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken)), len("half"), "half", broken},
	} {
		resp := &http.Response{Body: io.NopCloser(row.body)}
		head, err := Head(resp)
		if len(head) != row.head || !errors.Is(err, row.err) {
			t.Errorf("%s: %d bytes, %v", row.reason, len(head), err)
		}
		whole, err := io.ReadAll(resp.Body)
		if diff := cmp.Diff(row.whole, string(whole)); diff != "" || !errors.Is(err, row.err) {
			t.Errorf("%s: read again (-want +got), %v:\n%s", row.reason, err, diff)
		}
	}
}
