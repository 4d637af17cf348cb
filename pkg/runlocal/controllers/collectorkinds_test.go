package controllers

import (
	"context"
	"errors"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest/fake"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

func identity(apiVersion, kind, namespace, name string) *tap.Identity {
	return &tap.Identity{OwnerReference: metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name},
		Namespace: namespace}
}

func TestKeysOfTheCollector(t *testing.T) {
	k := &servedKinds{onServed: func(func(schema.GroupVersionResource) bool) {}}
	k.setServed([]*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods", Kind: "Pod"}, {Name: "nodes", Kind: "Node"}}},
		{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{{Name: "mice", Kind: "Mouse"}}},
	})
	for _, test := range []struct {
		reason string
		of     *tap.Identity
		want   string
	}{
		{"an object of the core group", identity("v1", "Pod", "default", "a"), "pods default/a"},
		{"one without a namespace", identity("v1", "Node", "", "n"), "nodes n"},
		{"a custom resource, whose plural cannot be guessed", identity("example.com/v1", "Mouse", "default", "m"),
			"mice.example.com default/m"},
		{"a kind that is not served", identity("example.com/v1", "Widget", "default", "w"), "widget.example.com default/w"},
	} {
		if got := k.key(test.of); got != test.want {
			t.Errorf("%s: got %q, want %q", test.reason, got, test.want)
		}
	}
	refs := []metav1.OwnerReference{identity("v1", "Pod", "", "a").OwnerReference,
		identity("v1", "Node", "", "n").OwnerReference}
	if got := k.value(refs); got != "pods a and nodes n" {
		t.Errorf("owners are logged as %q", got)
	}
	if got := k.value("text"); got != "" {
		t.Errorf("text is logged as %q: it needs no help", got)
	}
}

func TestServedKindsDropsWhatIsNotServed(t *testing.T) {
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	var kept func(schema.GroupVersionResource) bool
	k := &servedKinds{onServed: func(served func(schema.GroupVersionResource) bool) { kept = served }}
	k.setServed([]*metav1.APIResourceList{{GroupVersion: "v1",
		APIResources: []metav1.APIResource{{Name: "pods", Kind: "Pod"}}}})
	if !kept(pods) {
		t.Error("pods are served")
	}
	k.setServed([]*metav1.APIResourceList{{GroupVersion: "not/a/version"}})
	if kept(pods) {
		t.Error("pods are not served any more")
	}
}

// The API answers an error once, and nothing changes afterwards.
func TestServedKindsRetriesAfterAnError(t *testing.T) {
	requests := 0
	client := discovery.NewDiscoveryClient(&fake.RESTClient{
		NegotiatedSerializer: scheme.Codecs,
		Client: fake.CreateHTTPClient(func(*http.Request) (*http.Response, error) {
			requests++
			return nil, errors.New("not now")
		}),
	})
	k := &servedKinds{DiscoveryClient: client, poller: kindPoller{changes: func() uint64 { return 0 }},
		lists: &listResults{}}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	for range 2 {
		before := requests
		if _, err := k.ServerPreferredResourcesWithContext(ctx); err == nil {
			t.Fatal("no error of the API")
		}
		if requests == before {
			t.Fatal("no request was made")
		}
	}
}
