package ownertree

import (
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Scope says what Collect lists. The zero value is everything that the garbage collector watches.
type Scope struct {
	// Namespaces are those whose objects are listed; then cluster-scoped kinds are not. Nil lists all, cluster-scoped kinds
	// included.
	Namespaces []string
	// Nothing lists nothing: going up from an object is done by reading one owner after the other.
	Nothing bool
	// Kinds leaves out the kinds for which it is false; nil leaves out none. What is left out can be neither a dependent nor
	// a link between two objects.
	Kinds func(cluster.Kind) bool
}

// Ref names an object.
type Ref struct {
	Kind cluster.Kind
	// Namespace is empty for cluster-scoped kinds.
	Namespace, Name string
}

// ScopeOf is the least scope in which all dependents of the objects are found. A namespaced object owns only in its own
// namespace; one of a cluster-scoped kind may own anything. Without down, owners alone are asked for, which needs no lists.
func ScopeOf(refs []Ref, down bool) Scope {
	if !down {
		return Scope{Nothing: true}
	}
	scope := Scope{Namespaces: []string{}}
	for _, ref := range refs {
		if !ref.Kind.Namespaced {
			return Scope{}
		}
		scope.Namespaces = append(scope.Namespaces, ref.Namespace)
	}
	slices.Sort(scope.Namespaces)
	scope.Namespaces = slices.Compact(scope.Namespaces)
	return scope
}

// targets are the lists that the scope needs, sorted.
func (s Scope) targets(kinds *cluster.Kinds) []cluster.Target {
	if s.Nothing {
		return nil
	}
	namespaces := s.Namespaces
	if namespaces == nil {
		namespaces = []string{""}
	}
	var out []cluster.Target
	for _, kind := range kinds.Collected() {
		if s.Kinds != nil && !s.Kinds(kind) || s.Namespaces != nil && !kind.Namespaced {
			continue
		}
		for _, namespace := range namespaces {
			out = append(out, cluster.Target{Kind: kind, Namespace: namespace})
		}
	}
	return out
}

// includes reports whether objects of the namespace are listed; the empty one stands for cluster-scoped kinds.
func (s Scope) includes(namespace string) bool {
	return !s.Nothing && (s.Namespaces == nil || slices.Contains(s.Namespaces, namespace))
}
