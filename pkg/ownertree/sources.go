package ownertree

// sources returns the nodes that reach all others over next, in the order given: those that no other node leads to, and one
// of each circle that nothing outside leads to. What next leads to outside of nodes does not count. It takes time and memory
// in proportion to the links, and no stack, for circles and chains of any length come from outside.
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

// lastFirst orders the nodes not reached by when a depth-first walk leaves them, the last first. The first of that order
// leads to every node that nothing outside of its circle leads to; so does, of the rest, the next.
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

// walk visits what is within and not visited, from start on, depth first; leave is called with each node when all below it
// has been visited.
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
