package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/interaction"
)

// InteractionOptions are the options of Interactions.
type InteractionOptions struct {
	Palette Palette
	// FieldManager is the field manager that the run itself applies objects with, which is called "you".
	FieldManager string
	// Width is the width of the terminal, at which lines are wrapped; 0 wraps none.
	Width int
	// All shows the controllers that wrote nothing, too.
	All bool
}

// maxLints is how many lints of a type are shown, unless all are.
const maxLints = 5

// interactions is a graph that is being written.
type interactions struct {
	InteractionOptions
	kind func(interaction.Kind) string
}

// Interactions writes who watches, reads and writes what, a paragraph for each controller, and then what stands out.
func Interactions(w io.Writer, g interaction.Graph, o InteractionOptions) error {
	var text strings.Builder
	var idle []string
	t := interactions{o, KindNames(g)}
	for i := range g.Controllers {
		c := &g.Controllers[i]
		if len(c.Reads)+len(c.Writes) == 0 && !o.All {
			idle = append(idle, c.Name)
			continue
		}
		what := counted(c.Reconciles, "reconcile")
		if c.Program {
			what = "a program outside of the sandbox"
		}
		fmt.Fprintf(&text, "%s  %s\n", o.Palette.Strong(Escape(c.Name)), what)
		for _, line := range slices.Concat(
			t.watches(c), t.requests("reads", c.Reads), t.requests("writes", c.Writes)) {
			fmt.Fprintln(&text, Wrap("  "+Escape(line), o.Width, "           "))
		}
	}
	if idle != nil {
		line := counted(len(idle), "controller") + " that sent no request: " + strings.Join(idle, ", ")
		fmt.Fprintln(&text, Wrap(o.Palette.Dim(Escape(line)), o.Width, "  "))
	}
	for n, lines := range t.lints(g.Lints) {
		if n == 0 {
			fmt.Fprintf(&text, "\nwhat stands out:\n")
		}
		fmt.Fprintln(&text, Wrap("  "+lines, o.Width, "    "))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// KindNames returns a function that names the kinds of a graph: with their groups only where another group has a kind
// of the same name.
func KindNames(g interaction.Graph) func(interaction.Kind) string {
	groups := map[string]string{}
	several := map[string]bool{}
	add := func(k interaction.Kind) {
		if group, known := groups[k.Kind]; known && group != k.Group {
			several[k.Kind] = true
		}
		groups[k.Kind] = k.Group
	}
	for i := range g.Controllers {
		c := &g.Controllers[i]
		for _, w := range c.Watches {
			add(w.Kind)
		}
		for _, q := range slices.Concat(c.Reads, c.Writes) {
			add(q.Kind)
		}
	}
	return func(k interaction.Kind) string {
		if several[k.Kind] {
			return k.String()
		}
		return k.Kind
	}
}

// lints returns the lines of lints, of each type up to maxLints.
func (t *interactions) lints(lints []interaction.Lint) []string {
	var lines []string
	shown := map[interaction.LintType]int{}
	for i := range lints {
		l := &lints[i]
		if shown[l.Type]++; t.All || shown[l.Type] <= maxLints {
			lines = append(lines, t.Palette.Change(string(l.Type)+":")+" "+Escape(t.lint(l)))
		}
	}
	for _, of := range interaction.LintTypes() {
		if more := shown[of] - maxLints; more > 0 && !t.All {
			lines = append(lines, fmt.Sprintf("%s: and %d more; -v shows all", of, more))
		}
	}
	return lines
}

// labelled puts a label before the first of some lines, and aligns the others.
func labelled(label string, lines []string) []string {
	for i := range lines {
		lines[i] = fmt.Sprintf("%-8s %s", label, lines[i])
		label = ""
	}
	return lines
}

func (t *interactions) watches(c *interaction.Controller) []string {
	var lines, silent []string
	for i := range c.Watches {
		w := &c.Watches[i]
		if w.Reconciles == 0 {
			silent = append(silent, t.kind(w.Kind))
			continue
		}
		var by []string
		for _, writer := range w.By {
			by = append(by, fmt.Sprintf("%d by %s", writer.Reconciles, WrittenByText(writer, c.Name, t.FieldManager)))
		}
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", t.kind(w.Kind), counted(w.Reconciles, "reconcile"),
			strings.Join(by, ", ")))
	}
	if silent != nil {
		line := strings.Join(silent, ", ")
		if !c.Program {
			line += ": no reconcile"
		}
		lines = append(lines, line)
	}
	return labelled("watches", lines)
}

// WrittenByText names who made a controller reconcile by writing: "itself", "you" for the field manager, or a name.
func WrittenByText(by interaction.Writer, controller, fieldManager string) string {
	switch {
	case by.Name == "":
		return "others"
	case by.Outside && by.Name == fieldManager:
		return "you"
	case !by.Outside && by.Name == controller:
		return "itself"
	}
	return by.Name
}

func (t *interactions) requests(label string, all []interaction.Requests) []string {
	var lines []string
	for i := range all {
		q := &all[i]
		line := t.kind(q.Kind)
		if q.Subresource != "" {
			line += "/" + q.Subresource
		}
		line += fmt.Sprintf(": %s %d", q.Verb, q.Requests)
		if q.Missing > 0 {
			line += fmt.Sprintf(", %d not found", q.Missing)
		}
		if q.Conflicts > 0 {
			line += ", " + counted(q.Conflicts, "conflict")
		}
		if q.Refused > 0 {
			line += fmt.Sprintf(", %d refused", q.Refused)
		}
		if len(q.Fields) > 0 {
			names := strings.Join(q.Fields, ", ")
			if q.Subresource == "status" {
				names = strings.ReplaceAll(names, "status.", "")
			}
			line += " (" + names + ")"
		}
		lines = append(lines, line)
	}
	return labelled(label, lines)
}

// lint is a lint in words, without its type.
func (t *interactions) lint(l *interaction.Lint) string {
	var of string
	if l.Of != nil {
		of = t.kind(*l.Of)
	}
	switch l.Type {
	case interaction.SeveralWriters:
		writers := slices.Clone(l.Writers)
		if i := slices.Index(writers, t.FieldManager); i >= 0 {
			writers[i] = "you"
		}
		return fmt.Sprintf("%s %s: %s wrote it in turn, %s, such as of %s", of, l.Field,
			strings.Join(writers, " and "), counted(l.Count, "time"), l.Example)
	case interaction.Cycle:
		var steps []string
		for _, s := range l.Path {
			steps = append(steps, s.Controller+" wrote "+t.kind(s.Wrote))
		}
		return fmt.Sprintf("%s -> %s, up to %s", strings.Join(steps, " -> "), l.Path[0].Controller,
			counted(l.Count, "time"))
	case interaction.OwnWrites:
		text := fmt.Sprintf("%s: %s followed nothing but its own writes of %s", l.Controller,
			counted(l.Count, "reconcile"), of)
		if l.Idle > 0 {
			text += fmt.Sprintf("; %d wrote nothing", l.Idle)
		}
		return text
	case interaction.UnwatchedRead:
		return fmt.Sprintf("%s: it reads %s (%s), and does not watch it", l.Controller, of,
			counted(l.Count, "request"))
	case interaction.NoOwner:
		return fmt.Sprintf("%s: it created %d of %s without an owner", l.Controller, l.Count, of)
	}
	return l.Controller
}
