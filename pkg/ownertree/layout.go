package ownertree

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Query is what Read reads of a cluster. The zero value is all of it.
type Query struct {
	// Namespace is that of all objects asked for; empty for all of the cluster.
	Namespace string
	// Objects are those asked for, as kubectl takes them: "deploy/web" for one, "deploy" for all of its kind, "all" for
	// those of a category. If there are none, all objects are laid out.
	Objects []string
	// LayoutOptions with neither Up nor Down show what is below the objects, as with Down.
	LayoutOptions
}

// refs returns the objects asked for.
func (q *Query) refs(kinds *cluster.Kinds) ([]Ref, error) {
	var out []Ref
	for _, object := range q.Objects {
		typeName, name, named := strings.Cut(object, "/")
		if named && (name == "" || strings.Contains(name, "/")) {
			return nil, fmt.Errorf("%q has neither the form TYPE nor TYPE/NAME", object)
		}
		found, err := kinds.ResolveAll(typeName)
		if err != nil {
			return nil, err
		}
		if named && len(found) > 1 {
			return nil, fmt.Errorf("%q names an object of a category, which has several kinds", object)
		}
		for _, kind := range found {
			ref := Ref{Kind: kind, Name: name}
			if kind.Namespaced {
				ref.Namespace = q.Namespace
			}
			if kind.Namespaced && name != "" && q.Namespace == "" {
				return nil, fmt.Errorf("reading %q: it is in a namespace, and none is given", object)
			}
			out = append(out, ref)
		}
	}
	return out, nil
}

// Read reads the trees of a query from a cluster: cluster.Discover, Collect, Graph.Get and Graph.LayOut in one call.
// What could not be read is in Layout.Incomplete; an object that is asked for by name and cannot be read is an error,
// the server's, and a kind that is not served is a *cluster.UnknownKindError.
func Read(ctx context.Context, config *rest.Config, q Query) (*Layout, error) {
	reader, err := cluster.NewReader(config)
	if err != nil {
		return nil, err
	}
	kinds, err := cluster.Discover(ctx, config)
	if err != nil {
		return nil, err
	}
	objects, err := q.refs(kinds)
	if err != nil {
		return nil, err
	}
	q.Down = q.Down || !q.Up
	scope := ScopeOf(objects, q.Down)
	if q.Everything = q.Everything || len(objects) == 0; q.Everything {
		scope = Scope{}
		if q.Namespace != "" {
			scope.Namespaces = []string{q.Namespace}
		}
	}
	g, err := Collect(ctx, reader, kinds, scope)
	if err != nil {
		return nil, err
	}
	var asked []*Node
	for _, ref := range objects {
		if ref.Name == "" {
			asked = append(asked, slices.DeleteFunc(slices.Clone(g.nodes), func(n *Node) bool {
				elsewhere := ref.Namespace != "" && ref.Namespace != n.Namespace
				return elsewhere || n.Kind.GroupResource() != ref.Kind.GroupResource()
			})...)
			continue
		}
		n, err := g.Get(ctx, reader, ref)
		if err != nil {
			return nil, fmt.Errorf("reading %s/%s: %w", ref.Kind, ref.Name, err)
		}
		asked = append(asked, n)
	}
	return g.LayOut(ctx, reader, asked, q.LayoutOptions)
}

// LayoutOptions say what Graph.LayOut lays out.
type LayoutOptions struct {
	TreeOptions
	// Everything lays out all objects of the graph, from those that none of them owns, whatever was asked for. None is
	// marked as asked for then, and so a kind that TreeOptions leave out is not shown at all.
	Everything bool
	// Owners reads the owners of what was asked for, all the way up, also without Up, which shows them.
	Owners bool
	// Related draws in how objects are related in other ways than by ownership.
	Related bool
}

// Layout is trees in which every owner reference has been settled as far as it can be.
type Layout struct {
	Graph *Graph
	// Branches are the tops of the trees, sorted.
	Branches []*Branch
	// Nodes are the objects of the branches, each once, in the order in which they are first drawn.
	Nodes []*Node
	// Relations are those drawn in, with LayoutOptions.Related.
	Relations []Relation
	// Incomplete is what could not be read, sorted.
	Incomplete []cluster.Incomplete
}

// LayOut lays out the objects asked for, and reads what lists do not have of them: owners, in other namespaces, too,
// what delays the deletion of namespaces, and relations. It changes the graph as Confirm does. The error is not nil
// only if ctx has ended.
func (g *Graph) LayOut(
	ctx context.Context, reader *cluster.Reader, asked []*Node, o LayoutOptions,
) (*Layout, error) {
	if o.Everything {
		asked = g.nodes
	}
	if o.Up || o.Owners {
		if err := g.Ascend(ctx, reader, asked); err != nil {
			return nil, err
		}
	}
	if o.Everything {
		asked = g.Roots()
	}
	l := &Layout{Graph: g, Branches: g.Tree(asked, o.TreeOptions)}
	if o.Everything {
		l.Branches = o.unmarked(l.Branches)
	}
	var unrelated []cluster.Incomplete
	if o.Related {
		var err error
		l.Relations, unrelated, err = g.Relate(ctx, reader, NodesOf(l.Branches), RelateOptions{})
		if err != nil {
			return nil, err
		}
		Related(l.Branches, l.Relations)
	}
	l.Nodes = NodesOf(l.Branches)
	if err := g.Confirm(ctx, reader, l.Nodes); err != nil {
		return nil, err
	}
	g.FindElsewhere(ctx, reader, l.Nodes)
	deleting := slices.DeleteFunc(slices.Clone(l.Nodes), func(n *Node) bool { return n.Deleting == nil })
	unread, err := g.ReadNamespaces(ctx, reader, deleting)
	if err != nil {
		return nil, err
	}
	l.Incomplete = cluster.SortIncomplete(slices.Concat(g.Incomplete(), unrelated, unread))
	return l, nil
}

// unmarked takes back the marks of what was asked for, which is always shown, and so leaves out kinds once more.
func (o *TreeOptions) unmarked(branches []*Branch) []*Branch {
	var out []*Branch
	for _, b := range branches {
		b.Asked = false
		if !o.shows(b.Node) {
			out = append(out, o.unmarked(b.Children)...)
			continue
		}
		b.Children = o.unmarked(b.Children)
		out = append(out, b)
	}
	return out
}
