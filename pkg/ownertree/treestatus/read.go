package treestatus

import (
	"context"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// Query is what Read reads of a cluster.
type Query = ownertree.Query

// Tree is an owner tree, and how its objects are.
type Tree struct {
	// Layout is what ownertree.Read returns; its Incomplete has what could not be read for the status, too.
	*ownertree.Layout
	// Tops has a StatusNode for each of Layout.Branches: see Walk.
	Tops []*StatusNode
}

// Read reads the trees of a query from a cluster, how their objects are, and why: ownertree.Read, ReadFacts, Find and
// RollUp in one call, with the errors of ownertree.Read.
func Read(ctx context.Context, config *rest.Config, q Query) (*Tree, error) {
	layout, err := ownertree.Read(ctx, config, q)
	if err != nil {
		return nil, err
	}
	reader, err := cluster.NewReader(config)
	if err != nil {
		return nil, err
	}
	facts, unread := ReadFacts(ctx, reader, layout.Graph, layout.Nodes, ReadOptions{})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	now := time.Now()
	found, err := Find(ctx, reader, layout.Graph, layout.Branches, facts, FindOptions{
		Related: q.Related, Relations: layout.Relations, Now: now,
	})
	if err != nil {
		return nil, err
	}
	facts, _ = facts.At(now)
	layout.Incomplete = cluster.SortIncomplete(slices.Concat(layout.Incomplete, unread, found.Incomplete))
	return &Tree{layout, RollUp(layout.Branches, layout.Graph, facts, found.Findings)}, nil
}
