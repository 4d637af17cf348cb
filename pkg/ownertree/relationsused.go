package ownertree

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// prepare looks up live, at once, what the references name and the graph does not hold, and lists where they select and it
// did not read.
func (s *source) prepare(ctx context.Context, all []pending) {
	places, lists := map[place]bool{}, map[list]bool{}
	for _, p := range all {
		kind, err := s.kind(p.reference)
		if kind == nil || err != nil {
			continue
		}
		at := place{kind, p.namespace, p.name}
		if p.match == nil {
			if _, known := s.answers[at]; !known && s.graph.at[at] == nil {
				places[at] = true
			}
			continue
		}
		l := list{kind: kind, namespace: p.namespace}
		if _, known := s.others[l]; !known && !s.graph.wasRead(at) {
			lists[l] = true
		}
	}
	s.look(ctx, places)
	s.listOthers(ctx, lists)
}

// kind is that of what is referred to; nil if it is not served.
func (s *source) kind(ref reference) (*cluster.Kind, error) {
	kind, served, err := s.graph.kinds.Lookup(ref.to.WithVersion(ref.version))
	if err != nil || !served {
		return nil, err
	}
	return s.graph.share(kind), nil
}

// look reads the metadata at the places and adds what is there to the graph.
func (s *source) look(ctx context.Context, wanted map[place]bool) {
	places := make([]place, 0, len(wanted))
	for at := range wanted {
		places = append(places, at)
	}
	objects, errs := make([]*metav1.PartialObjectMetadata, len(places)), make([]error, len(places))
	var group errgroup.Group
	group.SetLimit(gets)
	for i, at := range places {
		group.Go(func() error {
			objects[i], errs[i] = s.reader.Metadata(ctx, *at.kind, at.namespace, at.name)
			return nil
		})
	}
	_ = group.Wait() // errors are looked at one by one
	for i, at := range places {
		answer := target{node: &Node{Kind: at.kind, Namespace: at.namespace, Name: at.name}}
		switch {
		case errs[i] == nil:
			answer.node = s.graph.Add(*at.kind, objects[i])
		case apierrors.IsNotFound(errs[i]):
			answer.missing = true
		default:
			answer.unread = true
			s.failed(at.kind, at.namespace, errs[i])
		}
		s.answers[at] = answer
	}
}

// listOthers lists the metadata of objects that the graph does not cover.
func (s *source) listOthers(ctx context.Context, lists map[list]bool) {
	var targets []cluster.Target
	for l := range lists {
		s.others[l] = nil
		targets = append(targets, cluster.Target{Kind: *l.kind, Namespace: l.namespace})
	}
	if len(targets) == 0 {
		return
	}
	// That ctx has ended is found by whoever goes on.
	missing, _ := s.reader.ListMetadata(ctx, targets, func(t cluster.Target, object *metav1.PartialObjectMetadata) {
		l := list{kind: s.graph.share(t.Kind), namespace: t.Namespace}
		s.others[l] = append(s.others[l], object)
	})
	s.incomplete = append(s.incomplete, missing...)
}

// targets are what a reference leads to, once prepared.
func (s *source) targets(ref reference) []target {
	kind, err := s.kind(ref)
	if kind == nil {
		unserved := &cluster.Kind{GroupVersionKind: ref.to.WithVersion(ref.version), Namespaced: ref.namespace != ""}
		at := place{s.graph.share(*unserved), ref.namespace, ref.name}
		if _, known := s.answers[at]; !known {
			s.answers[at] = target{node: &Node{Kind: at.kind, Namespace: at.namespace, Name: at.name}, missing: err == nil, unread: err != nil}
		}
		return []target{s.answers[at]}
	}
	at := place{kind, ref.namespace, ref.name}
	if ref.match == nil {
		if n := s.graph.at[at]; n != nil {
			return []target{{node: n}}
		}
		if answer, known := s.answers[at]; known {
			return []target{answer}
		}
		return nil // ctx has ended
	}
	var out []target
	for _, o := range s.others[list{kind: kind, namespace: ref.namespace}] {
		if ref.match(o.Name, labels.Set(o.Labels)) {
			s.graph.Add(*kind, o)
		}
	}
	for _, n := range s.shelf().matching(ref) {
		out = append(out, target{node: n})
	}
	return out
}

// shelf is that of all objects of the graph.
func (s *source) shelf() shelves {
	if s.shelved != len(s.graph.nodes) || s.shelves == nil {
		s.shelves, s.shelved = newShelves(s.graph.nodes), len(s.graph.nodes)
	}
	return s.shelves
}

// shelves hold nodes by kind and namespace, so that a selector need not look at all.
type shelves map[shelfKey][]*Node

type shelfKey struct {
	kind      schema.GroupKind
	namespace string
}

func newShelves(nodes []*Node) shelves {
	out := shelves{}
	for _, n := range nodes {
		key := shelfKey{n.Kind.GroupKind(), n.Namespace}
		out[key] = append(out[key], n)
	}
	return out
}

// matching are the nodes that the reference names or selects.
func (s shelves) matching(ref reference) []*Node {
	return slices.DeleteFunc(slices.Clone(s[shelfKey{ref.to, ref.namespace}]), func(n *Node) bool {
		if ref.match != nil {
			return !ref.match(n.Name, labels.Set(n.Labels))
		}
		return n.Name != ref.name
	})
}
