package tree

import (
	"context"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// layout is what the second stage returns: the trees of what was asked for, in which every owner reference has been
// settled as far as it can be.
type layout struct {
	graph    *ownertree.Graph
	branches []*ownertree.Branch
	// nodes are the objects of the branches, each once.
	nodes []*ownertree.Node
	// relations are drawn in, with --related.
	relations []ownertree.Relation
	// incomplete is what could not be read, sorted.
	incomplete []cluster.Incomplete
}

// layOut lays out the objects asked for, and reads the owners that lists do not hold. The error is not nil only if ctx
// has ended.
func layOut(ctx context.Context, q *query, c *collected) (*layout, error) {
	o, reader, asked := q.options, q.cluster.Reader, c.asked
	if o.up {
		if err := c.graph.Ascend(ctx, reader, asked); err != nil {
			return nil, err
		}
	}
	if q.everything() {
		asked = c.graph.Roots()
	}
	l := &layout{graph: c.graph}
	l.branches = c.graph.Tree(asked, ownertree.TreeOptions{
		Depth: o.depth, Up: o.up, Down: o.down, Kinds: q.only, Exclude: q.without,
	})
	if q.everything() {
		l.branches = q.unmarked(l.branches)
	}
	var unrelated []cluster.Incomplete
	var err error
	if o.related {
		nodes := ownertree.NodesOf(l.branches)
		l.relations, unrelated, err = c.graph.Relate(ctx, reader, nodes, ownertree.RelateOptions{})
		if err != nil {
			return nil, err
		}
		ownertree.Related(l.branches, l.relations)
	}
	l.nodes = ownertree.NodesOf(l.branches)
	if err := c.graph.Confirm(ctx, reader, l.nodes); err != nil {
		return nil, err
	}
	c.graph.FindElsewhere(ctx, reader, l.nodes)
	deleting := slices.DeleteFunc(slices.Clone(l.nodes), func(n *ownertree.Node) bool { return n.Deleting == nil })
	unread, err := c.graph.ReadNamespaces(ctx, reader, deleting)
	if err != nil {
		return nil, err
	}
	l.incomplete = cluster.SortIncomplete(slices.Concat(c.graph.Incomplete(), unrelated, unread))
	return l, nil
}

// unmarked takes back the marks of what was asked for: of everything, no object was. Kinds that are not to be shown go.
func (q *query) unmarked(branches []*ownertree.Branch) []*ownertree.Branch {
	var out []*ownertree.Branch
	for _, b := range branches {
		b.Asked = false
		if q.hides(b.Node) {
			out = append(out, q.unmarked(b.Children)...)
			continue
		}
		b.Children = q.unmarked(b.Children)
		out = append(out, b)
	}
	return out
}

func (q *query) hides(n *ownertree.Node) bool {
	return q.only != nil && !q.only(*n.Kind) || q.without != nil && q.without(*n.Kind)
}
