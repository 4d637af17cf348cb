package ownertree

import (
	"slices"
)

// holding finds out which deletions of a preview would not come to an end.
type holding struct {
	graph    *Graph
	after    *futures
	contents map[*Node][]*Node // of namespaces and definitions that would be deleted
	// stuck are the nodes that would not go by themselves, late those that nobody would delete before a stuck one has gone.
	stuck, late map[*Node]bool
	// users are the pods that would stay, by namespace.
	users map[string][]*Node
}

// tell fills in the lists of a preview about what would not go at once, in the order of Deleted.
func (h *holding) tell(p *Preview) {
	h.findStuck(p.Deleted)
	h.findLate(p.Deleted)
	h.findUsers()
	for _, n := range p.Deleted {
		hold := Hold{
			Node: n, Finalizers: n.foreignFinalizers(), Releases: h.releases(n, p), Dependents: h.awaited(n), Undiscovered: h.graph.undiscovered(n),
		}
		switch {
		case len(hold.Finalizers)+len(hold.Dependents)+len(hold.Undiscovered) > 0:
			p.Held = append(p.Held, hold)
		case len(hold.Releases) > 0:
			p.Waits = append(p.Waits, hold)
		}
		if h.late[n] {
			p.Late = append(p.Late, n)
		}
	}
}

// findStuck finds those with a finalizer of somebody's, those that the garbage collector leaves alone, and, from these on,
// whoever waits for them.
func (h *holding) findStuck(deleted []*Node) {
	h.stuck = map[*Node]bool{}
	var next []*Node
	add := func(n *Node) {
		if !h.stuck[n] {
			h.stuck[n] = true
			next = append(next, n)
		}
	}
	for _, n := range deleted {
		if len(n.foreignFinalizers()) > 0 || len(h.graph.undiscovered(n)) > 0 {
			add(n)
		}
		for _, d := range h.waitsFor(n) {
			if h.stays(d) {
				add(d)
			}
		}
	}
	waiters := h.waiters(deleted)
	for len(next) > 0 {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		for _, waiter := range waiters[n] {
			add(waiter)
		}
	}
}

// findLate finds what the garbage collector keeps for an owner that is stuck, or is itself kept so. An owner that waits for its
// dependents keeps none once it is being deleted; what somebody deletes does not wait for its owners.
func (h *holding) findLate(deleted []*Node) {
	h.late = map[*Node]bool{}
	next := slices.Clone(deleted)
	for len(next) > 0 {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		keeps := h.late[n] || h.stuck[n] && (h.after.going[n] == vanishing || h.hurries(n))
		for _, d := range n.Dependents {
			if _, asked := h.after.assumed[d]; keeps && !asked && !h.late[d] && d.Deleting == nil && h.after.going[d] != staying {
				h.late[d] = true
				next = append(next, d)
			}
		}
	}
}

// hurries says whether an owner that is to wait for its dependents has none that block it, so that it stops waiting at once,
// whether the garbage collector has come to its dependents or not.
func (h *holding) hurries(n *Node) bool {
	return h.after.going[n] == waiting && len(h.graph.Blocking(n)) == 0
}

// findUsers finds the pods that would stay, or hang.
func (h *holding) findUsers() {
	h.users = map[string][]*Node{}
	for _, n := range h.graph.nodes {
		if n.Kind.GroupKind().String() == "Pod" && (h.after.going[n] == staying || h.stuck[n] || h.late[n]) {
			h.users[n.Namespace] = append(h.users[n.Namespace], n)
		}
	}
}

// releases are the finalizers of a node that Kubernetes itself removes, and whether the deletion lets it do so. The garbage
// collector's own are left out: what they wait for is told as dependents.
func (h *holding) releases(n *Node, p *Preview) []Release {
	var out []Release
	for _, r := range n.releases() {
		if isCollectors(r.Finalizer) {
			continue
		}
		if r.usedByPods() {
			r.Users = h.users[n.Namespace]
			r.Certain = len(r.Users) == 0 && h.graph.Covers(n) && !p.lacksPods(n.Namespace)
		}
		out = append(out, r)
	}
	return out
}

// lacksPods says whether pods of the namespace could not be read.
func (p *Preview) lacksPods(namespace string) bool {
	for _, i := range p.Incomplete {
		if i.Group == "" && (i.Resource == "pods" || i.Resource == "") && (i.Namespace == "" || i.Namespace == namespace) {
			return true
		}
	}
	return false
}

// waiters are the nodes that wait for each node.
func (h *holding) waiters(deleted []*Node) map[*Node][]*Node {
	out := map[*Node][]*Node{}
	for _, n := range deleted {
		for _, d := range h.waitsFor(n) {
			out[d] = append(out[d], n)
		}
	}
	return out
}

// waitsFor are what must be gone before the node goes: the dependents that block a foreground deletion, and what is in a
// namespace or of a kind.
func (h *holding) waitsFor(n *Node) []*Node {
	if h.after.going[n] != waiting {
		return h.contents[n]
	}
	return slices.Concat(h.contents[n], h.graph.Blocking(n))
}

// awaited are those of them that would not go by themselves, sorted.
func (h *holding) awaited(n *Node) []*Node {
	var out []*Node
	for _, d := range h.waitsFor(n) {
		if h.stuck[d] && d != n {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, (*Node).Compare)
	return slices.Compact(out)
}

// stays says whether a dependent would keep its reference to an owner that waits for it: one that loses it, or goes, holds
// up nothing.
func (h *holding) stays(n *Node) bool {
	if h.after.going[n] != staying {
		return n.Deleting != nil && len(n.foreignFinalizers()) > 0
	}
	action := h.after.fate(n).Action
	return action == NeverCollected || action == FateUnknown || action == Kept
}
