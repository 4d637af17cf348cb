package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

func TestAPIGroup(t *testing.T) {
	one := metav1.GroupVersionForDiscovery{GroupVersion: "a.example.com/v1", Version: "v1"}
	two := metav1.GroupVersionForDiscovery{GroupVersion: "a.example.com/v1beta1", Version: "v1beta1"}
	for _, tt := range []struct {
		in     []apidiscoveryv2.APIVersionDiscovery
		want   metav1.APIGroup
		reason string
	}{
		{
			[]apidiscoveryv2.APIVersionDiscovery{{Version: "v1"}, {Version: "v1beta1"}},
			metav1.APIGroup{Name: "a.example.com", Versions: []metav1.GroupVersionForDiscovery{one, two},
				PreferredVersion: one},
			"the first version is preferred and the order is kept",
		},
		{nil, metav1.APIGroup{Name: "a.example.com"}, "a group that is about to go has no version"},
	} {
		group := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: "a.example.com"}, Versions: tt.in}
		if diff := cmp.Diff(tt.want, apiGroup(group)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// A document that cannot be read is an error of the server, never an empty list: clients cache what they receive.
func TestRootDiscoveryReportsFailure(t *testing.T) {
	for _, tt := range []struct {
		aggregated http.HandlerFunc
		want       string
		reason     string
	}{
		{func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("no JSON")) }, "decoding", "the document is broken"},
		{func(http.ResponseWriter, *http.Request) { panic("oops") }, "oops", "the handler panics"},
	} {
		d := &rootDiscovery{aggregated: tt.aggregated, serializer: legacyscheme.Codecs}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/apis", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer := newResponse()
		answer.run(d, request)
		if answer.code != http.StatusInternalServerError || !strings.Contains(answer.buf.String(), tt.want) {
			t.Errorf("got %d %q: %s", answer.code, answer.buf.String(), tt.reason)
		}
	}
}

func TestRootDiscoveryPaths(t *testing.T) {
	f := plain.fixture(t)
	for path, want := range map[string]string{
		"/apis":         `"kind":"APIGroupList"`,
		"/apis/":        `"kind":"APIGroupList"`,
		"/apis/apps":    `"kind":"APIGroup"`,
		"/apis/apps/v1": `"kind":"APIResourceList"`,
		"/api":          `"kind":"APIVersions"`,
		"/":             `"/apis/apps/v1"`,
	} {
		if body, err := f.raw(t, path); err != nil || !strings.Contains(body, want) {
			t.Errorf("GET %s: %.100s, %v; want it to contain %s", path, body, err, want)
		}
	}
	if _, err := f.raw(t, "/apis/no.such.group"); err == nil || !strings.Contains(err.Error(), "could not find") {
		t.Errorf("GET of an unknown group: %v", err)
	}
}
