package api

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	f := plain.fixture(t)
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
	f := plain.fixture(t)
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
			t.Errorf("group %q prefers %q, without aggregation %q", g.Name, g.PreferredVersion.GroupVersion,
				preferred[g.Name])
		}
	}
	if len(plain.Groups) != len(aggregated.Groups) || len(plain.Groups) < 20 {
		t.Errorf("%d groups without aggregation, %d with", len(plain.Groups), len(aggregated.Groups))
	}
	if preferred["autoscaling"] != "autoscaling/v2" {
		t.Errorf("autoscaling prefers %q", preferred["autoscaling"])
	}
}

func TestComponentStatuses(t *testing.T) {
	var broken atomic.Bool
	f := start(t, Options{Components: map[string]func() error{
		ComponentControllerManager: func() error {
			if broken.Load() {
				return errors.New("broken")
			}
			return nil
		},
	}})
	statuses := func() map[string]string {
		t.Helper()
		list, err := f.CoreV1().ComponentStatuses().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, item := range list.Items {
			for _, c := range item.Conditions {
				got[item.Name] += string(c.Type) + "=" + string(c.Status) + " " + c.Message + c.Error
			}
		}
		return got
	}
	want := map[string]string{"controller-manager": "Healthy=True ok", "etcd-0": "Healthy=True ok",
		"scheduler": "Healthy=False it is not running"}
	if diff := cmp.Diff(want, statuses()); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	broken.Store(true)
	want["controller-manager"] = "Healthy=False broken"
	if diff := cmp.Diff(want, statuses()); diff != "" {
		t.Errorf("when one is broken (-want +got):\n%s", diff)
	}
	one, err := f.CoreV1().ComponentStatuses().Get(t.Context(), "etcd-0", metav1.GetOptions{})
	if err != nil || len(one.Conditions) != 1 || one.Conditions[0].Status != corev1.ConditionTrue {
		t.Errorf("one of them: %+v, %v", one, err)
	}
}
