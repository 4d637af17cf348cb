package ownertree

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// RefError says that an object that was asked for could not be read. It wraps the server's error.
type RefError struct {
	Ref Ref
	Err error
}

func (e *RefError) Error() string {
	if e.Ref.Namespace == "" {
		return fmt.Sprintf("reading %s %q: %v", e.Ref.Kind, e.Ref.Name, e.Err)
	}
	return fmt.Sprintf("reading %s %q in namespace %q: %v", e.Ref.Kind, e.Ref.Name, e.Ref.Namespace, e.Err)
}

func (e *RefError) Unwrap() error { return e.Err }

// Load reads the objects asked for, live, beside what the scope says (see ScopeOf), their owners all the way up, and the
// owners that are not there of what is below them. It returns a node for each of refs, in their order. The error is a
// *RefError for the first that could not be read, or says that ctx has ended.
func Load(ctx context.Context, reader *cluster.Reader, kinds *cluster.Kinds, refs []Ref, scope Scope) (*Graph, []*Node, error) {
	objects := make([]*metav1.PartialObjectMetadata, len(refs))
	var g *Graph
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		g, err = Collect(reading, reader, kinds, scope)
		return err
	})
	group.Go(func() error { return readAll(reading, reader, refs, objects) })
	err := group.Wait()
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("reading objects: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, nil, err
	}
	nodes := make([]*Node, len(refs))
	for i, ref := range refs {
		nodes[i] = g.Add(ref.Kind, objects[i])
	}
	if err := g.Ascend(ctx, reader, nodes); err != nil {
		return nil, nil, err
	}
	return g, nodes, g.Confirm(ctx, reader, g.Below(nodes))
}

// readAll reads the metadata of all refs at once.
func readAll(ctx context.Context, reader *cluster.Reader, refs []Ref, objects []*metav1.PartialObjectMetadata) error {
	places := make([]place, len(refs))
	for i := range refs {
		places[i] = place{&refs[i].Kind, refs[i].Namespace, refs[i].Name}
	}
	found, errs := readPlaces(ctx, reader, places)
	copy(objects, found)
	for i, err := range errs {
		if err != nil {
			return &RefError{Ref: refs[i], Err: err}
		}
	}
	return nil
}

// Below returns the nodes and everything that they own, directly or not, sorted, each once.
func (g *Graph) Below(nodes []*Node) []*Node {
	below := make(map[*Node]bool, len(nodes))
	next := append([]*Node{}, nodes...)
	for len(next) > 0 {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		if !below[n] {
			below[n] = true
			next = append(next, n.Dependents...)
		}
	}
	return sorted(below)
}

// Select returns the objects of the kind, in any version, whose labels match, sorted. A nil selector matches all.
func (g *Graph) Select(kind cluster.Kind, selector labels.Selector) []*Node {
	shared := g.shared[kind.GroupResource()]
	var out []*Node
	for _, n := range g.nodes {
		if n.Kind == shared && (selector == nil || selector.Matches(labels.Set(n.Labels))) {
			out = append(out, n)
		}
	}
	return out
}
