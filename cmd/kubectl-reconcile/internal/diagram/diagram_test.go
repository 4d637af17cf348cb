package diagram

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/awalterschulze/gographviz"
	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

func TestDot(t *testing.T) {
	for _, tt := range []struct {
		name   string
		in     Graph
		want   string
		reason string
	}{
		{"nothing", Graph{}, "", "a graph may have no boxes"},
		{"rollout", Graph{
			Boxes:  []Box{{Lines: []string{"Deployment/web", "2/3"}, Asked: true, Tone: render.ToneChange}, {Lines: []string{"Pod/web-1"}, Tone: render.ToneTrouble}, {Lines: []string{"gone"}, Missing: true}, {Lines: []string{"folded"}, Tone: render.ToneDim}},
			Arrows: []Arrow{{From: 0, To: 1}, {From: 2, To: 1}, {From: 1, To: 3, Label: "mounts", Dotted: true}},
		}, `  n1 [label="Deployment/web\n2/3", color=orange3, penwidth=3];
  n2 [label="Pod/web-1", color=red3];
  n3 [label="gone", style="rounded,dashed"];
  n4 [label="folded", color=gray50];
  n1 -> n2;
  n3 -> n2;
  n2 -> n4 [style=dotted, label="mounts"];
`, "relations are dotted"},
		{"escapes", Graph{Boxes: []Box{{Lines: []string{`a\N"b&lt;`}}}}, "  n1 [label=\"a\\\\N\\\"b&amp;lt;\"];\n", "neither quotes, nor escapes, nor entities"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := WriteDot(&out, tt.in); err != nil {
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
	d := hostileGraph()
	readsBack(t, d, readable(d), WriteDot, parseDot)
}

// readsBack writes a graph and fails unless a parser reads the wanted one from it.
func readsBack(
	t *testing.T, d, want Graph, draw func(io.Writer, Graph) error, parse func([]byte) (Graph, error),
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

// fuzzedGraph is two boxes and an arrow, of texts that a fuzzer makes.
func fuzzedGraph(box, arrow string) Graph {
	return Graph{
		Boxes:  []Box{{Lines: []string{"A/a", box}}, {Lines: []string{box}}},
		Arrows: []Arrow{{From: 0, To: 1, Label: arrow}},
	}
}

func FuzzDot(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, box, arrow string) {
		want := readable(fuzzedGraph(unmarked(box), unmarked(arrow)))
		readsBack(t, fuzzedGraph(box, arrow), want, WriteDot, parseDot)
	})
}

// unmarked has a question mark where the text cannot be read.
func unmarked(text string) string { return strings.ReplaceAll(render.Escape(text), "�", "?") }

// parseDot reads a graph back with an independent parser.
func parseDot(text []byte) (Graph, error) {
	var d Graph
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

// hostile are texts that would end a label if they were not escaped, or that the other programs would interpret.
var hostile = []string{
	`a"b`, `a\`, `a\"b`, `\N\l`, "a\nb", "`md`", "**bold**", "#quot;", "#35;", "&lt;b&gt;", "<script>alert(1)</script>", "a]b[c", "a|b", "a;b",
	"%%{init: {}}%%", "%% comment", "style x fill:#fff;", "classDef a fill:#f00;", "end", "subgraph", "a-->b", "click n1 call x()", "日本", "\x1b[31m",
	"fa:fa-car", "$$x^2$$", "{}", "@{shape: x}", ":::trouble", "",
}

// hostileGraph has a box, and an arrow to it, for each hostile text.
func hostileGraph() Graph {
	d := Graph{Boxes: []Box{{Lines: []string{"Deployment/web", "3/3 Current"}, Asked: true, Tone: render.ToneTrouble}}}
	for i, text := range hostile {
		d.Boxes = append(d.Boxes, Box{Lines: []string{"Pod/x", text}, Tone: render.Tone(i % 4), Missing: i%2 == 0})
		d.Arrows = append(d.Arrows, Arrow{From: 0, To: i + 1, Label: text, Dotted: i%3 == 0})
	}
	return d
}

func TestMermaid(t *testing.T) {
	for _, tt := range []struct {
		name   string
		in     Graph
		want   string
		reason string
	}{
		{"nothing", Graph{}, "flowchart LR\n", "a flowchart may have no boxes"},
		{"rollout", Graph{
			Boxes:  []Box{{Lines: []string{"Deployment/web", "2/3"}, Asked: true, Tone: render.ToneChange}, {Lines: []string{"Pod/web-1"}, Tone: render.ToneTrouble}, {Lines: []string{"gone"}, Missing: true}, {Lines: []string{"folded"}, Tone: render.ToneDim}},
			Arrows: []Arrow{{From: 0, To: 1}, {From: 2, To: 1}, {From: 1, To: 3, Label: "mounts", Dotted: true}},
		}, `flowchart LR
  n1["Deployment/web<br/>2/3"]
  n2["Pod/web-1"]
  n3["gone"]
  n4["folded"]
  n1 --> n2
  n3 --> n2
  n2 -.->|"mounts"| n4
  classDef trouble stroke:#c00
  class n2 trouble
  classDef change stroke:#b80
  class n1 change
  classDef dim stroke:#888
  class n4 dim
  classDef missing stroke-dasharray:4 3
  class n3 missing
  classDef asked stroke-width:3px
  class n1 asked
`, "relations are dotted; classes only where they are used"},
		{"entities", Graph{Boxes: []Box{{Lines: []string{"style:x#35;", `"q"`}}}}, "flowchart LR\n  n1[\"style#58;x#35;35#59;<br/>#34;q#34;\"]\n", "what Mermaid would read is written as a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := WriteMermaid(&out, tt.in); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if _, err := parseMermaid(out.Bytes()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMermaidOfHostileTexts(t *testing.T) {
	d := hostileGraph()
	readsBack(t, d, readable(d), WriteMermaid, parseMermaid)
}

func FuzzMermaid(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, box, arrow string) {
		d := fuzzedGraph(box, arrow)
		readsBack(t, d, readable(d), WriteMermaid, parseMermaid)
	})
}

// readable is the diagram as a reader sees it: with texts escaped for a terminal.
func readable(d Graph) Graph {
	out := Graph{}
	for _, b := range d.Boxes {
		lines := make([]string, len(b.Lines))
		for i, l := range b.Lines {
			lines[i] = render.Escape(l)
		}
		b.Lines = lines
		out.Boxes = append(out.Boxes, b)
	}
	for _, a := range d.Arrows {
		a.Label = render.Escape(a.Label)
		out.Arrows = append(out.Arrows, a)
	}
	return out
}

// The lines that flowcharts of ours may have. Labels are quoted, and hold letters, digits, entities by number, line
// breaks and a few signs, none of which Mermaid's lexer or its preprocessing takes for anything else.
var (
	mermaidLabel = `"((?:[\pL\p{Nd} ./,()-]|#\d+;|<br/>)*)"`
	mermaidBox   = regexp.MustCompile(`^  n(\d+)\[` + mermaidLabel + `\]$`)
	mermaidArrow = regexp.MustCompile(`^  n(\d+) (-->|-\.->)(?:\|` + mermaidLabel + `\|)? n(\d+)$`)
	mermaidClass = regexp.MustCompile(`^  class (n\d+(?:,n\d+)*) (\w+)$`)
	mermaidStyle = regexp.MustCompile(`^  classDef (\w+) (stroke:#[0-9a-f]{3}|stroke-dasharray:\d \d|stroke-width:\dpx)$`)
)

// parseMermaid reads a flowchart back, and returns an error for all that WriteMermaid does not write.
func parseMermaid(written []byte) (Graph, error) {
	var d Graph
	text := string(written)
	header, rest, _ := strings.Cut(text, "\n")
	if header != "flowchart LR" || !strings.HasSuffix(text, "\n") {
		return d, fmt.Errorf("not a flowchart of whole lines: %q", text)
	}
	defined := map[string]bool{}
	for line := range strings.Lines(rest) {
		if err := parseMermaidLine(&d, defined, strings.TrimSuffix(line, "\n")); err != nil {
			return d, fmt.Errorf("%w: %q", err, line)
		}
	}
	return d, nil
}

func parseMermaidLine(d *Graph, defined map[string]bool, line string) error {
	if m := mermaidBox.FindStringSubmatch(line); m != nil {
		if m[1] != strconv.Itoa(len(d.Boxes)+1) {
			return errors.New("boxes are not numbered in their order")
		}
		d.Boxes = append(d.Boxes, Box{Lines: mermaidLines(m[2])})
		return nil
	}
	if m := mermaidArrow.FindStringSubmatch(line); m != nil {
		from, to := digits(m[1]), digits(m[4])
		if from > len(d.Boxes) || to > len(d.Boxes) {
			return errors.New("an arrow between boxes that are not there")
		}
		d.Arrows = append(d.Arrows, Arrow{From: from - 1, To: to - 1, Dotted: m[2] == "-.->", Label: strings.Join(mermaidLines(m[3]), "\n")})
		return nil
	}
	if m := mermaidStyle.FindStringSubmatch(line); m != nil {
		defined[m[1]] = true
		return nil
	}
	m := mermaidClass.FindStringSubmatch(line)
	if m == nil || !defined[m[2]] {
		return errors.New("a line of no sort, or a class that is not defined")
	}
	return classify(d, strings.Split(m[1], ","), m[2])
}

func classify(d *Graph, names []string, class string) error {
	tones := map[string]render.Tone{"trouble": render.ToneTrouble, "change": render.ToneChange, "dim": render.ToneDim}
	for _, name := range names {
		n := digits(name[1:])
		if n < 1 || n > len(d.Boxes) {
			return errors.New("a class of a box that is not there")
		}
		b := &d.Boxes[n-1]
		switch class {
		case "missing":
			b.Missing = true
		case "asked":
			b.Asked = true
		default:
			b.Tone = tones[class]
		}
	}
	return nil
}

func mermaidLines(label string) []string {
	lines := strings.Split(label, "<br/>")
	for i := range lines {
		lines[i] = regexp.MustCompile(`#\d+;`).ReplaceAllStringFunc(lines[i], func(entity string) string {
			return string(rune(digits(entity[1 : len(entity)-1])))
		})
	}
	return lines
}

func digits(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// closedWriter is a pipe whose reader has closed it.
type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriteErrors(t *testing.T) {
	for name, write := range map[string]func(io.Writer, Graph) error{"dot": WriteDot, "mermaid": WriteMermaid} {
		if err := write(closedWriter{}, hostileGraph()); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: writing fails, and yet: %v", name, err)
		}
	}
}
