package ownertree

import (
	"maps"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// TreeOptions say how much of a graph a tree shows.
type TreeOptions struct {
	// Depth is how many levels below the objects asked for are shown; 0 means all.
	Depth int
	// Up shows the owners above, Down the dependents below. Without both only the objects themselves are shown.
	Up, Down bool
	// Kinds and Exclude say which kinds are shown; nil shows all, and excludes none. An object that is not shown gives
	// its place to its dependents. The objects asked for are always shown.
	Kinds, Exclude func(cluster.Kind) bool
}

// shows reports whether the object's kind is shown.
func (o *TreeOptions) shows(n *Node) bool {
	return (o.Kinds == nil || o.Kinds(*n.Kind)) && (o.Exclude == nil || !o.Exclude(*n.Kind))
}

// Branch is an object in a tree, and what is drawn below it. Branches may be nested as deeply as objects own each
// other, which is as deep as any user with rights to create objects likes.
type Branch struct {
	Node *Node
	// Asked is true for the objects that the tree was asked for.
	Asked bool
	// Via is the reference to the owner above, which is not the branch above if one between is not shown; nil at the
	// top.
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
	// Relation is how the object is related to the branch above if that does not own it: a Service "selects" the pod
	// above, a ConfigMap is "mounted by" it. Empty for owners. See Related.
	Relation string
	// Missing means that the object above refers to this one, and that it is not there; only with Relation.
	Missing bool
}

// Tree lays out the objects asked for: above them their owners, if Up; below them their dependents, if Down. It returns
// the tops, sorted. Each object is drawn in full once; where it comes again it is Repeated or Cycle.
//
// Below an owner on the way to an object asked for, the other dependents are shown too, without what they own, if the
// graph Covers the owner and Down is set; else only the way.
func (g *Graph) Tree(asked []*Node, o TreeOptions) []*Branch {
	p := g.plan(asked, o)
	d := &drawer{plan: p, drawn: map[*Node]bool{}, above: map[*Node]bool{}}
	var out []*Branch
	for _, top := range p.tops() {
		out = append(out, d.draw(top))
	}
	return out
}

// NodesOf returns the objects of trees, each once, in the order in which they are first drawn.
func NodesOf(branches []*Branch) []*Node {
	var out []*Node
	seen := map[*Node]bool{}
	stack := slices.Clone(branches)
	slices.Reverse(stack)
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !seen[b.Node] {
			seen[b.Node] = true
			out = append(out, b.Node)
		}
		for _, child := range slices.Backward(b.Children) {
			stack = append(stack, child)
		}
	}
	return out
}

