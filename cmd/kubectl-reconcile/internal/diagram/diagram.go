// Package diagram writes graphs of boxes and arrows in the languages of programs that draw them: Graphviz (`-o dot`)
// and Mermaid (`-o mermaid`). It lays out nothing, and does not know what the boxes are.
//
// Texts may come from a cluster: each writer escapes them, so that none can end a label or be read as a directive.
package diagram

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// Graph is a graph to be drawn by another program.
type Graph struct {
	Boxes  []Box
	Arrows []Arrow
}

// Box is a node of a graph. Its texts are escaped when written.
type Box struct {
	// Lines are the lines of its label; at least one.
	Lines []string
	Tone  render.Tone
	// Asked marks what the user asked for.
	Asked bool
	// Missing draws it as an object that does not exist.
	Missing bool
}

// Arrow is an edge between two boxes, by their indexes in Graph.Boxes.
type Arrow struct {
	From, To int
	// Label may be empty.
	Label string
	// Dotted draws it as a relation other than ownership.
	Dotted bool
}

// WriteDot writes the graph in the DOT language of Graphviz. It returns the first error of w.
func WriteDot(w io.Writer, d Graph) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "digraph {\n  rankdir=LR;")
	fmt.Fprintln(out, `  node [shape=box, style=rounded, fontname="sans-serif"];`)
	fmt.Fprintln(out, `  edge [fontname="sans-serif", fontsize=10];`)
	for i, b := range d.Boxes {
		fmt.Fprintf(out, "  n%d [label=%s%s];\n", i+1, dotQuoted(b.Lines), dotStyle(b))
	}
	for _, a := range d.Arrows {
		var attributes []string
		if a.Dotted {
			attributes = append(attributes, "style=dotted")
		}
		if a.Label != "" {
			attributes = append(attributes, "label="+dotQuoted([]string{a.Label}))
		}
		fmt.Fprintf(out, "  n%d -> n%d%s;\n", a.From+1, a.To+1, attributeList(attributes))
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// dotColors are the names of X11 colours that can be distinguished on white.
var dotColors = map[render.Tone]string{
	render.ToneTrouble: "red3", render.ToneChange: "orange3", render.ToneDim: "gray50",
}

func dotStyle(b Box) string {
	var out string
	if c := dotColors[b.Tone]; c != "" {
		out += ", color=" + c
	}
	if b.Asked {
		out += ", penwidth=3"
	}
	if b.Missing {
		out += ", style=\"rounded,dashed\""
	}
	return out
}

func attributeList(attributes []string) string {
	if len(attributes) == 0 {
		return ""
	}
	return " [" + strings.Join(attributes, ", ") + "]"
}

// dotQuoted returns lines as a quoted label. Graphviz reads backslashes and HTML entities in it, and some other
// parsers of DOT stop at the Unicode replacement character.
func dotQuoted(lines []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;", "�", "?")
	escaped := make([]string, len(lines))
	for i, l := range lines {
		escaped[i] = escape.Replace(render.Escape(l))
	}
	return `"` + strings.Join(escaped, `\n`) + `"`
}

// WriteMermaid writes the graph as a flowchart of Mermaid. It returns the first error of w.
func WriteMermaid(w io.Writer, d Graph) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "flowchart LR")
	classes := map[string][]string{}
	for i, b := range d.Boxes {
		fmt.Fprintf(out, "  n%d[%s]\n", i+1, mermaidQuoted(b.Lines))
		for _, c := range mermaidClasses(b) {
			classes[c] = append(classes[c], fmt.Sprintf("n%d", i+1))
		}
	}
	for _, a := range d.Arrows {
		arrow := "-->"
		if a.Dotted {
			arrow = "-.->"
		}
		if a.Label != "" {
			arrow += "|" + mermaidQuoted([]string{a.Label}) + "|"
		}
		fmt.Fprintf(out, "  n%d %s n%d\n", a.From+1, arrow, a.To+1)
	}
	for _, c := range mermaidStyles {
		if boxes := classes[c.name]; len(boxes) > 0 {
			fmt.Fprintf(out, "  classDef %s %s\n  class %s %s\n", c.name, c.style, strings.Join(boxes, ","), c.name)
		}
	}
	return out.Flush()
}

// mermaidStyles are the classes of boxes, and their styles.
var mermaidStyles = []struct{ name, style string }{
	{"trouble", "stroke:#c00"},
	{"change", "stroke:#b80"},
	{"dim", "stroke:#888"},
	{"missing", "stroke-dasharray:4 3"},
	{"asked", "stroke-width:3px"},
}

func mermaidClasses(b Box) []string {
	var out []string
	switch b.Tone {
	case render.ToneTrouble:
		out = append(out, "trouble")
	case render.ToneChange:
		out = append(out, "change")
	case render.ToneDim:
		out = append(out, "dim")
	case render.TonePlain:
	}
	if b.Missing {
		out = append(out, "missing")
	}
	if b.Asked {
		out = append(out, "asked")
	}
	return out
}

// mermaidQuoted returns lines as a quoted label. Mermaid looks for quotes, entities, tags and Markdown in labels and,
// before it parses anything, for styles and directives anywhere in a line: all characters but letters, digits and a
// few signs are written as numeric entities.
func mermaidQuoted(lines []string) string {
	var out strings.Builder
	for i, l := range lines {
		if i > 0 {
			out.WriteString("<br/>")
		}
		for _, r := range render.Escape(l) {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" -./,()", r) {
				out.WriteRune(r)
			} else {
				fmt.Fprintf(&out, "#%d;", r)
			}
		}
	}
	return `"` + out.String() + `"`
}
