package ownertree

import (
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// TreeOptions say how much of a graph a tree shows.
type TreeOptions struct {
	// Depth is how many levels below the objects asked for are shown; 0 means all.
	Depth int
	// Up shows the owners above, Down the dependents below. Without both only the objects themselves are shown.
	Up, Down bool
	// Kinds and Exclude say which kinds are shown; nil shows all, and excludes none. An object that is not shown gives its
	// place to its dependents. The objects asked for are always shown.
	Kinds, Exclude func(cluster.Kind) bool
}

// Branch is a place in a tree: an object, and what is drawn below it. Branches may be nested as deeply as objects own each
// other, which is as deep as anybody with rights to create objects likes.
type Branch struct {
	Node *Node
	// Asked is true for the objects that the tree was asked for.
	Asked bool
	// Via is the reference to the owner above, which is not the branch above if one between is not shown; nil at the top.
	Via *Owner
	// Children are sorted by kind, namespace and name.
	Children []*Branch
	// Repeated means that the object is drawn elsewhere, earlier, with what is below it.
	Repeated bool
	// Cycle means that the object is one of those above: it owns itself in a circle.
	Cycle bool
	// Beside means that the object is only shown because its owner is on the way to one asked for; what it owns is not.
	Beside bool
	// Truncated is how many dependents are not shown because of TreeOptions.Depth.
	Truncated int
	// Relation says how the object belongs to the branch above if that does not own it: a Service "selects" the pod above, a
	// ConfigMap is "mounted by" it. Empty for owners. See Related.
	Relation string
	// Missing means that the object above refers to this one, and that it is not there; only with Relation.
	Missing bool
}

// Tree lays out the objects asked for: above them their owners, if Up; below them their dependents, if Down. It returns the
// tops, sorted. Each object is drawn in full once; where it comes again it is Repeated or Cycle.
//
// Below an owner on the way to an object asked for, the other dependents are shown too, without what they own, if the graph
// Covers the owner and Down is set; else only the way.
func (g *Graph) Tree(asked []*Node, o TreeOptions) []*Branch {
	p := g.plan(asked, o)
	l := &layout{plan: p, drawn: map[*Node]bool{}, above: map[*Node]bool{}}
	var out []*Branch
	for _, top := range p.tops() {
		out = append(out, l.draw(top))
	}
	return out
}

// layout draws a plan. Every node below one is on an explicit stack: see Branch.
type layout struct {
	*plan
	drawn map[*Node]bool
	above map[*Node]bool // from the top to where the drawing is
}

type drawing struct {
	branch *Branch
	left   []link
}

// link is a node and the reference by which it came.
type link struct {
	node *Node
	via  *Owner
}

// draw draws everything from top on.
func (l *layout) draw(top *Node) *Branch {
	root := &Branch{Node: top}
	stack := l.enter(nil, root)
	for len(stack) > 0 {
		d := &stack[len(stack)-1]
		if len(d.left) == 0 {
			delete(l.above, d.branch.Node)
			stack = stack[:len(stack)-1]
			continue
		}
		next := d.left[0]
		d.left = d.left[1:]
		child := &Branch{Node: next.node, Via: next.via}
		d.branch.Children = append(d.branch.Children, child)
		stack = l.enter(stack, child)
	}
	return root
}

// enter fills in the branch, and puts it on the stack if something is to be drawn below it.
func (l *layout) enter(stack []drawing, b *Branch) []drawing {
	b.Asked = l.asked[b.Node]
	b.Beside = !l.shows(b.Node)
	if b.Beside {
		return stack
	}
	children, truncated := l.children(b.Node)
	b.Truncated = truncated
	switch {
	case l.above[b.Node]:
		b.Cycle, b.Truncated = true, 0
	case len(children) == 0:
	case l.drawn[b.Node]:
		b.Repeated, b.Truncated = true, 0
	default:
		l.drawn[b.Node], l.above[b.Node] = true, true
		return append(stack, drawing{b, children})
	}
	return stack
}

// sorted returns the nodes of a set in their order.
func sorted[V any](set map[*Node]V) []*Node {
	out := make([]*Node, 0, len(set))
	for n := range set {
		out = append(out, n)
	}
	slices.SortFunc(out, (*Node).Compare)
	return out
}
