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
	itemMaker
	out     diagram.Graph
	boxes   map[*ownertree.Node]int
	missing map[types.UID]int
	arrows  map[diagram.Arrow]bool
	ties    map[tieKey]tieArrow
}

// tieKey is how a relation is drawn in a tree: an object, and what it does or is done to it by the one above.
type tieKey struct {
	node *ownertree.Node
	word string
}

// tieArrow is how it is drawn in a picture: always from what uses something to that.
type tieArrow struct {
	label    string
	reversed bool
}

// newDiagram is the tree for programs that draw.
func newDiagram(items itemMaker, twigs []*twig, relations []ownertree.Relation) diagram.Graph {
	m := &diagramMaker{
		itemMaker: items, boxes: map[*ownertree.Node]int{}, missing: map[types.UID]int{},
		arrows: map[diagram.Arrow]bool{}, ties: map[tieKey]tieArrow{},
	}
	for _, r := range relations {
		m.ties[tieKey{r.To, r.Inverse}] = tieArrow{r.Type, false}
		m.ties[tieKey{r.From, r.Type}] = tieArrow{r.Type, true}
	}
	for _, twig := range twigs {
		m.draw(twig)
	}
	return m.out
}

// draw adds a twig and what is below it, and returns its box.
func (m *diagramMaker) draw(t *twig) int {
	box := m.box(t)
	if len(t.folded) == 0 {
		for _, c := range t.facts.containers {
			item := containerItem(t.Node, c)
			m.out.Boxes = append(m.out.Boxes, diagram.Box{Lines: boxLines(item), Tone: item.Tone})
			m.arrow(diagram.Arrow{From: box, To: len(m.out.Boxes) - 1})
		}
	}
	for _, child := range t.children {
		arrow := diagram.Arrow{From: box, To: m.draw(child), Dotted: child.Relation != ""}
		if arrow.Dotted {
			tie := m.ties[tieKey{child.Node, child.Relation}]
			if arrow.Label = tie.label; tie.reversed {
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

func (m *diagramMaker) box(t *twig) int {
	single := len(t.folded) == 0
	if at, drawn := m.boxes[t.Node]; drawn && single {
		return at
	}
	item := m.item(t)
	at := len(m.out.Boxes)
	m.out.Boxes = append(m.out.Boxes, diagram.Box{Lines: boxLines(item), Tone: item.Tone, Asked: item.Asked, Missing: t.Missing})
	if single {
		m.boxes[t.Node] = at
		m.absent(t.Node, at)
	}
	return at
}

// absent draws owners that are not there.
func (m *diagramMaker) absent(n *ownertree.Node, at int) {
	for i := range n.Owners {
		o := &n.Owners[i]
		if o.Verdict == ownertree.Solid {
			continue
		}
		owner, drawn := m.missing[o.UID]
		if !drawn {
			owner = len(m.out.Boxes)
			m.missing[o.UID] = owner
			lines := []string{render.Cut(m.kinds.ownerLabel(o), mostInBox), string(o.Verdict)}
			m.out.Boxes = append(m.out.Boxes, diagram.Box{Lines: lines, Missing: true, Tone: render.ToneTrouble})
		}
		m.arrow(diagram.Arrow{From: owner, To: at})
	}
}

// mostInBox is how many letters of a line a box has.
const mostInBox = 500

// boxLines are what stands in a box: what it is, how it is, and why.
func boxLines(item *render.TreeItem) []string {
	lines := []string{item.Label}
	var state []string
	for _, s := range []string{item.Ready, item.Status} {
		if s != "" {
			state = append(state, s)
		}
	}
	if len(state) > 0 {
		lines = append(lines, strings.Join(state, " "))
	}
	if item.Reason != "" {
		lines = append(lines, render.Cut(item.Reason, mostInBox))
	}
	return lines
}
