package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Mermaid writes the diagram as a flowchart of Mermaid.
func Mermaid(w io.Writer, d Diagram) error {
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

// mermaidStyles are the classes of boxes.
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
	case ToneTrouble:
		out = append(out, "trouble")
	case ToneChange:
		out = append(out, "change")
	case ToneDim:
		out = append(out, "dim")
	case TonePlain:
	}
	if b.Missing {
		out = append(out, "missing")
	}
	if b.Asked {
		out = append(out, "asked")
	}
	return out
}

// mermaidQuoted makes a label of lines. Mermaid looks for quotes, entities, tags, Markdown and, before it parses
// anything, for style and its own directives anywhere in a line: so whatever is neither a letter nor harmless is
// written as its number.
func mermaidQuoted(lines []string) string {
	var out strings.Builder
	for i, l := range lines {
		if i > 0 {
			out.WriteString("<br/>")
		}
		for _, r := range Escape(l) {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" -./,()", r) {
				out.WriteRune(r)
			} else {
				fmt.Fprintf(&out, "#%d;", r)
			}
		}
	}
	return `"` + out.String() + `"`
}
