package tree

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/diagram"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// view is what the fourth stage returns and what every format is made of: the trees rolled up as of a time.
type view struct {
	now   time.Time
	nodes []*treestatus.StatusNode
	// objects are those of the trees, relations what is drawn in between them.
	objects   []*ownertree.Node
	relations []ownertree.Relation
	collector garbageCollector
	// incomplete is what could not be read, sorted.
	incomplete []cluster.Incomplete
}

// garbageCollector knows what becomes of objects. A Graph does.
type garbageCollector interface {
	treestatus.OutcomeSource
	Blockers(n *ownertree.Node) (ownertree.DeletionBlockers, bool)
}

var _ garbageCollector = (*ownertree.Graph)(nil)

// rollUp adds up what was read, as of a time.
func rollUp(r *reading, now time.Time) *view {
	facts, _ := r.facts.At(now)
	return &view{
		now: now, nodes: treestatus.RollUp(r.layout.Branches, r.layout.Graph, facts, r.findings()),
		objects: r.layout.Nodes, relations: r.layout.Relations, collector: r.layout.Graph, incomplete: r.incomplete(),
	}
}

// print writes the trees in the format asked for.
func (o *Options) print(v *view) error {
	switch o.output {
	case "json", "yaml":
		return cli.WriteDocument(o.streams.Out, o.output, newDocument(v))
	case "name":
		return cli.WriteNames(o.streams.Out, v.objects, (*ownertree.Node).String)
	case "dot":
		return diagram.WriteDot(o.streams.Out, newDiagram(o.itemMaker(v), o.rows(v), v.relations))
	case "mermaid":
		return diagram.WriteMermaid(o.streams.Out, newDiagram(o.itemMaker(v), o.rows(v), v.relations))
	}
	return o.draw(o.streams.Out, v, o.width)
}

// draw writes the trees for people, with the notes below them. Width is that of the terminal; 0 if there is none.
func (o *Options) draw(w io.Writer, v *view, width int) error {
	drawing := render.TreeOptions{
		Palette: o.palette, ASCII: o.ascii, Width: width, Namespaces: o.severalNamespaces(v.objects),
	}
	if o.output == "wide" {
		drawing.More, drawing.Width = wideColumns, 0
	}
	if err := render.Tree(w, o.itemMaker(v).items(o.rows(v)), drawing); err != nil {
		return err
	}
	for _, line := range o.noteMaker(v, width).notes(v) {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) rows(v *view) []*row {
	return fold(v.nodes, foldOptions{expand: o.expand, pods: o.containers, events: o.events})
}

func (o *Options) itemMaker(v *view) itemMaker {
	return itemMaker{now: v.now, wide: o.output == "wide", events: o.events, kinds: kindNamesOf(v.objects)}
}

func (o *Options) noteMaker(v *view, width int) noteMaker {
	return noteMaker{
		items: o.itemMaker(v), collector: v.collector, palette: o.palette,
		namespaces: o.severalNamespaces(v.objects), width: width,
	}
}

// severalNamespaces reports whether the namespaces of objects must be shown.
func (o *Options) severalNamespaces(objects []*ownertree.Node) bool {
	return o.targets.AllNamespaces || slices.ContainsFunc(objects, func(n *ownertree.Node) bool {
		return n.Namespace != "" && n.Namespace != o.connection.Namespace
	})
}
