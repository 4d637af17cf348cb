package ownertree

import "slices"

// plan says which nodes a tree shows.
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

// visible reports whether the object's kind is shown.
func (p *plan) visible(n *Node) bool {
	o := &p.options
	return p.asked[n] || (o.Kinds == nil || o.Kinds(*n.Kind)) && (o.Exclude == nil || !o.Exclude(*n.Kind))
}

// shows reports whether the node is on the way, or below it, rather than only beside it.
func (p *plan) shows(n *Node) bool {
	_, below := p.level[n]
	return below || p.way[n]
}

// tops are where the trees begin.
func (p *plan) tops() []*Node {
	all := make(map[*Node]bool, len(p.level)+len(p.way))
	for n := range p.level {
		all[n] = true
	}
	for n := range p.way {
		all[n] = true
	}
	// Of a circle it shall be one that was asked for, if it can: so those come first.
	nodes := append([]*Node{}, p.order...)
	for _, n := range sorted(all) {
		if !p.asked[n] {
			nodes = append(nodes, n)
		}
	}
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

// children returns what is drawn below the node, sorted, and how many dependents are not because that is too deep. In the
// place of one that is not shown is what it owns.
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