// drawer draws a plan. Every node below one is on an explicit stack: see Branch.
type drawer struct {
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
func (l *drawer) draw(top *Node) *Branch {
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
func (l *drawer) enter(stack []drawing, b *Branch) []drawing {
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
	return slices.SortedFunc(maps.Keys(set), (*Node).Compare)
}

// plan is which nodes a tree shows.
type plan struct {
	graph   *Graph
	options TreeOptions
	asked   map[*Node]bool
	order   []*Node // those asked for, sorted, each once
	// way holds what owns, directly or not, something asked for.
	way map[*Node]bool
	// level is how far below the nearest object asked for a node is, counting what is shown.
	level map[*Node]int
}

func (g *Graph) plan(asked []*Node, o TreeOptions) *plan {
	p := &plan{graph: g, options: o, asked: map[*Node]bool{}, way: map[*Node]bool{}, level: map[*Node]int{}}
	for _, n := range asked {
		p.asked[n] = true
	}
	p.order = sorted(p.asked)
	if o.Up {
		p.up()
	}
	p.down()
	return p
}

// up finds the way.
func (p *plan) up() {
	next := append([]*Node{}, p.order...)
	for len(next) > 0 {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		for i := range n.Owners {
			if owner := n.Owners[i].Node; owner != nil && !p.way[owner] {
				p.way[owner] = true
				next = append(next, owner)
			}
		}
	}
}

// down finds the levels, one after the other. What is not shown is on the level of its owner.
func (p *plan) down() {
	current := p.order
	for _, n := range current {
		p.level[n] = 0
	}
	for level := 0; p.options.Down && len(current) > 0; level++ {
		var below []*Node
		for i := 0; i < len(current); i++ {
			for _, d := range current[i].Dependents {
				if _, known := p.level[d]; known {
					continue
				}
				switch {
				case !p.visible(d):
					p.level[d] = level
					current = append(current, d)
				case p.options.Depth == 0 || level < p.options.Depth:
					p.level[d] = level + 1
					below = append(below, d)
				}
			}
		}
		current = below
	}
}

// visible reports whether the object is shown.
func (p *plan) visible(n *Node) bool {
	return p.asked[n] || p.options.shows(n)
}

// shows reports whether the node is on the way, or below it, rather than only beside it.
func (p *plan) shows(n *Node) bool {
	_, below := p.level[n]
	return below || p.way[n]
}

// tops are where the trees begin.
func (p *plan) tops() []*Node {
	others := maps.Clone(p.way)
	for n := range p.level {
		others[n] = true
	}
	maps.DeleteFunc(others, func(n *Node, _ bool) bool { return p.asked[n] })
	// Of a circle it shall be one that was asked for, if it can: so those come first.
	nodes := slices.Concat(p.order, sorted(others))
	top := map[*Node]bool{}
	for _, n := range sources(nodes, func(n *Node) []*Node { return n.Dependents }) {
		if p.visible(n) {
			top[n] = true
			continue
		}
		links, _ := p.children(n)
		for _, l := range links {
			top[l.node] = true
		}
	}
	return sorted(top)
}

// children returns what is drawn below the node, sorted, and how many dependents are not because that is too deep. In
// the place of one that is not shown is what it owns.
func (p *plan) children(n *Node) ([]link, int) {
	var out []link
	truncated := 0
	seen := map[*Node]bool{}
	owners := []*Node{n}
	for i := 0; i < len(owners); i++ {
		owner := owners[i]
		for _, d := range owner.Dependents {
			if seen[d] {
				continue
			}
			switch drawn, deep := p.draws(owner, d); {
			case !drawn && deep:
				truncated++
			case !drawn:
				continue
			case !p.visible(d):
				owners = append(owners, d)
			default:
				out = append(out, link{d, d.owner(owner)})
			}
			seen[d] = true
		}
	}
	if len(owners) > 1 {
		sortLinks(out)
	}
	return out, truncated
}

// draws reports whether a dependent is drawn below its owner, and if not, whether only the depth forbids it.
func (p *plan) draws(owner, d *Node) (drawn, deep bool) {
	if p.shows(d) {
		return true, false
	}
	if _, below := p.level[owner]; below && p.options.Down {
		return false, true
	}
	return p.options.Down && p.graph.Covers(owner), false
}

func sortLinks(links []link) {
	slices.SortFunc(links, func(a, b link) int { return a.node.Compare(b.node) })
}

// sources returns the nodes that reach all others over next, in the order given: those that no other node leads to, and
// one of each circle that nothing outside leads to. What next leads to outside of nodes does not count. It takes time
// and memory in proportion to the links, and no stack, for circles and chains of any length come from outside.
func sources(nodes []*Node, next func(*Node) []*Node) []*Node {
	within := make(map[*Node]bool, len(nodes)) // true if another node leads to it
	for _, n := range nodes {
		within[n] = false
	}
	for _, n := range nodes {
		for _, below := range next(n) {
			if _, ok := within[below]; ok {
				within[below] = true
			}
		}
	}
	reached := make(map[*Node]bool, len(nodes))
	top := map[*Node]bool{}
	mark := func(n *Node) {
		top[n] = true
		walk(n, within, reached, next, nil)
	}
	for _, n := range nodes {
		if !within[n] {
			mark(n)
		}
	}
	for _, n := range lastFirst(nodes, within, reached, next) {
		if !reached[n] {
			mark(n)
		}
	}
	var out []*Node
	for _, n := range nodes {
		if top[n] {
			out = append(out, n)
		}
	}
	return out
}

// lastFirst orders the nodes not reached by when a depth-first walk leaves them, the last first. The first of that
// order leads to every node that nothing outside of its circle leads to; so does, of the rest, the next.
func lastFirst(nodes []*Node, within, reached map[*Node]bool, next func(*Node) []*Node) []*Node {
	var order []*Node
	visited := map[*Node]bool{}
	for _, n := range nodes {
		if !reached[n] {
			walk(n, within, visited, next, func(left *Node) { order = append(order, left) })
		}
	}
	for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// walk visits what is within and not visited, from start on, depth first; leave is called with each node when all below
// it has been visited.
func walk(start *Node, within, visited map[*Node]bool, next func(*Node) []*Node, leave func(*Node)) {
	if visited[start] {
		return
	}
	type frame struct {
		node *Node
		left []*Node
	}
	visited[start] = true
	stack := []frame{{start, next(start)}}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if len(f.left) == 0 {
			if leave != nil {
				leave(f.node)
			}
			stack = stack[:len(stack)-1]
			continue
		}
		below := f.left[0]
		f.left = f.left[1:]
		if _, ok := within[below]; ok && !visited[below] {
			visited[below] = true
			stack = append(stack, frame{below, next(below)})
		}
	}
}
