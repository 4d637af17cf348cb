package ownertree

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// deletionMode is how an object goes.
type deletionMode int

const (
	stays      deletionMode = iota
	background              // and its dependents then refer to nothing
	foreground              // for its dependents to go first
	orphan                  // after its dependents have lost their references to it
)

// gcSimulation is how the nodes of a graph will be deleted, if they will. It does not change once made.
type gcSimulation struct {
	graph *Graph
	going map[*Node]deletionMode
	// assumed are nodes of which it is given how they go, or that they stay: see Graph.DeletePreview.
	assumed map[*Node]deletionMode
}

// ownerSummary are the references of a node as classifyReferences of the garbage collector sorts them, when all is over
// that happens to the owners.
type ownerSummary struct {
	// solid, unknown and stuck are the first reference of the sort; nil if there is none.
	solid, unknown, stuck *Owner
	lost, orphaned        []*Owner
	// waited reports that an owner waits for the node to go, and that no other owner keeps it as long as that exists.
	waited bool
}

// simulateGC works out who goes.
func (g *Graph) simulateGC() *gcSimulation {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.simulation == nil {
		g.simulation = g.assume(nil)
	}
	return g.simulation
}

// assume works out who goes if these do, or stay. It begins with who is being deleted, or whose owners are not there,
// and follows the dependents; each is judged again only when one of its owners has turned out to go.
func (g *Graph) assume(assumed map[*Node]deletionMode) *gcSimulation {
	f := &gcSimulation{graph: g, going: map[*Node]deletionMode{}, assumed: assumed}
	var next []*Node
	for _, n := range slices.Backward(g.nodes) {
		if _, known := assumed[n]; known || n.Deleting != nil || len(n.Owners) > 0 {
			next = append(next, n)
		}
	}
	for len(next) > 0 {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		if f.going[n] != stays {
			continue
		}
		if way := f.way(n); way != stays {
			f.going[n] = way
			next = append(next, n.Dependents...)
		}
	}
	return f
}

// way is how the node goes, if it does.
func (f *gcSimulation) way(n *Node) deletionMode {
	if way, given := f.assumed[n]; given {
		return way
	}
	switch {
	case n.orphans():
		return orphan
	case n.waits():
		return foreground
	case n.Deleting != nil:
		return background
	}
	outcome := f.outcome(n)
	if !outcome.Action.goes() {
		return stays
	}
	switch outcome.Policy {
	case metav1.DeletePropagationOrphan:
		return orphan
	case metav1.DeletePropagationForeground:
		return foreground
	default:
		return background
	}
}

func (f *gcSimulation) summarize(n *Node) ownerSummary {
	var p ownerSummary
	for i := range n.Owners {
		o := &n.Owners[i]
		switch {
		case o.Impossible || o.Verdict == UnmappableKind:
			p.stuck = firstOf(p.stuck, o)
		case o.Dangling():
			p.lost = append(p.lost, o)
		case o.Node == nil:
			p.unknown = firstOf(p.unknown, o)
		case f.going[o.Node] == orphan:
			p.orphaned = append(p.orphaned, o)
		case f.going[o.Node] != stays:
			p.waited = p.waited || f.going[o.Node] == foreground
			p.lost = append(p.lost, o)
		default:
			p.solid = firstOf(p.solid, o)
		}
	}
	// An owner that is being deleted, and still there, is solid: the reference to the one that waits is taken away.
	p.waited = p.waited && !slices.ContainsFunc(p.lost, func(o *Owner) bool {
		return o.Node != nil && o.Node.Deleting != nil && f.going[o.Node] == background
	})
	return p
}

func firstOf(known, o *Owner) *Owner {
	if known != nil {
		return known
	}
	return o
}

// first is the reference to name in explanations.
func (p *ownerSummary) first() *Owner { return slices.Concat(p.lost, p.orphaned)[0] }

// stripped are the references that go. They are taken away by uid, and so others with the same uid go with them.
func stripped(n *Node, lost []*Owner) []metav1.OwnerReference {
	uids := map[types.UID]bool{}
	for _, o := range lost {
		uids[o.UID] = true
	}
	var out []metav1.OwnerReference
	for i := range n.Owners {
		if uids[n.Owners[i].UID] {
			out = append(out, n.Owners[i].OwnerReference)
		}
	}
	return out
}
