package controllers

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	if diff := cmp.Diff(upstreamsource.Descriptors(t), got); diff != "" {
		t.Errorf("the table and kube-controller-manager's descriptors differ (-upstream +table):\n%s", diff)
	}
	inNames := slices.Sorted(maps.Values(upstreamsource.Names(t)))
	if diff := cmp.Diff(inNames, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("the table and upstream's names differ (-upstream +table):\n%s", diff)
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
