package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/awalterschulze/gographviz"
	"github.com/google/go-cmp/cmp"
)

func TestDot(t *testing.T) {
	for _, tt := range []struct {
		name   string
		in     Diagram
		want   string
		reason string
	}{
		{"nothing", Diagram{}, "", "no boxes are a graph, too"},
		{"rollout", Diagram{
			Boxes:  []Box{{Lines: []string{"Deployment/web", "2/3"}, Asked: true, Tone: ToneChange}, {Lines: []string{"Pod/web-1"}, Tone: ToneTrouble}, {Lines: []string{"gone"}, Missing: true}, {Lines: []string{"folded"}, Tone: ToneDim}},
			Arrows: []Arrow{{From: 0, To: 1}, {From: 2, To: 1}, {From: 1, To: 3, Label: "mounts", Dotted: true}},
		}, `  n1 [label="Deployment/web\n2/3", color=orange3, penwidth=3];
  n2 [label="Pod/web-1", color=red3];
  n3 [label="gone", style="rounded,dashed"];
  n4 [label="folded", color=gray50];
  n1 -> n2;
  n3 -> n2;
  n2 -> n4 [style=dotted, label="mounts"];
`, "relations are dotted"},
		{"escapes", Diagram{Boxes: []Box{{Lines: []string{`a\N"b&lt;`}}}}, "  n1 [label=\"a\\\\N\\\"b&amp;lt;\"];\n", "neither quotes, nor escapes, nor entities"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Dot(&out, tt.in); err != nil {
				t.Fatal(err)
			}
			body := strings.Join(strings.SplitAfter(out.String(), "\n")[4:], "")
			if diff := cmp.Diff(tt.want+"}\n", body); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if _, err := parseDot(out.Bytes()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDotOfHostileTexts(t *testing.T) {
	d := hostileDiagram()
	readsBack(t, d, readable(d), Dot, parseDot)
}

// readsBack fails unless a parser reads from a drawing what it should say.
func readsBack(
	t *testing.T, d, want Diagram, draw func(io.Writer, Diagram) error, parse func([]byte) (Diagram, error),
) {
	t.Helper()
	var out bytes.Buffer
	if err := draw(&out, d); err != nil {
		t.Fatal(err)
	}
	got, err := parse(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is drawn is not what was given (-want +got):\n%s", diff)
	}
}

// fuzzedDiagram is two boxes and an arrow, of texts that a fuzzer makes.
func fuzzedDiagram(box, arrow string) Diagram {
	return Diagram{
		Boxes:  []Box{{Lines: []string{"A/a", box}}, {Lines: []string{box}}},
		Arrows: []Arrow{{From: 0, To: 1, Label: arrow}},
	}
}

func FuzzDot(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, box, arrow string) {
		want := readable(fuzzedDiagram(unmarked(box), unmarked(arrow)))
		readsBack(t, fuzzedDiagram(box, arrow), want, Dot, parseDot)
	})
}

// unmarked has a question mark where the text cannot be read.
func unmarked(text string) string { return strings.ReplaceAll(Escape(text), "�", "?") }

// parseDot reads a graph back with a parser that is not ours.
func parseDot(text []byte) (Diagram, error) {
	var d Diagram
	syntax, err := gographviz.Parse(text)
	if err != nil {
		return d, err
	}
	graph, err := gographviz.NewAnalysedGraph(syntax)
	if err != nil {
		return d, err
	}
	for i := range graph.Nodes.Nodes {
		node := graph.Nodes.Lookup[fmt.Sprintf("n%d", i+1)]
		if node == nil {
			return d, fmt.Errorf("boxes are not numbered in their order: %d is not there", i+1)
		}
		d.Boxes = append(d.Boxes, boxOf(node.Attrs))
	}
	for _, e := range graph.Edges.Edges {
		d.Arrows = append(d.Arrows, Arrow{
			From: digits(e.Src[1:]) - 1, To: digits(e.Dst[1:]) - 1,
			Dotted: e.Attrs["style"] == "dotted", Label: strings.Join(dotLines(e.Attrs["label"]), "\n"),
		})
	}
	return d, nil
}

func boxOf(attributes gographviz.Attrs) Box {
	b := Box{Lines: dotLines(attributes["label"]), Asked: attributes["penwidth"] == "3", Missing: attributes["style"] == `"rounded,dashed"`}
	for tone, name := range dotColors {
		if attributes["color"] == name {
			b.Tone = tone
		}
	}
	return b
}

// dotLines reads a label as Graphviz does: escapes first, entities then.
func dotLines(label string) []string {
	label = strings.TrimSuffix(strings.TrimPrefix(label, `"`), `"`)
	lines := []string{""}
	for i := 0; i < len(label); i++ {
		last := &lines[len(lines)-1]
		switch {
		case label[i] != '\\':
			*last += label[i : i+1]
		case label[i+1] == 'n':
			lines = append(lines, "")
			i++
		case slices.Contains([]byte(`\"`), label[i+1]):
			*last += label[i+1 : i+2]
			i++
		default:
			*last += "an escape that commands: " + label[i:i+2]
		}
	}
	for i := range lines {
		lines[i] = strings.NewReplacer("&amp;", "&", "&", "an entity: &").Replace(lines[i])
	}
	return lines
}
