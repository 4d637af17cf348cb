package tree

import (
	"fmt"
	"io"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/diagram"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// print writes the tree in the format asked for.
func (t *tree) print() error {
	switch t.output {
	case "json", "yaml":
		return cli.WriteDocument(t.streams.Out, t.output, t.document())
	case "name":
		return cli.WriteNames(t.streams.Out, nodesOf(t.branches), (*ownertree.Node).String)
	case "dot":
		return diagram.WriteDot(t.streams.Out, newDiagram(t.itemMaker(), t.twigs(), t.relations))
	case "mermaid":
		return diagram.WriteMermaid(t.streams.Out, newDiagram(t.itemMaker(), t.twigs(), t.relations))
	}
	return t.draw(t.streams.Out)
}

// draw writes the tree for people, with what is to be said below it.
func (t *tree) draw(w io.Writer) error {
	if t.gone {
		_, err := fmt.Fprintln(w, "nothing of what was asked for is there any more")
		return err
	}
	if err := render.Tree(w, t.itemMaker().items(t.twigs()), t.drawing()); err != nil {
		return err
	}
	for _, line := range t.notes() {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// limbs adds the tree up as of now, once while no object becomes another by time alone.
func (t *tree) limbs() []*limb {
	facts, changed := t.facts.at(t.clock.Now())
	if t.added == nil || changed {
		t.added = newLimbMaker(facts, t.graph, t.found).limbs(t.branches)
	}
	return t.added
}

func (t *tree) twigs() []*twig { return fold(t.limbs(), foldOptions{t.expand, t.containers, t.events}) }

func (t *tree) itemMaker() itemMaker {
	return itemMaker{
		now: t.clock.Now(), wide: t.output == "wide", events: t.events, kinds: kindNamesOf(nodesOf(t.branches)),
	}
}

func (t *tree) drawing() render.TreeOptions {
	o := render.TreeOptions{Palette: t.palette, ASCII: t.ascii, Width: t.width, Namespaces: t.namespaces}
	if t.output == "wide" {
		o.More, o.Width = wideColumns, 0
	}
	return o
}
