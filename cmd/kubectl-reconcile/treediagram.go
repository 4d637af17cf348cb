package main

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// diagramMaker draws what a tree draws, each object once.
type diagramMaker struct {
	itemMaker
	out     render.Diagram
	boxes   map[*ownertree.Node]int
	missing map[types.UID]int
	arrows  map[render.Arrow]bool
}

// newDiagram is the tree for programs that draw.
func newDiagram(items itemMaker, twigs []*twig) render.Diagram {
	m := &diagramMaker{itemMaker: items, boxes: map[*ownertree.Node]int{}, missing: map[types.UID]int{}, arrows: map[render.Arrow]bool{}}
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
			m.out.Boxes = append(m.out.Boxes, render.Box{Lines: boxLines(item), Tone: item.Tone})
			m.arrow(render.Arrow{From: box, To: len(m.out.Boxes) - 1})
		}
	}
	for _, child := range t.children {
		m.arrow(render.Arrow{From: box, To: m.draw(child), Label: child.Relation, Dotted: child.Relation != ""})
	}
	return box
}

// arrow draws each arrow once: an object with several owners comes several times.
func (m *diagramMaker) arrow(a render.Arrow) {
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
	m.out.Boxes = append(m.out.Boxes, render.Box{Lines: boxLines(item), Tone: item.Tone, Asked: item.Asked})
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
			m.out.Boxes = append(m.out.Boxes, render.Box{Lines: []string{o.Kind + "/" + o.Name, string(o.Verdict)}, Missing: true, Tone: render.ToneTrouble})
		}
		m.arrow(render.Arrow{From: owner, To: at})
	}
}

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
		lines = append(lines, item.Reason)
	}
	return lines
}
