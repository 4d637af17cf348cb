package ownertree

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// maxConcurrentReads bounds the reads of owners that are under way at a time; the reader may allow fewer.
const maxConcurrentReads = 16

// Confirm reads live every owner of the nodes that the graph does not hold, each once, and settles the verdicts. Owners
// that are there after all come into the graph. An owner that may not be read leaves its verdict Unknown, with the reason
// in Owner.Detail. The error is not nil only if ctx has ended; Confirm may then be called again.
func (g *Graph) Confirm(ctx context.Context, reader *cluster.Reader, nodes []*Node) error {
	var places []objectKey
	wanted := map[objectKey]bool{}
	for _, n := range nodes {
		for i := range n.Owners {
			at, open := g.unsettledKey(n, &n.Owners[i])
			if _, read := g.answers[at]; open && !read && !wanted[at] {
				wanted[at] = true
				places = append(places, at)
			}
		}
	}
	objects, errs := readMetadata(ctx, reader, places)
	if ctx.Err() != nil {
		return fmt.Errorf("reading owners: %w", context.Cause(ctx))
	}
	b := &builder{graph: g}
	for i, at := range places {
		if errs[i] == nil {
			b.add(*at.kind, objects[i])
		}
	}
	g.adopt(b.nodes...)
	for i, at := range places {
		g.answer(at, errs[i])
	}
	return nil
}

// readMetadata reads the metadata at all places at once: of each the object, or the error.
func readMetadata(ctx context.Context, reader *cluster.Reader, places []objectKey) ([]*metav1.PartialObjectMetadata, []error) {
	objects, errs := make([]*metav1.PartialObjectMetadata, len(places)), make([]error, len(places))
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	for i, at := range places {
		group.Go(func() error {
			objects[i], errs[i] = reader.Metadata(ctx, *at.kind, at.namespace, at.name)
			return nil
		})
	}
	_ = group.Wait() // errors are kept one by one, so that the first of them is always the same
	return objects, errs
}

// Ascend confirms the owners of the nodes, their owners, and so on up to objects that have none.
func (g *Graph) Ascend(ctx context.Context, reader *cluster.Reader, nodes []*Node) error {
	seen := map[*Node]bool{}
	for len(nodes) > 0 {
		if err := g.Confirm(ctx, reader, nodes); err != nil {
			return err
		}
		var above []*Node
		for _, n := range nodes {
			for i := range n.Owners {
				if owner := n.Owners[i].Node; owner != nil && !seen[owner] {
					seen[owner] = true
					above = append(above, owner)
				}
			}
		}
		nodes = above
	}
	return nil
}

// unsettledKey is where to read the owner of a reference that is not settled.
func (g *Graph) unsettledKey(n *Node, o *Owner) (objectKey, bool) {
	if o.Node != nil || o.Confirmed {
		return objectKey{}, false
	}
	kind, err := g.kindOf(o)
	if err != nil || kind == nil {
		return objectKey{}, false
	}
	return keyOfOwner(n, kind, o.Name), true
}

// answer settles all references to the place after what is there, if anything, has been read live and added. A nil err
// means that it was read.
func (g *Graph) answer(at objectKey, err error) {
	g.answers[at] = err
	references := g.open[at]
	if len(references) == 0 {
		return
	}
	owner := g.at[at]
	var left []openReference
	for _, r := range references {
		o := &r.node.Owners[r.index]
		if err == nil && owner != nil && owner.UID == o.UID {
			g.link(r.node, o, owner)
			continue
		}
		g.settle(o, at, err)
		left = append(left, r)
	}
	if owner != nil {
		slices.SortFunc(owner.Dependents, (*Node).Compare)
	}
	g.open[at] = left
	g.simulation = nil
}

// settle gives a reference to nothing the verdict that a live read of its place allows.
func (g *Graph) settle(o *Owner, at objectKey, err error) {
	switch found := g.at[at]; {
	case err != nil && !apierrors.IsNotFound(err):
		o.Verdict, o.Confirmed, o.Detail = Unknown, false, cluster.Reason(err)+": "+err.Error()
		return
	case o.Verdict == OtherNamespace:
	case err == nil && found != nil:
		o.Verdict, o.Detail = OtherUID, fmt.Sprintf("%s has uid %s", found, found.UID)
	default:
		o.Verdict = OwnerMissing
		if o.Detail == notRead {
			o.Detail = ""
		}
	}
	o.Confirmed = true
}
