package ownertree

import (
	"cmp"
	"slices"
)

// Related draws relations into trees that Graph.Tree has laid out: below an object what it uses and what uses it, after what it
// owns, and below that what follows in the same direction. An object is drawn in full once; where it comes again it is
// Repeated, if something is below it there. What is optional and not there is left out. The branches are changed.
func Related(tops []*Branch, relations []Relation) {
	r := &relatedLayout{ends: map[*Node][]relationEnd{}, drawn: map[*Node]*Branch{}}
	for _, relation := range relations {
		if relation.Missing && relation.Optional {
			continue
		}
		r.ends[relation.From] = append(r.ends[relation.From], relationEnd{relation.To, uses, relation.Inverse, relation.Missing})
		r.ends[relation.To] = append(r.ends[relation.To], relationEnd{relation.From, usedBy, relation.Type, false})
	}
	branches := inFull(tops)
	for _, b := range branches {
		r.drawn[b.Node] = b
	}
	for _, b := range branches {
		r.attach(b, nil, uses, usedBy)
	}
}

// inFull are the branches below which something may be drawn, each after those that it owns: there what they are
// related to is drawn.
func inFull(tops []*Branch) []*Branch {
	var out []*Branch // the last first
	next := slices.Clone(tops)
	for len(next) > 0 {
		b := next[len(next)-1]
		next = next[:len(next)-1]
		if !b.Repeated && !b.Cycle && !b.Beside {
			out = append(out, b)
		}
		next = append(next, b.Children...)
	}
	slices.Reverse(out)
	return out
}

// relationEnd is a relation as one of the two sees it.
type relationEnd struct {
	other   *Node
	way     direction
	word    string // what the other does, or is done to
	missing bool
}

func (t relationEnd) compare(other relationEnd) int {
	return cmp.Or(cmp.Compare(t.way, other.way), cmp.Compare(t.word, other.word), t.other.Compare(other.other))
}

type relatedLayout struct {
	ends  map[*Node][]relationEnd
	drawn map[*Node]*Branch // in full
}

// attach draws what the object is tied to in these directions, but the one that it is drawn below.
func (r *relatedLayout) attach(b *Branch, above *Node, ways ...direction) {
	ties := slices.Clone(r.ends[b.Node])
	slices.SortFunc(ties, relationEnd.compare)
	for _, t := range ties {
		if !slices.Contains(ways, t.way) || t.other == above {
			continue
		}
		child := &Branch{Node: t.other, Relation: t.word, Missing: t.missing}
		b.Children = append(b.Children, child)
		if full := r.drawn[t.other]; full != nil {
			child.Repeated = len(full.Children) > 0
			continue
		}
		r.drawn[t.other] = child
		r.attach(child, b.Node, t.way)
	}
}
