package render

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func cellsOf(rows ...[]string) [][]Cell {
	out := make([][]Cell, len(rows))
	for i, row := range rows {
		for _, text := range row {
			out[i] = append(out[i], Cell{Text: text})
		}
	}
	return out
}

func TestTable(t *testing.T) {
	columns := []Column{{Title: "NAME"}, {Title: "WHY", Truncatable: true}, {Title: "GEN", DropOrder: 1}, {Title: "AGE", DropOrder: 2}}
	row := []string{"deployment/web", "two of three pods are available", "12", "5m"}
	for _, tt := range []struct {
		name   string
		o      TableOptions
		rows   [][]Cell
		want   string
		reason string
	}{
		{"none", TableOptions{}, nil, "", "no rows, no header"},
		{"whole", TableOptions{}, cellsOf(row),
			"NAME             WHY                               GEN   AGE\ndeployment/web   two of three pods are available   12    5m\n", "without a terminal nothing is cut"},
		{"fits", TableOptions{Width: 60}, cellsOf(row),
			"NAME             WHY                               GEN   AGE\ndeployment/web   two of three pods are available   12    5m\n", "with room for all, it is the same"},
		{"closer", TableOptions{Width: 58}, cellsOf(row),
			"NAME            WHY                              GEN  AGE\ndeployment/web  two of three pods are available  12   5m\n", "gaps go first"},
		{"cut", TableOptions{Width: 50}, cellsOf(row),
			"NAME            WHY                       GEN  AGE\ndeployment/web  two of three pods are a…  12   5m\n", "then free text"},
		{"fewer columns", TableOptions{Width: 46}, cellsOf(row),
			"NAME            WHY                        AGE\ndeployment/web  two of three pods are av…  5m\n", "then the least important column, and text gets its room"},
		{"bare", TableOptions{Width: 30}, cellsOf(row), "NAME            WHY\ndeployment/web  two of three …\n", "then text, to no less than can be read"},
		{"narrow", TableOptions{Width: 10}, cellsOf(row), "NAME           WHY\ndeployment/web two of thre…\n", "names are never cut"},
		{"no header", TableOptions{NoHeader: true}, cellsOf([]string{"a", "b", "1", "2"}), "a   b   1   2\n", "columns are as wide as their texts"},
		{"hostile", TableOptions{NoHeader: true}, cellsOf([]string{"a\x1b[2J", "b\nc", "", "2"}), "a^[[2J   b⏎ c      2\n", "what comes from a cluster is escaped"},
		{"wide letters", TableOptions{NoHeader: true}, cellsOf([]string{"壊れた", "x", "1", "2"}, []string{"abcdef", "y", "1", "2"}),
			"壊れた   x   1   2\nabcdef   y   1   2\n", "letters of two cells take two"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := NewTable(columns, tt.o).Write(&out, tt.rows); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestTableByAndBy(t *testing.T) {
	var out bytes.Buffer
	l := NewTable([]Column{{Title: "NAME"}, {Title: "X"}}, TableOptions{})
	for _, name := range []string{"middling", "a", "the longest"} {
		if err := l.Write(&out, cellsOf([]string{name, "1"})); err != nil {
			t.Fatal(err)
		}
	}
	want := "NAME       X\nmiddling   1\na          1\nthe longest   1\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("one header, and columns as wide as ever (-want +got):\n%s", diff)
	}
}

// TestNamesAreCutLast: one long name does not take the reasons of all rows away.
func TestNamesAreCutLast(t *testing.T) {
	columns := []Column{
		{Title: "NAMESPACE", Names: true, DropOrder: 10}, {Title: "NAME", Names: true}, {Title: "STATUS"},
		{Title: "REASON", Truncatable: true, DropOrder: 9}, {Title: "AGE", DropOrder: 3},
	}
	rows := cellsOf(
		[]string{"shop", "deployment/a-deployment-whose-name-takes-all-of-the-line-544fbbb6fb", "InProgress", "1 of 2 ready", "5m"},
		[]string{"shop", "pod/web", "Failed", "web is refused: spec.x: Invalid value: too many letters", "5m"})
	for _, tt := range []struct {
		width  int
		want   string
		reason string
	}{
		{120, `
NAMESPACE  NAME                                                                 STATUS      REASON
shop       deployment/a-deployment-whose-name-takes-all-of-the-line-544fbbb6fb  InProgress  1 of 2 ready
shop       pod/web                                                              Failed      web is refu…too many letters
`, "reasons first, to what can be read"},
		{80, `
NAMESPACE  NAME                             STATUS      REASON
shop       deployment/a-de…line-544fbbb6fb  InProgress  1 of 2 ready
shop       pod/web                          Failed      web is …too many letters
`, "then names, in the middle"},
		{60, `
NAMESPACE  NAME                     STATUS      REASON
shop       deployment/…-544fbbb6fb  InProgress  1 of 2 ready
shop       pod/web                  Failed      web i…too m…
`, "then both"},
		{40, `
NAMESPACE  NAME               STATUS
shop       deployme…4fbbb6fb  InProgress
shop       pod/web            Failed
`, "at last, names and states stay"},
	} {
		var out bytes.Buffer
		if err := NewTable(columns, TableOptions{Width: tt.width}).Write(&out, rows); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), out.String()); diff != "" {
			t.Errorf("%s: at %d cells (-want +got):\n%s", tt.reason, tt.width, diff)
		}
	}
}

