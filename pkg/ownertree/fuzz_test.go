package ownertree

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// FuzzGraph makes a graph of any references, circles, strangers and doubles among them. Everything ends, no node is
// drawn in full twice, and what is asked for is drawn.
func FuzzGraph(f *testing.F) {
	f.Add([]byte{0, 1, 1, 0, 2, 2}, uint8(0))
	f.Add([]byte{0, 0, 0, 0}, uint8(1))
	f.Add([]byte{5, 4, 3, 2, 1, 0, 9, 9, 9, 255, 254, 7, 7}, uint8(7))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 0}, uint8(3))
	f.Fuzz(func(t *testing.T, links []byte, options uint8) {
		if len(links) > 400 {
			return
		}
		g := sketch(t, Scope{}, lines(links)...)
		o := TreeOptions{Up: options&1 > 0, Down: options&2 > 0, Depth: int(options >> 6)}
		if options&4 > 0 {
			o.Exclude = func(k cluster.Kind) bool { return k.Kind == "A" }
		}
		var asked []*Node
		for i, n := range g.Nodes() {
			if i%3 == int(options>>4)%3 {
				asked = append(asked, n)
			}
		}
		checkTree(t, g.Tree(asked, o), asked)
		checkTree(t, g.Tree(g.Roots(), TreeOptions{Up: true, Down: true}), g.Nodes()) // the forest has all
		for _, n := range g.Nodes() {
			g.GCOutcome(n)
			g.Blockers(n)
		}
	})
}

// lines makes six objects of three kinds in two namespaces, with few uids, and each byte a reference of one.
func lines(links []byte) []string {
	const objects = 20
	var out []string
	for i := range objects {
		kind, namespace := "A", "n/"
		switch i % 5 {
		case 1:
			kind = "B"
		case 2:
			kind, namespace = "C", ""
		case 3:
			namespace = "m/"
		}
		uid := types.UID(fmt.Sprintf(":u%d", i%18)) // some are the same
		if i == 7 {
			uid = ":"
		}
		line := fmt.Sprintf("%s %so%d%s", kind, namespace, i, uid)
		if i%6 == 5 {
			line += " deleting finalizer=" + []string{"orphan", "foregroundDeletion", "x"}[i%3]
		}
		for j := i; j < len(links); j += objects {
			line += fmt.Sprintf(" %s/o%d:u%d", []string{"A", "B", "C", "Nothing", "Lost"}[links[j]%5], links[j]%objects, links[j]%18)
		}
		out = append(out, line)
	}
	return out
}

func checkTree(t *testing.T, tops []*Branch, wanted []*Node) {
	t.Helper()
	full, seen := map[*Node]int{}, map[*Node]bool{}
	stack := append([]*Branch{}, tops...)
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		seen[b.Node] = true
		if len(b.Children) > 0 {
			full[b.Node]++
		}
		if full[b.Node] > 1 || (b.Cycle || b.Repeated || b.Beside) && len(b.Children) > 0 {
			t.Fatalf("%s is drawn in full where it should not", b.Node)
		}
		stack = append(stack, b.Children...)
	}
	for _, n := range wanted {
		if !seen[n] {
			t.Errorf("%s is not drawn", n)
		}
	}
}
