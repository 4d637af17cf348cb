package ownertree

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
)

// matcher selects nodes, either by labels or by how their names begin.
type matcher struct {
	labels labels.Selector
	prefix string // what follows is a number
}

func (m *matcher) matches(n *Node) bool {
	if m.labels != nil {
		return m.labels.Matches(labels.Set(n.Labels))
	}
	number, begins := strings.CutPrefix(n.Name, m.prefix)
	return begins && number != "" && strings.Trim(number, "0123456789") == ""
}

// relationIndex holds nodes by kind and namespace, and there by name and label, so that neither a name nor a selector
// has to be compared with all.
type relationIndex map[indexKey]*indexEntry

type indexKey struct {
	kind      schema.GroupKind
	namespace string
}

type indexEntry struct {
	nodes  []*Node           // sorted by name
	labels map[label][]*Node // nil until the first selector is matched
}

type label struct{ key, value string }

func newRelationIndex(nodes []*Node) relationIndex {
	out := relationIndex{}
	for _, n := range nodes {
		key := indexKey{n.Kind.GroupKind(), n.Namespace}
		if out[key] == nil {
			out[key] = &indexEntry{}
		}
		out[key].nodes = append(out[key].nodes, n)
		if key.kind == serviceAccount { // groups hold those of all namespaces
			key.namespace = allNamespaces
			if out[key] == nil {
				out[key] = &indexEntry{}
			}
			out[key].nodes = append(out[key].nodes, n)
		}
	}
	for _, s := range out {
		slices.SortFunc(s.nodes, func(a, b *Node) int { return cmp.Or(cmp.Compare(a.Name, b.Name), a.Compare(b)) })
	}
	return out
}

// matching are the nodes that the reference names or selects, sorted.
func (s relationIndex) matching(ref *reference) []*Node {
	at := s[indexKey{ref.to, ref.namespace}]
	if at == nil {
		return nil
	}
	var out []*Node
	for _, n := range at.candidates(ref) {
		if ref.match == nil || ref.match.matches(n) {
			out = append(out, n)
		}
	}
	return out
}

// candidates are few nodes among which those are that the reference names or selects.
func (s *indexEntry) candidates(ref *reference) []*Node {
	switch {
	case ref.match == nil:
		return s.namedFrom(ref.name, func(name string) bool { return name == ref.name })
	case ref.match.labels == nil:
		prefix := ref.match.prefix
		return s.namedFrom(prefix, func(name string) bool { return strings.HasPrefix(name, prefix) })
	}
	return s.withLabel(ref.match.labels)
}

// namedFrom are the nodes from the first name that is not before start, as long as more returns true.
func (s *indexEntry) namedFrom(start string, more func(name string) bool) []*Node {
	byName := func(n *Node, name string) int { return cmp.Compare(n.Name, name) }
	from, _ := slices.BinarySearchFunc(s.nodes, start, byName)
	to := from
	for to < len(s.nodes) && more(s.nodes[to].Name) {
		to++
	}
	return s.nodes[from:to]
}

// withLabel are the nodes with the rarest label that the selector requires; all if it requires none in particular.
func (s *indexEntry) withLabel(selector labels.Selector) []*Node {
	if s.labels == nil {
		s.labels = map[label][]*Node{}
		for _, n := range s.nodes {
			for key, value := range n.Labels {
				s.labels[label{key, value}] = append(s.labels[label{key, value}], n)
			}
		}
	}
	out := s.nodes
	requirements, selectable := selector.Requirements()
	if !selectable {
		return nil
	}
	for i := range requirements {
		values := requirements[i].ValuesUnsorted()
		switch requirements[i].Operator() { //nolint:exhaustive // others require no label in particular
		case selection.Equals, selection.DoubleEquals, selection.In:
			if len(values) == 1 {
				out = fewer(out, s.labels[label{requirements[i].Key(), values[0]}])
			}
		default:
		}
	}
	return out
}

func fewer(a, b []*Node) []*Node {
	if len(b) < len(a) {
		return b
	}
	return a
}