func TestTableColours(t *testing.T) {
	p := NewPalette(&bytes.Buffer{}, ColorAlways, os.Getenv)
	var out bytes.Buffer
	l := NewTable([]Column{{Title: "A"}, {Title: "B"}}, TableOptions{Palette: p, NoHeader: true})
	if err := l.Write(&out, [][]Cell{{toned("bad", ToneTrouble), toned("x", TonePlain)}, {toned("longer", ToneChange), toned("y", ToneDim)}}); err != nil {
		t.Fatal(err)
	}
	want := p.Trouble("bad") + "      x\n" + p.Change("longer") + "   " + p.Dim("y") + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("colours take no room, and blanks none of them (-want +got):\n%s", diff)
	}
}

func TestTableKeepsFirstError(t *testing.T) {
	rows := cellsOf([]string{"a", "b"})
	if err := NewTable([]Column{{Title: "A"}, {Title: "B"}}, TableOptions{}).Write(&brokenWriter{3}, rows); !errors.Is(err, errBroken) {
		t.Errorf("writing fails, and yet: %v", err)
	}
}

func TestTableNeverWiderThanTheTerminal(t *testing.T) {
	columns := []Column{{Title: "NAME"}, {Title: "REASON", Truncatable: true, DropOrder: 5}, {Title: "GEN", DropOrder: 1}, {Title: "CONDITIONS", Truncatable: true, DropOrder: 2}, {Title: "AGE", DropOrder: 3}}
	rows := cellsOf([]string{"pod/web", strings.Repeat("why ", 12), "3/4", strings.Repeat("壊れた ", 9), "5m"})
	for width := 10; width < 160; width++ {
		var out bytes.Buffer
		if err := NewTable(columns, TableOptions{Width: width}).Write(&out, rows); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if got := cells(strings.TrimSuffix(line, "\n")); got > width {
				t.Errorf("%d cells on a terminal of %d: %q", got, width, line)
			}
		}
	}
}

func BenchmarkTable(b *testing.B) {
	rows := make([][]Cell, 10000)
	for i := range rows {
		rows[i] = []Cell{{Text: "pod/web-7d4b9c-x1"}, toned("Failed", ToneTrouble), {Text: "ImagePullBackOff: nginx:nope"}, {Text: "3m"}}
	}
	columns := []Column{{Title: "NAME"}, {Title: "STATUS"}, {Title: "REASON", Truncatable: true}, {Title: "AGE"}}
	b.ReportAllocs()
	for b.Loop() {
		if err := NewTable(columns, TableOptions{Width: 60}).Write(&bytes.Buffer{}, rows); err != nil {
			b.Fatal(err)
		}
	}
}
