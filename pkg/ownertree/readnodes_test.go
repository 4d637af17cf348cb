package ownertree_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// TestNamespaceFinalizers: what holds a namespace is in its spec. The real namespace controller removes its own
// finalizer and leaves that of another, which a preview has to predict.
func TestNamespaceFinalizers(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	plain := s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: plain}}")
	held := s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: held}, spec: {finalizers: [kubernetes, example.com/backup]}}")
	s.configMap("held", "inside")
	refs := []ownertree.Ref{{Kind: s.kind("namespaces"), Name: "plain"}, {Kind: s.kind("namespaces"), Name: "held"}}
	g, nodes := s.load(s.kinds(), ownertree.ScopeOf(refs, true), refs...)
	if missing, err := g.ReadNamespaces(t.Context(), s.reader, nodes); err != nil || len(missing) > 0 {
		t.Fatalf("reading namespaces: %v, %v", missing, err)
	}
	want := outcome{Deleted: []string{"inside", "held", "plain"}, Held: []string{"held: example.com/backup"}}
	got := outcomeOf(g.DeletePreview(nodes, background))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("preview (-want +got):\n%s", diff)
	}
	s.delete(plain, background)
	s.delete(held, background)
	g, nodes = s.load(s.kinds(), ownertree.ScopeOf(refs, true), refs...)
	if _, err := g.ReadNamespaces(t.Context(), s.reader, nodes); err != nil {
		t.Fatal(err)
	}
	hold, _ := g.Blockers(nodes[1])
	if len(hold.Removals) != 1 || hold.Removals[0].Finalizer != "kubernetes" || !slices.Equal(hold.Finalizers, []string{"example.com/backup"}) {
		t.Errorf("held by %v, released %v: want the namespace controller's finalizer apart from the other", hold.Finalizers, hold.Removals)
	}
	s.control("namespace")
	s.eventually("the plain namespace is gone", func() bool { return s.get(plain) == nil })
	s.eventually("the other is held by one finalizer", func() bool {
		now := s.get(held)
		if now == nil {
			return false
		}
		left, _, _ := unstructured.NestedStringSlice(now.Object, "spec", "finalizers")
		return slices.Equal(left, []string{"example.com/backup"})
	})
}

// TestReadNamespacesIncomplete: a namespace that may not be read is one whose finalizers are not known.
func TestReadNamespacesIncomplete(t *testing.T) {
	s, w := startRecorded(t)
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	g := s.collect(ownertree.Scope{})
	namespace := g.Find(s.kind("namespaces"), "", "shop")
	w.forbid = "namespaces"
	missing, err := g.ReadNamespaces(t.Context(), s.reader, []*ownertree.Node{namespace})
	if err != nil || len(missing) != 1 || missing[0].Resource != "namespaces" || missing[0].Reason != "Forbidden" {
		t.Errorf("incomplete: %v, %v; want namespaces, forbidden", missing, err)
	}
}
