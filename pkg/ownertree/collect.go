package ownertree

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Collect lists the metadata of what the scope says and links it. What could not be listed is in Graph.Incomplete; the error
// is not nil only if ctx has ended.
func Collect(ctx context.Context, reader *cluster.Reader, kinds *cluster.Kinds, scope Scope) (*Graph, error) {
	g := newGraph(kinds, scope)
	b := &builder{graph: g}
	missing, err := reader.ListMetadata(ctx, scope.targets(kinds), func(t cluster.Target, object *metav1.PartialObjectMetadata) {
		b.add(t.Kind, object)
	})
	if err != nil {
		return nil, fmt.Errorf("collecting objects: %w", err)
	}
	g.missing(missing)
	g.build(b.nodes)
	return g, nil
}

// pending notes what could not be listed.
func (g *Graph) missing(all []cluster.Incomplete) {
	g.incomplete = append(g.incomplete, all...)
	for _, i := range all {
		g.unread[unreadKey{schema.GroupResource{Group: i.Group, Resource: i.Resource}, i.Namespace}] = true
	}
}

// build links nodes that come in any order. Of two in one place the later one was read later.
func (g *Graph) build(nodes []*Node) {
	slices.SortStableFunc(nodes, func(a, b *Node) int {
		if a.Kind != b.Kind {
			return a.Kind.Compare(*b.Kind)
		}
		return compareNames(a, b)
	})
	g.nodes = make([]*Node, 0, len(nodes))
	g.at, g.uids = make(map[objectKey]*Node, len(nodes)), make(map[types.UID]*Node, len(nodes))
	for i, n := range nodes {
		if i+1 < len(nodes) && nodes[i+1].Kind == n.Kind && compareNames(n, nodes[i+1]) == 0 {
			continue
		}
		if g.insert(n) == n {
			g.nodes = append(g.nodes, n)
		}
	}
	for _, n := range g.nodes {
		g.judgeAll(n)
	}
}
