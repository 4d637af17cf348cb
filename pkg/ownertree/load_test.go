package ownertree_test

import (
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// load reads what the scope says, the objects themselves, their owners all the way up, and the owners that are not there of
// what is below them, as a tree needs it.
func (s *sandbox) load(kinds *cluster.Kinds, scope ownertree.Scope, refs ...ownertree.Ref) (*ownertree.Graph, []*ownertree.Node) {
	s.Helper()
	g, err := ownertree.Collect(s.Context(), s.reader, kinds, scope)
	if err != nil {
		s.Fatal(err)
	}
	nodes := make([]*ownertree.Node, len(refs))
	for i, ref := range refs {
		object, err := s.reader.Metadata(s.Context(), ref.Kind, ref.Namespace, ref.Name)
		if err != nil {
			s.Fatal(err)
		}
		nodes[i] = g.Add(ref.Kind, object)
	}
	if err := g.Ascend(s.Context(), s.reader, nodes); err != nil {
		s.Fatal(err)
	}
	if err := g.Confirm(s.Context(), s.reader, below(nodes)); err != nil {
		s.Fatal(err)
	}
	return g, nodes
}

// below are the nodes and everything that they own, each once.
func below(nodes []*ownertree.Node) []*ownertree.Node {
	var out []*ownertree.Node
	seen := map[*ownertree.Node]bool{}
	for next := nodes; len(next) > 0; next = next[1:] {
		if n := next[0]; !seen[n] {
			seen[n] = true
			out = append(out, n)
			next = append(next, n.Dependents...)
		}
	}
	return out
}
