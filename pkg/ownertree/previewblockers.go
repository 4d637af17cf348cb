package ownertree

import (
	"maps"
	"slices"
)

// blockerSearch finds which deletions of a preview would not come to an end.
type blockerSearch struct {
	graph    *Graph
	after    *gcSimulation
	contents map[*Node][]*Node // of namespaces and definitions that would be deleted
	// stuck are the nodes that would not go by themselves, late those that are not deleted before a stuck one has gone.
	stuck, late map[*Node]bool
	// circular are those that may wait for each other: see DeletionBlockers.Perhaps.
	circular map[*Node]bool
	// users are the pods that would stay, by namespace.
	users map[string][]*Node
}

// fill fills in the lists of a preview about what would not go at once, in the order of Deleted.
func (h *blockerSearch) fill(p *Preview) {
	h.findStuck(p.Deleted)
	h.findLate(p.Deleted)
	h.findUsers()
	for _, n := range p.Deleted {
		blockers := DeletionBlockers{
			Node: n, Finalizers: n.foreignFinalizers(), Removals: h.removals(n, p), Dependents: h.stuckBelow(n),
			Undiscovered: h.graph.undiscovered(n), Perhaps: h.circular[n],
		}
		switch {
		case len(blockers.Finalizers)+len(blockers.Dependents)+len(blockers.Undiscovered) > 0:
			p.Blocked = append(p.Blocked, blockers)
		case len(blockers.Removals) > 0:
			p.Waits = append(p.Waits, blockers)
		}
		if h.late[n] {
			p.Late = append(p.Late, n)
		}
	}
}

// findStuck finds those with a finalizer that Kubernetes does not remove, those that the garbage collector leaves
// alone, those that own and block themselves, and, from these on, what waits for them.
func (h *blockerSearch) findStuck(deleted []*Node) {
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
			if d == n || h.stays(d) {
				add(d)
			}
		}
	}
	waiters := h.waiters(deleted)
	spread := func() {
		for len(next) > 0 {
			n := next[len(next)-1]
			next = next[:len(next)-1]
			for _, waiter := range waiters[n] {
				add(waiter)
			}
		}
	}
	spread()
	certain := maps.Clone(h.stuck)
	for _, n := range h.circles() {
		add(n)
	}
	spread()
	h.circular = map[*Node]bool{}
	for n := range h.stuck {
		h.circular[n] = !certain[n]
	}
}

// circles are the nodes asked for, not stuck for another reason, that wait for each other in a circle, and those that
// wait for such. The garbage collector breaks a circle where it deletes a dependent itself (attemptToDeleteItem); of
// two that are both deleted in the foreground before it comes to the first, it deletes neither.
func (h *blockerSearch) circles() []*Node {
	left := map[*Node]int{} // how many of them each waits for
	waiters := map[*Node][]*Node{}
	for n, way := range h.after.assumed {
		if way == foreground && !h.stuck[n] {
			left[n] = 0
		}
	}
	for n := range left {
		for _, d := range h.graph.Blocking(n) {
			if _, too := left[d]; too {
				left[n]++
				waiters[d] = append(waiters[d], n)
			}
		}
	}
	var free []*Node
	for n, blocked := range left {
		if blocked == 0 {
			free = append(free, n)
		}
	}
	for len(free) > 0 {
		n := free[len(free)-1]
		free = free[:len(free)-1]
		delete(left, n)
		for _, waiter := range waiters[n] {
			if left[waiter]--; left[waiter] == 0 {
				free = append(free, waiter)
			}
		}
	}
	return sorted(left)
}

// findLate finds what the garbage collector keeps for an owner that is stuck, or is itself kept so. An owner that waits
// for its dependents keeps none once it is being deleted; what a user deletes does not wait for its owners.
func (h *blockerSearch) findLate(deleted []*Node) {
	h.late = map[*Node]bool{}
	next := slices.Clone(deleted)
	for len(next) > 0 {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		keeps := h.late[n] || h.stuck[n] && (h.after.going[n] == background || h.waitsForNone(n))
		if !keeps {
			continue
		}
		for _, d := range n.Dependents {
			_, asked := h.after.assumed[d]
			if !asked && !h.late[d] && d.Deleting == nil && h.after.going[d] != stays {
				h.late[d] = true
				next = append(next, d)
			}
		}
	}
}

// waitsForNone reports whether an owner that is to wait for its dependents has none that block it, so that it stops
// waiting at once, whether the garbage collector has reached its dependents or not.
func (h *blockerSearch) waitsForNone(n *Node) bool {
	return h.after.going[n] == foreground && len(h.graph.Blocking(n)) == 0
}

// findUsers finds the pods that would stay, or hang.
func (h *blockerSearch) findUsers() {
	h.users = map[string][]*Node{}
	for _, n := range h.graph.nodes {
		if n.Kind.GroupKind().String() == "Pod" && (h.after.going[n] == stays || h.stuck[n] || h.late[n]) {
			h.users[n.Namespace] = append(h.users[n.Namespace], n)
		}
	}
}

// removals are the finalizers of a node that Kubernetes itself removes, and whether the deletion lets it do so. The
// garbage collector's own are left out: what they wait for are dependents.
func (h *blockerSearch) removals(n *Node, p *Preview) []FinalizerRemoval {
	var out []FinalizerRemoval
	for _, r := range n.removals() {
		if isCollectorFinalizer(r.Finalizer) {
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

// lacksPods reports whether pods of the namespace could not be read.
func (p *Preview) lacksPods(namespace string) bool {
	for _, i := range p.Incomplete {
		ofPods := i.Group == "" && (i.Resource == "pods" || i.Resource == "")
		if ofPods && (i.Namespace == "" || i.Namespace == namespace) {
			return true
		}
	}
	return false
}

// waiters are the nodes that wait for each node.
func (h *blockerSearch) waiters(deleted []*Node) map[*Node][]*Node {
	out := map[*Node][]*Node{}
	for _, n := range deleted {
		for _, d := range h.waitsFor(n) {
			out[d] = append(out[d], n)
		}
	}
	return out
}

// waitsFor are what must be gone before the node goes: the dependents that block a foreground deletion, and what is in
// a namespace or of a kind.
func (h *blockerSearch) waitsFor(n *Node) []*Node {
	if h.after.going[n] != foreground {
		return h.contents[n]
	}
	return slices.Concat(h.contents[n], h.graph.Blocking(n))
}

// stuckBelow are those of them that would not go by themselves, sorted.
func (h *blockerSearch) stuckBelow(n *Node) []*Node {
	out := slices.SortedFunc(slices.Values(h.waitsFor(n)), (*Node).Compare)
	return slices.Compact(slices.DeleteFunc(out, func(d *Node) bool { return !h.stuck[d] }))
}

// stays reports whether a dependent would keep its reference to an owner that waits for it: one that loses it, or goes,
// holds up nothing.
func (h *blockerSearch) stays(n *Node) bool {
	if h.after.going[n] != stays {
		return n.Deleting != nil && len(n.foreignFinalizers()) > 0
	}
	action := h.after.outcome(n).Action
	return action == NeverCollected || action == GCUnknown || action == Kept
}
