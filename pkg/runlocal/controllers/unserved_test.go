package controllers

import (
	"net/http"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestUnserved(t *testing.T) {
	deployments, claims := schema.GroupResource{Group: "apps", Resource: "deployments"}, schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}
	bundles := schema.GroupResource{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}
	for _, tt := range []struct {
		reason string
		reads  []schema.GroupResource
		served []schema.GroupVersionResource
		want   []schema.GroupResource
	}{
		{"all is there", []schema.GroupResource{deployments}, []schema.GroupVersionResource{deployments.WithVersion("v1")}, nil},
		{"an older version is none that upstream's informers read", []schema.GroupResource{deployments, claims},
			[]schema.GroupVersionResource{deployments.WithVersion("v1"), claims.WithVersion("v1beta1")}, []schema.GroupResource{claims}},
		{"of trust bundles any version does", []schema.GroupResource{bundles}, []schema.GroupVersionResource{bundles.WithVersion("v1alpha1")}, nil},
		{"whatever kinds there are", []schema.GroupResource{{Group: "*", Resource: "*"}}, nil, nil},
	} {
		c := Controller{Reads: tt.reads}
		got := c.Unserved(func(r schema.GroupVersionResource) bool { return slices.Contains(tt.served, r) })
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// lists notes what is listed or watched, by version.
type lists struct {
	next http.RoundTripper
	mu   *sync.Mutex
	of   map[schema.GroupVersionResource]bool
}

var collection = regexp.MustCompile(`^/(?:api|apis/([^/]+))/([^/]+)/([^/]+)$`)

// RoundTrip implements http.RoundTripper.
func (l lists) RoundTrip(r *http.Request) (*http.Response, error) {
	if m := collection.FindStringSubmatch(r.URL.Path); m != nil && r.Method == http.MethodGet {
		l.mu.Lock()
		l.of[schema.GroupVersionResource{Group: m[1], Version: m[2], Resource: m[3]}] = true
		l.mu.Unlock()
	}
	return l.next.RoundTrip(r)
}

// TestReadVersions starts every controller, and waits until what their rows say is read in one of the versions.
func TestReadVersions(t *testing.T) {
	s := newSession(t, nil)
	seen := lists{mu: &sync.Mutex{}, of: map[schema.GroupVersionResource]bool{}}
	s.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return lists{next, seen.mu, seen.of} })
	s.run(t, 1, "*")
	was := func(r schema.GroupVersionResource) bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return seen.of[r]
	}
	for _, c := range running() {
		for _, r := range c.Reads {
			if r.Resource == "*" || c.OffByDefault {
				continue
			}
			eventually(t, "somebody to read "+r.String()+", as the row of "+c.Short+" has it", func() bool {
				return slices.ContainsFunc(readVersions(r), func(version string) bool { return was(r.WithVersion(version)) })
			})
		}
	}
}
