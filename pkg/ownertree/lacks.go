package ownertree

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Lack is something that an object needs and that is not there.
type Lack struct {
	// Object is what is not there: only its kind, namespace and name are known.
	Object *Node
	// NamedBy is what names it: the object itself, or something that it needs.
	NamedBy *Node
}

// Lacks finds, of each of the nodes, what it needs and is not there: the objects of Missing relations to which the node
// leads by relations that are Needed, sorted.
func Lacks(nodes []*Node, relations []Relation) map[*Node][]Lack {
	uses := map[*Node][]Relation{}
	for _, r := range relations {
		uses[r.From] = append(uses[r.From], r)
	}
	out := map[*Node][]Lack{}
	for _, n := range nodes {
		seen, next := map[*Node]bool{n: true}, []*Node{n}
		for len(next) > 0 {
			from := next[0]
			next = next[1:]
			for _, r := range uses[from] {
				if seen[r.To] || !r.Needed {
					continue
				}
				seen[r.To] = true
				if r.Missing {
					out[n] = append(out[n], Lack{r.To, r.From})
				} else {
					next = append(next, r.To)
				}
			}
		}
		slices.SortFunc(out[n], func(a, b Lack) int { return a.Object.Compare(b.Object) })
	}
	return out
}

// PodSelector returns a function that reports whether labels select a pod of a namespace; known is false if not all
// pods of the namespace have been read. It holds for the graph as it is now.
func (g *Graph) PodSelector() func(namespace string, selector map[string]string) (selects, known bool) {
	kind, served, err := g.kinds.Lookup(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	if err != nil || !served {
		return func(string, map[string]string) (bool, bool) { return false, false }
	}
	shared := g.share(kind)
	var in relationIndex // made when it is asked for
	return func(namespace string, selector map[string]string) (selects, known bool) {
		if !g.wasRead(objectKey{kind: shared, namespace: namespace}) {
			return false, false
		}
		if in == nil {
			in = newRelationIndex(slices.DeleteFunc(slices.Clone(g.nodes), func(n *Node) bool { return n.Kind != shared }))
		}
		match := &matcher{labels: labels.SelectorFromSet(selector)}
		ref := reference{to: shared.GroupKind(), namespace: namespace, match: match}
		return len(in.matching(&ref)) > 0, true
	}
}
