package cluster

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

func aggregated(groups ...apidiscovery.APIGroupDiscovery) *apidiscovery.APIGroupDiscoveryList {
	return &apidiscovery.APIGroupDiscoveryList{Items: groups}
}

func groupDiscovery(group, version string, freshness apidiscovery.DiscoveryFreshness, plural, kind string) apidiscovery.APIGroupDiscovery {
	return apidiscovery.APIGroupDiscovery{
		ObjectMeta: metav1.ObjectMeta{Name: group},
		Versions: []apidiscovery.APIVersionDiscovery{{
			Version: version, Freshness: freshness,
			Resources: []apidiscovery.APIResourceDiscovery{{
				Resource: plural, Scope: apidiscovery.ScopeNamespace, Verbs: allVerbs, ResponseKind: &metav1.GroupVersionKind{Version: version, Kind: kind},
			}},
		}},
	}
}

func TestDiscoverAggregated(t *testing.T) {
	s := newServer(t)
	s.HandleFunc("/api", answerJSON(discovery.AcceptV2, aggregated(groupDiscovery("", "v1", apidiscovery.DiscoveryFreshnessCurrent, "pods", "Pod"))))
	s.HandleFunc("/apis", answerJSON(discovery.AcceptV2, aggregated(
		groupDiscovery("apps", "v1", apidiscovery.DiscoveryFreshnessCurrent, "deployments", "Deployment"),
		groupDiscovery("metrics.k8s.io", "v1beta1", apidiscovery.DiscoveryFreshnessStale, "nodes", "NodeMetrics"),
	)))
	kinds := discover(t, s)
	wantKinds(t, kinds, "deployment.apps", "pod")
	want := []Incomplete{{Group: "metrics.k8s.io", Version: "v1beta1", Reason: ReasonDiscovery, Message: "its API server does not answer"}}
	if diff := cmp.Diff(want, kinds.Incomplete()); diff != "" {
		t.Errorf("incomplete (-want +got):\n%s", diff)
	}
	if asked := s.asked(); len(asked) != 2 {
		t.Errorf("discovery took the requests %v, want two", asked)
	}
}

func discover(t *testing.T, s *fakeServer) *Kinds {
	t.Helper()
	kinds, err := Discover(t.Context(), s.config())
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func wantKinds(t *testing.T, kinds *Kinds, want ...string) {
	t.Helper()
	var got []string
	for _, k := range kinds.All() {
		got = append(got, k.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// legacy handles discovery as servers without the aggregated form do.
func legacy(s *fakeServer) {
	s.HandleFunc("/api", answerJSON("application/json", &metav1.APIVersions{Versions: []string{"v1"}}))
	s.HandleFunc("/api/v1", answerJSON("application/json", &metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{resource("pods", "pod", "Pod", true)}}))
	version := func(group string) metav1.APIGroup {
		v := metav1.GroupVersionForDiscovery{GroupVersion: group + "/v1", Version: "v1"}
		return metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}
	}
	s.HandleFunc("/apis", answerJSON("application/json", &metav1.APIGroupList{Groups: []metav1.APIGroup{version("apps"), version("down.dev")}}))
	s.HandleFunc("/apis/apps/v1", answerJSON("application/json", &metav1.APIResourceList{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{
		resource("deployments", "deployment", "Deployment", true), {Name: "deployments/status", Kind: "Deployment"},
	}}))
	s.HandleFunc("/apis/down.dev/v1", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, apierrors.NewServiceUnavailable("no server answers for down.dev"))
	})
}

func TestDiscoverLegacy(t *testing.T) {
	s := newServer(t)
	legacy(s)
	kinds := discover(t, s)
	wantKinds(t, kinds, "deployment.apps", "pod")
	missing := kinds.Incomplete()
	if len(missing) != 1 || missing[0].Group != "down.dev" || missing[0].Reason != ReasonDiscovery || !strings.Contains(missing[0].Message, "no server answers") {
		t.Errorf("incomplete: %v", missing)
	}
	if !kinds.All()[0].HasStatus {
		t.Error("the subresource status of Deployments is not seen")
	}
}

// TestDiscoverHalf: if one answer is in the legacy form, all kinds are discovered in the legacy form.
func TestDiscoverHalf(t *testing.T) {
	s := newServer(t)
	legacy(s)
	s.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	wantKinds(t, discover(t, s), "deployment.apps", "pod")
}

func TestDiscoverWithoutCore(t *testing.T) {
	s := newServer(t)
	s.HandleFunc("/apis", answerJSON(discovery.AcceptV2, aggregated(groupDiscovery("apps", "v1", "", "deployments", "Deployment"))))
	wantKinds(t, discover(t, s), "deployment.apps")
}

func TestDiscoverFails(t *testing.T) {
	t.Parallel() // it waits for the retries of client-go
	for _, tt := range []struct {
		answer http.HandlerFunc
		want   string
		reason string
	}{
		{func(w http.ResponseWriter, _ *http.Request) { fail(w, apierrors.NewUnauthorized("who are you")) }, "credentials", "expired credentials"},
		{func(w http.ResponseWriter, _ *http.Request) {
			fail(w, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("jane may not")))
		}, "jane may not", "no right to discover"},
		{answerJSON(discovery.AcceptV2, []int{1}), "reading the answer", "a document of another shape"},
		{answerJSON("text/html", "<html>"), "", "a login page"},
		{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", "the connection breaks"},
	} {
		s := newServer(t)
		s.Config.ErrorLog = nil
		s.HandleFunc("/api", tt.answer)
		s.HandleFunc("/apis", tt.answer)
		_, err := Discover(t.Context(), s.config())
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "discovering the kinds") {
			t.Errorf("%s: %v, want %q", tt.reason, err, tt.want)
		}
	}
	if _, err := Discover(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("no server listens: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s := newServer(t)
	legacy(s)
	if _, err := Discover(ended, s.config()); err == nil {
		t.Error("no error although the context has ended")
	}
	if slices.ContainsFunc(s.asked(), func(path string) bool { return strings.HasPrefix(path, "/apis/") }) {
		t.Errorf("requests went on after the context ended: %v", s.asked())
	}
}
