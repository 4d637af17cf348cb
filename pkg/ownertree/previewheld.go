package ownertree

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// holding finds out which deletions of a preview would not come to an end.
type holding struct {
	graph    *Graph
	after    *futures
	contents map[*Node][]*Node // of namespaces and definitions that would be deleted
}

// held returns those of the nodes that something would hold up, in their order.
func (h *holding) held(deleted []*Node) []Hold {
	stuck := h.stuck(deleted)
	var out []Hold
	for _, n := range deleted {
		hold := Hold{Node: n, Finalizers: foreignFinalizers(n), Dependents: h.awaited(n, stuck)}
		if len(hold.Finalizers) > 0 || len(hold.Dependents) > 0 {
			out = append(out, hold)
		}
	}
	return out
}

// stuck are the nodes that would not go by themselves: those with a finalizer of somebody's, those that the garbage
// collector leaves alone, and, from these on, whoever waits for them.
func (h *holding) stuck(deleted []*Node) map[*Node]bool {
	stuck := map[*Node]bool{}
	var next []*Node
	add := func(n *Node) {
		if !stuck[n] {
			stuck[n] = true
			next = append(next, n)
		}
	}
	for _, n := range deleted {
		if len(foreignFinalizers(n)) > 0 {
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
	return stuck
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
func (h *holding) awaited(n *Node, stuck map[*Node]bool) []*Node {
	var out []*Node
	for _, d := range h.waitsFor(n) {
		if stuck[d] && d != n {
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
		return n.Deleting != nil && len(foreignFinalizers(n)) > 0
	}
	action := h.after.fate(n).Action
	return action == NeverCollected || action == FateUnknown || action == Kept
}

// foreignFinalizers are those that the garbage collector does not remove.
func foreignFinalizers(n *Node) []string {
	var out []string
	for _, f := range n.Finalizers {
		if f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents {
			out = append(out, f)
		}
	}
	return out
}
