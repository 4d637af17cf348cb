package ownertree_test

import (
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

func TestFindElsewhere(t *testing.T) {
	s := startSandbox(t)
	for _, namespace := range []string{"a", "b"} {
		s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	}
	owner := s.configMap("b", "owner")
	lost := s.configMap("a", "lost", owned(owner))
	gone := s.configMap("a", "gone", nowhere("v1", "ConfigMap", "nobody"))
	g := s.collect(ownertree.Scope{Namespaces: []string{"a"}})
	reader, err := cluster.NewReader(s.server.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Confirm(t.Context(), reader, g.Nodes()); err != nil {
		t.Fatal(err)
	}
	before := g.Fate(g.ByUID(lost.GetUID())).Action
	g.FindElsewhere(t.Context(), reader, g.Nodes())
	for _, tt := range []struct {
		uid    string
		want   ownertree.Verdict
		detail string
		reason string
	}{
		{string(lost.GetUID()), ownertree.OtherNamespace, `the owner is in namespace "b"`, "an object of that uid is in another namespace"},
		{string(gone.GetUID()), ownertree.OwnerMissing, "", "there is none anywhere"},
	} {
		for _, n := range g.Nodes() {
			if string(n.UID) == tt.uid && (n.Owners[0].Verdict != tt.want || n.Owners[0].Detail != tt.detail || !n.Owners[0].Confirmed) {
				t.Errorf("%s: %+v: %s", n, n.Owners[0], tt.reason)
			}
		}
	}
	if after := g.Fate(g.ByUID(lost.GetUID())).Action; after != before || after != ownertree.Deleted {
		t.Errorf("for the garbage collector it is the same: %s, then %s", before, after)
	}
}
