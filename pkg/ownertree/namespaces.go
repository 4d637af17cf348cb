package ownertree

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// ReadNamespaces reads, of the nodes that are namespaces, the finalizers of their spec, which metadata do not have: see
// Node.SpecFinalizers. What could not be read is returned, sorted; one that has gone is left as it is. The error is not
// nil only if ctx has ended.
func (g *Graph) ReadNamespaces(
	ctx context.Context, reader *cluster.Reader, nodes []*Node,
) ([]cluster.Incomplete, error) {
	errs := make([]error, len(nodes))
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	for i, n := range nodes {
		if !n.isNamespace() {
			continue
		}
		group.Go(func() error {
			var obj *unstructured.Unstructured
			if obj, errs[i] = reader.Object(ctx, *n.Kind, "", n.Name); errs[i] == nil && obj.GetUID() == n.UID {
				n.SpecFinalizers, _, _ = unstructured.NestedStringSlice(obj.Object, "spec", "finalizers")
			}
			return nil
		})
	}
	_ = group.Wait() // errors are kept one by one
	if ctx.Err() != nil {
		return nil, fmt.Errorf("reading namespaces: %w", context.Cause(ctx))
	}
	var missing []cluster.Incomplete
	for i, err := range errs {
		if err != nil && !apierrors.IsNotFound(err) {
			missing = append(missing, cluster.Target{Kind: *nodes[i].Kind}.Incomplete(err))
		}
	}
	return cluster.SortIncomplete(missing), nil
}

func (n *Node) isNamespace() bool { return n.Kind.GroupKind().String() == "Namespace" }
