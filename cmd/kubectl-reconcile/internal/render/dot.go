package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Diagram is a graph to be drawn by another program.
type Diagram struct {
	Boxes  []Box
	Arrows []Arrow
}

// Box is a node of a diagram. Its texts may come from a cluster: they are escaped when written.
type Box struct {
	// Lines are what stands in it; at least one.
	Lines []string
	Tone  Tone
	// Asked marks what the user asked for.
	Asked bool
	// Missing draws it as something that is not there.
	Missing bool
}

// Arrow leads from one box to another, by their places in Diagram.Boxes.
type Arrow struct {
	From, To int
	// Label may be empty.
	Label string
	// Dotted tells relations from ownership.
	Dotted bool
}

// Dot writes the diagram in the language of Graphviz.
func Dot(w io.Writer, d Diagram) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "digraph owners {\n  rankdir=LR;")
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
		fmt.Fprintf(out, "  n%d -> n%d%s;\n", a.From+1, a.To+1, bracketed(attributes))
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// dotColors are the names of X11 colours that tell tones apart on white.
var dotColors = map[Tone]string{ToneTrouble: "red3", ToneChange: "orange3", ToneDim: "gray50"}

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

func bracketed(attributes []string) string {
	if len(attributes) == 0 {
		return ""
	}
	return " [" + strings.Join(attributes, ", ") + "]"
}

// dotQuoted makes a label of lines. Graphviz reads backslashes and entities of HTML in it; some readers of its language
// stop at the letter that stands for one that could not be read.
func dotQuoted(lines []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;", "�", "?")
	escaped := make([]string, len(lines))
	for i, l := range lines {
		escaped[i] = escape.Replace(Escape(l))
	}
	return `"` + strings.Join(escaped, `\n`) + `"`
}
