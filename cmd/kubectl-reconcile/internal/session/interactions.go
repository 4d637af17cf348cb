package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/diagram"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/interaction"
)

// GraphFormat is the form in which a run shows how its controllers interact; empty if it does not.
type GraphFormat string

// The formats of graphs.
const (
	GraphText    GraphFormat = "graph"
	GraphDot     GraphFormat = "dot"
	GraphMermaid GraphFormat = "mermaid"
)

// GraphFormats returns the names of all formats.
func GraphFormats() []string {
	return []string{string(GraphText), string(GraphDot), string(GraphMermaid)}
}

// writeGraph writes how the controllers interacted.
func (out *Outputs) writeGraph(r *result) error {
	graph := out.interactions.Graph(r.watches)
	w := out.o.Streams.Out
	var err error
	switch out.o.Graph {
	case GraphDot:
		err = diagram.WriteDot(w, interactionDiagram(graph, out.o.author()))
	case GraphMermaid:
		err = diagram.WriteMermaid(w, interactionDiagram(graph, out.o.author()))
	case GraphText:
		all := out.o.Detail >= render.Verbose || out.o.Serve != nil && out.o.Detail >= render.Normal // with -v
		if !all {
			graph.Lints = slices.DeleteFunc(graph.Lints, isOfSimulated)
		}
		err = render.Interactions(w, graph, render.InteractionOptions{
			Palette: out.o.Palette, FieldManager: out.o.author(), Width: render.TerminalWidth(w),
			All: all,
		})
	}
	if err != nil {
		return fmt.Errorf("writing the graph: %w", err)
	}
	return nil
}

// isOfSimulated reports whether a lint is about the simulated nodes, alone or with others.
func isOfSimulated(l interaction.Lint) bool {
	names := append(slices.Clone(l.Writers), l.Controller)
	for _, step := range l.Path {
		names = append(names, step.Controller)
	}
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(simulated, name) })
}

// interactionDiagram returns a graph with a box for each controller, kind and field manager that did something: arrows
// lead from who wrote to what was written, and dotted from there to who reconciled for it.
func interactionDiagram(g interaction.Graph, fieldManager string) diagram.Graph {
	var out diagram.Graph
	nameOf := render.KindNames(g)
	boxes := map[string]int{}
	box := func(key string, b diagram.Box) int {
		i, known := boxes[key]
		if !known {
			i = len(out.Boxes)
			boxes[key], out.Boxes = i, append(out.Boxes, b)
		}
		return i
	}
	kind := func(k interaction.Kind) int {
		return box("kind "+k.String(), diagram.Box{Lines: []string{nameOf(k)}})
	}
	controller := func(c *interaction.Controller) int {
		return box(fmt.Sprint("controller ", c.Program, c.Name), diagram.Box{Lines: []string{c.Name}, Asked: true})
	}
	arrow := func(a diagram.Arrow) {
		if !slices.Contains(out.Arrows, a) {
			out.Arrows = append(out.Arrows, a)
		}
	}
	for i := range g.Controllers {
		c := &g.Controllers[i]
		for from, verbs := range writesByKind(c) {
			arrow(diagram.Arrow{From: controller(c), To: kind(from), Label: verbs})
		}
		for _, w := range c.Watches {
			if w.Reconciles == 0 {
				continue
			}
			arrow(diagram.Arrow{
				From: kind(w.Kind), To: controller(c), Label: strconv.Itoa(w.Reconciles), Dotted: true,
			})
			for _, by := range w.By {
				if by.Outside {
					name := render.WrittenByText(by, c.Name, fieldManager)
					from := box("outside "+name, diagram.Box{Lines: []string{name}, Tone: render.ToneDim})
					arrow(diagram.Arrow{From: from, To: kind(w.Kind)})
				}
			}
		}
	}
	return out
}

// writesByKind yields the kinds that a controller wrote, each with the verbs and subresources: "create, update status".
func writesByKind(c *interaction.Controller) func(func(interaction.Kind, string) bool) {
	return func(yield func(interaction.Kind, string) bool) {
		for i := 0; i < len(c.Writes); {
			of := c.Writes[i].Kind
			var verbs []string
			for ; i < len(c.Writes) && c.Writes[i].Kind == of; i++ {
				if c.Writes[i].Requests > 0 {
					verbs = append(verbs, strings.TrimSpace(c.Writes[i].Verb+" "+c.Writes[i].Subresource))
				}
			}
			if verbs != nil && !yield(of, strings.Join(verbs, ", ")) {
				return
			}
		}
	}
}
