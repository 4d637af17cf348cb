package api

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
)

var apiServiceResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1",
	Resource: "apiservices"}

// Every version that is served has a priority, for without one it has no APIService, and those that upstream exports
// are upstream's.
func TestPriorities(t *testing.T) {
	own := priorities()
	served := servedVersions().GroupVersionConfigs
	served[apiextensionsv1.SchemeGroupVersion] = true
	known := map[schema.GroupVersion]bool{}
	for gv := range own {
		known[gv] = true
	}
	if diff := cmp.Diff(enabled(served), enabled(known)); diff != "" {
		t.Errorf("versions (-served +with a priority):\n%s", diff)
	}
	for gv, upstream := range controlplaneapiserver.DefaultGenericAPIServicePriorities() {
		if p, ok := own[gv]; ok && (p.group != upstream.Group || p.version != upstream.Version) {
			t.Errorf("%v has priority %v, upstream %v", gv, p, upstream)
		}
	}
}

// There is an APIService for every version that is served, those of custom resources included.
func TestAPIServices(t *testing.T) {
	f := start(t, Options{})
	want := servicesOf()
	awaitServices(t, f, want)
	define(t, f)
	awaitServices(t, f, append(want, "v1.example.com"))
}

// servicesOf are the names of the APIServices of what every server serves.
func servicesOf() []string {
	var names []string
	for gv := range priorities() {
		names = append(names, gv.Version+"."+gv.Group)
	}
	return names
}

// awaitServices waits until there are APIServices of these names and all of them are available.
func awaitServices(t *testing.T, f *fixture, want []string) {
	t.Helper()
	slices.Sort(want)
	eventually(t, strings.Join(want, " ")+" are available", func(ctx context.Context) (bool, error) {
		list, err := f.dynamic.Resource(apiServiceResource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		available := map[string]bool{}
		for _, item := range list.Items {
			conditions, _, _ := unstructured.NestedSlice(item.Object, "status", "conditions")
			for _, condition := range conditions {
				c, _ := condition.(map[string]any)
				available[item.GetName()] = c["type"] == "Available" && c["status"] == "True" && c["reason"] == "Local"
			}
		}
		return slices.Equal(want, slices.Sorted(maps.Keys(available))), nil
	})
}
