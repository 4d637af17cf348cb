package tree

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/diagram"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// diagramMaker draws what a tree draws, each object once.
type diagramMaker struct {
	items     itemMaker
	out       diagram.Graph
	boxes     map[*ownertree.Node]int
	missing   map[types.UID]int
	arrows    map[diagram.Arrow]bool
	relations map[relationKey]relationArrow
}

// relationKey is how a relation is drawn in a tree: an object, and what it does or is done to it by the one above.
type relationKey struct {
	node *ownertree.Node
	word string
}

// relationArrow is how it is drawn in a picture: always from what uses something to that.
type relationArrow struct {
	label    string
	reversed bool
}

// newDiagram is the tree for programs that draw.
func newDiagram(items itemMaker, rows []*row, relations []ownertree.Relation) diagram.Graph {
	m := &diagramMaker{
		items: items, boxes: map[*ownertree.Node]int{}, missing: map[types.UID]int{},
		arrows: map[diagram.Arrow]bool{}, relations: map[relationKey]relationArrow{},
	}
	for _, r := range relations {
		m.relations[relationKey{r.To, r.Inverse}] = relationArrow{r.Type, false}
		m.relations[relationKey{r.From, r.Type}] = relationArrow{r.Type, true}
	}
	for _, r := range rows {
		m.draw(r)
	}
	return m.out
}

// draw adds a row and what is below it, and returns its box.
func (m *diagramMaker) draw(r *row) int {
	box := m.box(r)
	if len(r.folded) == 0 {
		for _, c := range r.node.Facts.Containers {
			item := containerItem(r.node.Branch.Node, c)
			m.out.Boxes = append(m.out.Boxes, diagram.Box{Lines: boxLines(item), Tone: item.Tone})
			m.arrow(diagram.Arrow{From: box, To: len(m.out.Boxes) - 1})
		}
	}
	for _, child := range r.children {
		b := child.node.Branch
		arrow := diagram.Arrow{From: box, To: m.draw(child), Dotted: b.Relation != ""}
		if arrow.Dotted {
			relation := m.relations[relationKey{b.Node, b.Relation}]
			if arrow.Label = relation.label; relation.reversed {
				arrow.From, arrow.To = arrow.To, arrow.From
			}
		}
		m.arrow(arrow)
	}
	return box
}

// arrow draws each arrow once: an object with several owners comes several times.
func (m *diagramMaker) arrow(a diagram.Arrow) {
	if !m.arrows[a] {
		m.arrows[a] = true
		m.out.Arrows = append(m.out.Arrows, a)
	}
}

func (m *diagramMaker) box(r *row) int {
	single, node := len(r.folded) == 0, r.node.Branch.Node
	if at, drawn := m.boxes[node]; drawn && single {
		return at
	}
	item := m.items.item(r)
	at := len(m.out.Boxes)
	m.out.Boxes = append(m.out.Boxes, diagram.Box{
		Lines: boxLines(item), Tone: item.Tone, Asked: item.Asked, Missing: r.node.Branch.Missing,
	})
	if single {
		m.boxes[node] = at
		m.missingOwners(node, at)
	}
	return at
}

// missingOwners draws owners that do not exist.
func (m *diagramMaker) missingOwners(n *ownertree.Node, at int) {
	for i := range n.Owners {
		o := &n.Owners[i]
		if o.Verdict == ownertree.Solid {
			continue
		}
		owner, drawn := m.missing[o.UID]
		if !drawn {
			owner = len(m.out.Boxes)
			m.missing[o.UID] = owner
			lines := []string{render.Cut(m.items.kinds.ownerLabel(o), maxInBox), string(o.Verdict)}
			m.out.Boxes = append(m.out.Boxes, diagram.Box{Lines: lines, Missing: true, Tone: render.ToneTrouble})
		}
		m.arrow(diagram.Arrow{From: owner, To: at})
	}
}

// maxInBox is how many letters of a line a box has.
const maxInBox = 500

// boxLines are what stands in a box: what it is, how it is, and why.
func boxLines(item *render.TreeItem) []string {
	lines := []string{item.Label}
	if state := strings.TrimSpace(item.Ready + " " + item.Status); state != "" {
		lines = append(lines, state)
	}
	if item.Reason != "" {
		lines = append(lines, render.Cut(item.Reason, maxInBox))
	}
	return lines
}
