package ownertree

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// mostApplied bounds how many objects that others have applied are looked at where few requests are wanted.
const mostApplied = 64

// resolve finds what the nodes name, forward or backward: in the graph, else live. What selects needs lists where the
// graph did not read.
func (s *relationSource) resolve(ctx context.Context, nodes []*Node, backward bool) {
	var open []*reference
	for _, n := range nodes {
		for _, ref := range s.referencesOf(n) {
			if ref.backward != backward || ref.namespace == allNamespaces || s.leavesOut(ref) {
				continue
			}
			if _, known := s.resolved[ref]; !known {
				s.resolved[ref] = nil
				if ref.applied {
					s.applied++
				}
				if !ref.applied || s.applied <= mostApplied || !s.needsOnly {
					open = append(open, ref)
				}
			}
		}
	}
	s.prepare(ctx, open)
	in := newRelationIndex(s.graph.nodes)
	for _, ref := range open {
		s.resolved[ref] = s.targets(ref, in)
	}
}

// prepare brings into the graph what the references name or select.
func (s *relationSource) prepare(ctx context.Context, open []*reference) {
	keys, lists := map[objectKey]bool{}, map[list]bool{}
	var selecting []*reference
	for _, ref := range open {
		kind, err := s.kind(ref)
		if kind == nil || err != nil {
			continue
		}
		at := objectKey{kind, ref.namespace, ref.name}
		switch _, known := s.answers[at]; {
		case ref.match == nil && !known && s.graph.at[at] == nil:
			keys[at] = true
		case ref.match != nil && !s.graph.wasRead(at):
			lists[list{kind: kind, namespace: ref.namespace}] = true
			selecting = append(selecting, ref)
		}
	}
	s.readLive(ctx, keys)
	if len(selecting) == 0 {
		return
	}
	s.readLists(ctx, lists, nil)
	in := newRelationIndex(s.users)
	var selected []*Node
	for _, ref := range selecting {
		selected = append(selected, in.matching(ref)...)
	}
	s.adopt(selected)
}

// kind is that of what is referred to; nil if it is not served.
func (s *relationSource) kind(ref *reference) (*cluster.Kind, error) {
	gvk := ref.to.WithVersion(ref.version)
	if known, ok := s.served[gvk]; ok {
		return known.kind, known.err
	}
	var result kindResult
	kind, served, err := s.graph.kinds.Lookup(gvk)
	if result.err = err; served && err == nil {
		result.kind = s.graph.share(kind)
	}
	s.served[gvk] = result
	return result.kind, result.err
}

// manyObjects is from how many objects of a kind in a namespace on a list of all is read first.
const manyObjects = 64

// readLive reads the metadata at the keys and adds what is there to the graph.
func (s *relationSource) readLive(ctx context.Context, wanted map[objectKey]bool) {
	s.readFromLists(ctx, wanted)
	keys := make([]objectKey, 0, len(wanted))
	for at := range wanted {
		if s.graph.at[at] == nil {
			keys = append(keys, at)
		}
	}
	objects, errs := readMetadata(ctx, s.reader, keys)
	b := &builder{graph: s.graph}
	for i, at := range keys {
		if errs[i] == nil {
			b.add(*at.kind, objects[i])
		}
	}
	s.graph.adopt(b.nodes...)
	for i, at := range keys {
		answer := target{node: &Node{Kind: at.kind, Namespace: at.namespace, Name: at.name}}
		switch {
		case errs[i] == nil:
			answer.node = s.graph.at[at]
		case apierrors.IsNotFound(errs[i]):
			answer.missing = true
		default:
			answer.unread = true
			s.failed(at.kind, at.namespace, errs[i])
		}
		s.answers[at] = answer
	}
}

// readFromLists adds to the graph those of the many objects of a kind that a list holds. What it does not hold, or may
// not be listed, is left to be read one by one.
func (s *relationSource) readFromLists(ctx context.Context, wanted map[objectKey]bool) {
	count := map[list]int{}
	for at := range wanted {
		count[list{kind: at.kind, namespace: at.namespace}]++
	}
	var targets []cluster.Target
	for l, n := range count {
		if n >= manyObjects && l.kind.Can("list") {
			targets = append(targets, cluster.Target{Kind: *l.kind, Namespace: l.namespace})
		}
	}
	b := &builder{graph: s.graph}
	_, _ = s.reader.ListMetadata(ctx, targets, func(t cluster.Target, object *metav1.PartialObjectMetadata) {
		if wanted[objectKey{s.graph.share(t.Kind), object.Namespace, object.Name}] {
			b.add(t.Kind, object)
		}
	}) // errors are found again when the objects are read one by one
	s.graph.adopt(b.nodes...)
}

// targets are what a reference leads to, once prepared; in holds the nodes of the graph.
func (s *relationSource) targets(ref *reference, in relationIndex) []target {
	kind, err := s.kind(ref)
	if kind == nil {
		unserved := &cluster.Kind{GroupVersionKind: ref.to.WithVersion(ref.version), Namespaced: ref.namespace != ""}
		at := objectKey{s.graph.share(*unserved), ref.namespace, ref.name}
		if _, known := s.answers[at]; !known {
			node := &Node{Kind: at.kind, Namespace: at.namespace, Name: at.name}
			s.answers[at] = target{node: node, missing: err == nil, unread: err != nil}
		}
		return []target{s.answers[at]}
	}
	at := objectKey{kind, ref.namespace, ref.name}
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
	for _, n := range in.matching(ref) {
		out = append(out, target{node: n})
	}
	return out
}
