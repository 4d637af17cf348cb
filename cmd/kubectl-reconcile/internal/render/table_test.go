package render

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestTable(t *testing.T) {
	coloured := NewPalette(&bytes.Buffer{}, ColorAlways, os.Getenv)
	for _, tt := range []struct {
		name   string
		header []string
		rows   [][]string
		want   string
		reason string
	}{
		{"columns", []string{"NAME", "READY/TOTAL", "AGE"}, [][]string{{"web", "3/3", "5m"}, {"a-long-name", "0/1", "1h"}},
			"NAME          READY/TOTAL   AGE\nweb           3/3           5m\na-long-name   0/1           1h\n", "columns are three blanks apart, headers as given"},
		{"blank cells", []string{"A", "B"}, [][]string{{"x", ""}, {"", "y"}},
			"A   B\nx\n    y\n", "no blanks at the end of a row; cells stay in their column"},
		{"indent", []string{"NAME", "X"}, [][]string{{"  └ child", "1"}},
			"NAME        X\n  └ child   1\n", "blanks before a cell's text are its indent"},
		{"no rows", []string{"A", "B"}, nil, "A   B\n", "a header by itself is a table"},
		{"wide letters", []string{"NAME", "X"}, [][]string{{"日本", "1"}, {"abcd", "2"}},
			"NAME   X\n日本   1\nabcd   2\n", "letters of two cells take two"},
		{"colours", []string{"NAME", "X"}, [][]string{{coloured.Trouble("bad"), "1"}, {"good", "2"}},
			"NAME   X\nbad    1\ngood   2\n", "colours take no room"},
		{"long", []string{"M", "X"}, [][]string{{strings.Repeat("word ", 40) + "end", "1"}},
			"M" + strings.Repeat(" ", 205) + "X\n" + strings.Repeat("word ", 40) + "end   1\n", "a cell is never broken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Table(&out, tt.header, tt.rows); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, colour.ReplaceAllString(out.String(), "")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestTableKeepsColours(t *testing.T) {
	p := NewPalette(&bytes.Buffer{}, ColorAlways, os.Getenv)
	var out bytes.Buffer
	if err := Table(&out, []string{"NAME", "X"}, [][]string{{p.Trouble("bad"), "1"}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\n"+p.Trouble("bad")+" ") {
		t.Errorf("the cell's colour is lost, or takes in the blanks beside it:\n%q", out.String())
	}
}

func TestControllerTable(t *testing.T) {
	var out bytes.Buffer
	err := ControllerTable(&out, Palette{}, false, []trace.ControllerSummary{
		{Controller: "deployment", Reconciles: 12, Failed: 2, Retries: 1, Writes: 9, RefusedWrites: 2, P50: trace.Duration(1234567), P99: trace.Duration(28 * time.Millisecond), WaitedP50: 14200, WaitedP99: 33300},
		{Controller: "replicaset"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `
CONTROLLER   RECONCILES   FAILED   RETRIES   WRITES   REFUSED   P50      P99    WAITED P50   WAITED P99
deployment   12           2        1         7        2         1.23ms   28ms   14.2µs       33.3µs
replicaset   0            0        0         0        0         0s       0s     0s           0s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("after an empty line, a row a controller (-want +got):\n%s", diff)
	}
	out.Reset()
	if err := ControllerTable(&out, Palette{}, true, []trace.ControllerSummary{{Controller: "a"}}); err != nil || !strings.Contains(out.String(), "   WOULD WRITE   REFUSED   ") {
		t.Errorf("a dry run writes nothing: %s (%v)", out.String(), err)
	}
	out.Reset()
	if err := ControllerTable(&out, Palette{}, false, nil); err != nil || out.Len() > 0 {
		t.Errorf("no controllers, and yet %q (%v)", out.String(), err)
	}
}

func TestControllerTableCountsTheIdle(t *testing.T) {
	busy := trace.ControllerSummary{Controller: "replicaset", Reconciles: 1}
	alone := trace.ControllerSummary{Controller: "podgc", Writes: 1} // it writes by itself
	for _, tt := range []struct {
		name   string
		of     []trace.ControllerSummary
		rows   int
		counts string
	}{
		{"a few stand in rows", []trace.ControllerSummary{busy, {Controller: "a"}, {Controller: "b"}, {Controller: "c"}}, 4, ""},
		{"many are counted", []trace.ControllerSummary{busy, {Controller: "a"}, {Controller: "b"}, {Controller: "c"}, {Controller: "d"}, alone}, 2, "and 4 controllers that had nothing to do\n"},
		{"a few that are all stand in rows", []trace.ControllerSummary{{Controller: "a"}, {Controller: "b"}, {Controller: "c"}}, 3, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := ControllerTable(&out, Palette{}, false, tt.of); err != nil {
				t.Fatal(err)
			}
			table, count, _ := strings.Cut(out.String(), "and ")
			if rows := strings.Count(table, "\n") - 2; rows != tt.rows {
				t.Errorf("%d rows, want %d:\n%s", rows, tt.rows, out.String())
			}
			if count = strings.TrimSuffix("and "+count, "and "); count != tt.counts {
				t.Errorf("it ends with %q, want %q", count, tt.counts)
			}
		})
	}
}

func TestControllerTableOfNothingDone(t *testing.T) {
	var out bytes.Buffer
	err := ControllerTable(&out, Palette{}, false, []trace.ControllerSummary{{Controller: "a"}, {Controller: "b"}, {Controller: "c"}, {Controller: "d"}})
	if want := "\nnone of 4 controllers had anything to do\n"; err != nil || out.String() != want {
		t.Errorf("%q, %v, want %q", out.String(), err, want)
	}
}

func TestControllerTableMarksFailures(t *testing.T) {
	p := NewPalette(&bytes.Buffer{}, ColorAlways, os.Getenv)
	var out bytes.Buffer
	if err := ControllerTable(&out, p, false, []trace.ControllerSummary{{Controller: "good"}, {Controller: "bad", Failed: 7}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), p.Trouble("7")) || strings.Contains(out.String(), p.Trouble("0")) {
		t.Errorf("failures, and only they, are marked:\n%q", out.String())
	}
}

func TestObjectTable(t *testing.T) {
	pod := func(name, ready, status string) ObjectRow {
		return ObjectRow{Namespace: "a", Fold: "pod", Name: "pod/" + name, Ready: ready, Status: status, Reason: "of " + name}
	}
	for _, tt := range []struct {
		name   string
		in     []ObjectRow
		want   string
		reason string
	}{
		{"none", nil, "", "no objects, no table"},
		{"one", []ObjectRow{{Namespace: "a", Name: "deployment.apps/web", Ready: "3/3", Status: "Current", Reason: "fine"}},
			"\nOBJECT                READY   STATUS    REASON\ndeployment.apps/web   3/3     Current   fine\n", "one namespace needs no column"},
		{"namespaces", []ObjectRow{{Namespace: "a", Name: "x/1", Status: "Current"}, {Name: "node/n", Status: "Current"}},
			"\nNAMESPACE   OBJECT   READY   STATUS    REASON\na           x/1      -       Current   -\n-           node/n   -       Current   -\n", "objects without a namespace have a dash"},
		{"three alike", []ObjectRow{pod("1", "1/1", "Current"), pod("2", "1/1", "Current"), pod("3", "1/1", "Current")},
			"\nOBJECT   READY   STATUS    REASON\npod/1    1/1     Current   of 1\npod/2    1/1     Current   of 2\npod/3    1/1     Current   of 3\n", "a few stand alone"},
		{"four alike", []ObjectRow{pod("1", "1/1", "Current"), pod("2", "1/1", "Current"), pod("bad", "0/1", "Failed"), pod("3", "1/1", "Current"), pod("4", "1/1", "Current")},
			"\nOBJECT    READY      STATUS    REASON\npod (4)   1/1 each   Current   of 1\npod/bad   0/1        Failed    of bad\n", "many in the same state share the row of the first; the one in another state keeps its own"},
		{"applied", []ObjectRow{{Name: "x/1", Status: "Current"}, {Name: "x/2", Status: "Current"}, {Name: "x/3", Status: "Current"}, {Name: "x/4", Status: "Current"}},
			"\nOBJECT   READY   STATUS    REASON\nx/1      -       Current   -\nx/2      -       Current   -\nx/3      -       Current   -\nx/4      -       Current   -\n", "what the user gave is never folded"},
		{"hostile", []ObjectRow{{Name: "x/\x1b[31m", Status: "Odd\n", Reason: "a\nb"}},
			"\nOBJECT     READY   STATUS   REASON\nx/^[[31m   -       Odd⏎     a⏎ b\n", "texts of a cluster are escaped"},
		{"long message", []ObjectRow{{Name: "x/1", Status: "Current", Reason: strings.Repeat("m", 200)}},
			"\nOBJECT   READY   STATUS    REASON\nx/1      -       Current   " + strings.Repeat("m", 95) + "…\n", "a message is cut"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := ObjectTable(&out, Palette{}, tt.in); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestObjectTableColours(t *testing.T) {
	p := NewPalette(&bytes.Buffer{}, ColorAlways, os.Getenv)
	for status, want := range map[string]string{
		"Current": "Current", "InProgress": p.Change("InProgress"), "Terminating": p.Change("Terminating"),
		"Failed": p.Trouble("Failed"), "NotFound": p.Trouble("NotFound"), "Unknown": p.Trouble("Unknown"),
	} {
		var out bytes.Buffer
		if err := ObjectTable(&out, p, []ObjectRow{{Name: "x/1", Status: status}}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "   "+want) {
			t.Errorf("%s is not shown as %q:\n%q", status, want, out.String())
		}
	}
}

// brokenWriter fails after so many bytes.
type brokenWriter struct{ left int }

var errBroken = errors.New("broken")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return 0, errBroken
	}
	w.left -= len(p)
	return len(p), nil
}

func TestTableErrors(t *testing.T) {
	rows := []ObjectRow{{Name: "x/1", Status: "Current"}}
	for _, room := range []int{0, 1, 40} {
		if err := ObjectTable(&brokenWriter{room}, Palette{}, rows); !errors.Is(err, errBroken) {
			t.Errorf("writing fails after %d bytes, and yet: %v", room, err)
		}
	}
}
