package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/controlplane"
)

// enabled are the group versions that set has on, sorted.
func enabled(set map[schema.GroupVersion]bool) []string {
	var names []string
	for gv, on := range set {
		if on {
			names = append(names, gv.String())
		}
	}
	slices.Sort(names)
	return names
}

func TestServedVersionsAreUpstreamsDefault(t *testing.T) {
	want := enabled(controlplane.DefaultAPIResourceConfigSource().GroupVersionConfigs)
	if diff := cmp.Diff(want, enabled(servedVersions().GroupVersionConfigs)); diff != "" {
		t.Errorf("group versions (-kube-apiserver +here):\n%s", diff)
	}
}

// What kube-apiserver v1.37.1 answers to GET /api/v1, without its verbs. The core group is the one that this package
// assembles by itself.
func TestCoreResources(t *testing.T) {
	f := start(t, Options{})
	list, err := f.Discovery().ServerResourcesForGroupVersion("v1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list.APIResources {
		got = append(got, r.Name)
	}
	want := strings.Fields(`bindings componentstatuses configmaps endpoints events limitranges namespaces namespaces/finalize
		namespaces/status nodes nodes/proxy nodes/status persistentvolumeclaims persistentvolumeclaims/status persistentvolumes
		persistentvolumes/status pods pods/attach pods/binding pods/ephemeralcontainers pods/eviction pods/exec pods/log
		pods/portforward pods/proxy pods/resize pods/status podtemplates replicationcontrollers replicationcontrollers/scale
		replicationcontrollers/status resourcequotas resourcequotas/status secrets serviceaccounts serviceaccounts/token
		services services/proxy services/status`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources of v1 (-kube-apiserver +here):\n%s", diff)
	}
}

// Aggregated and plain discovery must name the same groups, in the same order and with the same preferred versions.
func TestDiscoveryForms(t *testing.T) {
	f := start(t, Options{})
	plain, err := f.Discovery().WithLegacy().ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	aggregated, err := f.Discovery().ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	preferred := map[string]string{}
	for _, g := range plain.Groups {
		preferred[g.Name] = g.PreferredVersion.GroupVersion
	}
	for _, g := range aggregated.Groups {
		if g.PreferredVersion.GroupVersion != preferred[g.Name] {
			t.Errorf("group %q prefers %q, without aggregation %q", g.Name, g.PreferredVersion.GroupVersion, preferred[g.Name])
		}
	}
	if len(plain.Groups) != len(aggregated.Groups) || len(plain.Groups) < 20 {
		t.Errorf("%d groups without aggregation, %d with", len(plain.Groups), len(aggregated.Groups))
	}
	if preferred["autoscaling"] != "autoscaling/v2" {
		t.Errorf("autoscaling prefers %q", preferred["autoscaling"])
	}
}
