package render

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hostile are texts that break out of labels where they are not escaped, or that other programs read as their own.
var hostile = []string{
	`a"b`, `a\`, `a\"b`, `\N\l`, "a\nb", "`md`", "**bold**", "#quot;", "#35;", "&lt;b&gt;", "<script>alert(1)</script>", "a]b[c", "a|b", "a;b",
	"%%{init: {}}%%", "%% comment", "style x fill:#fff;", "classDef a fill:#f00;", "end", "subgraph", "a-->b", "click n1 call x()", "日本", "\x1b[31m",
	"fa:fa-car", "$$x^2$$", "{}", "@{shape: x}", ":::trouble", "",
}

// hostileDiagram has a box, and an arrow to it, for each hostile text.
func hostileDiagram() Diagram {
	d := Diagram{Boxes: []Box{{Lines: []string{"Deployment/web", "3/3 Current"}, Asked: true, Tone: ToneTrouble}}}
	for i, text := range hostile {
		d.Boxes = append(d.Boxes, Box{Lines: []string{"Pod/x", text}, Tone: Tone(i % 4), Missing: i%2 == 0})
		d.Arrows = append(d.Arrows, Arrow{From: 0, To: i + 1, Label: text, Dotted: i%3 == 0})
	}
	return d
}

func TestMermaid(t *testing.T) {
	for _, tt := range []struct {
		name   string
		in     Diagram
		want   string
		reason string
	}{
		{"nothing", Diagram{}, "flowchart LR\n", "no boxes are a flowchart, too"},
		{"rollout", Diagram{
			Boxes:  []Box{{Lines: []string{"Deployment/web", "2/3"}, Asked: true, Tone: ToneChange}, {Lines: []string{"Pod/web-1"}, Tone: ToneTrouble}, {Lines: []string{"gone"}, Missing: true}, {Lines: []string{"folded"}, Tone: ToneDim}},
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
		{"entities", Diagram{Boxes: []Box{{Lines: []string{"style:x#35;", `"q"`}}}}, "flowchart LR\n  n1[\"style#58;x#35;35#59;<br/>#34;q#34;\"]\n", "what Mermaid would read is written as a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Mermaid(&out, tt.in); err != nil {
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
	d := hostileDiagram()
	readsBack(t, d, readable(d), Mermaid, parseMermaid)
}

func FuzzMermaid(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, box, arrow string) {
		d := fuzzedDiagram(box, arrow)
		readsBack(t, d, readable(d), Mermaid, parseMermaid)
	})
}

// readable is the diagram as a reader sees it: with texts escaped for a terminal.
func readable(d Diagram) Diagram {
	out := Diagram{}
	for _, b := range d.Boxes {
		lines := make([]string, len(b.Lines))
		for i, l := range b.Lines {
			lines[i] = Escape(l)
		}
		b.Lines = lines
		out.Boxes = append(out.Boxes, b)
	}
	for _, a := range d.Arrows {
		a.Label = Escape(a.Label)
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

// parseMermaid reads a flowchart back, and refuses whatever is not written as those of ours are.
func parseMermaid(written []byte) (Diagram, error) {
	var d Diagram
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

func parseMermaidLine(d *Diagram, defined map[string]bool, line string) error {
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

func classify(d *Diagram, names []string, class string) error {
	tones := map[string]Tone{"trouble": ToneTrouble, "change": ToneChange, "dim": ToneDim}
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

func TestDiagramsEndWithTheirReader(t *testing.T) {
	d := hostileDiagram()
	for name, write := range map[string]func(*brokenWriter) error{
		"dot":     func(w *brokenWriter) error { return Dot(w, d) },
		"mermaid": func(w *brokenWriter) error { return Mermaid(w, d) },
	} {
		if err := write(&brokenWriter{10}); !errors.Is(err, errBroken) {
			t.Errorf("%s: writing fails, and yet: %v", name, err)
		}
	}
}
