package recorder

import (
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Selection is which objects of a kind to record: a stream.
type Selection struct {
	cluster.Target
	// Labels and Fields are selectors as kubectl takes them; empty selects all.
	Labels, Fields string
}

// key identifies a selection.
func (s *Selection) key() selectionKey {
	return selectionKey{s.Kind.GVR().String(), s.Namespace, s.Labels, s.Fields}
}

type selectionKey struct{ resource, namespace, labels, fields string }

// stream returns the definition of the stream, without its number.
func (s *Selection) stream() replay.Stream {
	out := replay.Stream{
		Group: s.Kind.Group, Version: s.Kind.Version, Kind: s.Kind.Kind, Resource: s.Kind.Resource,
		Namespaced: s.Kind.Namespaced, Singular: s.Kind.Singular, ShortNames: s.Kind.ShortNames,
		Categories: s.Kind.Categories, Verbs: s.Kind.Verbs, HasStatus: s.Kind.HasStatus,
		Namespace: s.Namespace, Labels: s.Labels, Fields: s.Fields,
	}
	if !out.Namespaced {
		out.Namespace = ""
	}
	return out
}
