package controllers

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/upstreamsource"
)

func TestTableIsUpstreams(t *testing.T) {
	got := map[string]upstreamsource.Descriptor{}
	for _, c := range All() {
		if _, twice := got[c.Name]; twice {
			t.Errorf("%s is there twice", c.Name)
		}
		got[c.Name] = upstreamsource.Descriptor{Aliases: c.Aliases, OffByDefault: c.OffByDefault}
	}
	ignored := cmpopts.IgnoreFields(upstreamsource.Descriptor{}, "FeatureGates")
	if diff := cmp.Diff(upstreamsource.Descriptors(t), got, ignored); diff != "" {
		t.Errorf("the table and kube-controller-manager's descriptors differ (-upstream +table):\n%s", diff)
	}
	inNames := slices.Sorted(maps.Values(upstreamsource.Names(t)))
	if diff := cmp.Diff(inNames, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("the table and upstream's names differ (-upstream +table):\n%s", diff)
	}
}

// TestFeatureGatesAreOn: a controller needs a feature gate, and does not run, exactly if one that upstream requires for
// it is off by default.
func TestFeatureGatesAreOn(t *testing.T) {
	descriptors := upstreamsource.Descriptors(t)
	for _, c := range All() {
		want := ""
		for _, gate := range descriptors[c.Name].FeatureGates {
			if want == "" && !utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(gate)) {
				want = needsFeatureGate(gate)
			}
		}
		needs, _, _ := strings.Cut(needsFeatureGate(""), ",")
		if got := c.NotRun; got != want && (want != "" || strings.HasPrefix(got, needs)) {
			t.Errorf("%s does not run because %q, want %q", c.Name, got, want)
		}
	}
}

func TestEveryRowIsWhole(t *testing.T) {
	for _, c := range All() {
		switch {
		case c.Runs() == (c.NotRun != ""):
			t.Errorf("%s must either run or say why not", c.Name)
		case c.Runs() && (c.Short == "" || c.workers == 0 || len(c.Reads) == 0 || len(c.Writes) == 0):
			t.Errorf("%s runs, but its row is not filled in", c.Name)
		}
	}
}
