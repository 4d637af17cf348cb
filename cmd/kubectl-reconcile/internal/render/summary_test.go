package render

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestControllerTable(t *testing.T) {
	var out bytes.Buffer
	err := ControllerTable(&out, []trace.ControllerSummary{
		{Controller: "deployment", Reconciles: 12, Failed: 2, PutOff: 3, Retries: 1, Writes: 7, RefusedWrites: 2, Conflicts: 4, P50: trace.Duration(1234567), P99: trace.Duration(28 * time.Millisecond), WaitedP50: 14200, WaitedP99: 33300},
		{Controller: "replicaset"},
	}, ControllerTableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := `
CONTROLLER   RECONCILES   FAILED   PUT OFF   RETRIES   WRITES   REFUSED   CONFLICTS   P50      P99    WAITED P50   WAITED P99
deployment   12           2        3         1         7        2         4           1.23ms   28ms   14.2µs       33.3µs
replicaset   0            0        0         0         0        0         0           0s       0s     0s           0s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("after an empty line, a row a controller (-want +got):\n%s", diff)
	}
	out.Reset()
	if err := ControllerTable(&out, []trace.ControllerSummary{{Controller: "a"}}, ControllerTableOptions{Dry: true}); err != nil || !strings.Contains(out.String(), "   WOULD WRITE   REFUSED   ") {
		t.Errorf("a dry run writes nothing: %s (%v)", out.String(), err)
	}
	out.Reset()
	if err := ControllerTable(&out, nil, ControllerTableOptions{}); err != nil || out.Len() > 0 {
		t.Errorf("no controllers, and yet %q (%v)", out.String(), err)
	}
}

func TestControllerTableCountsTheIdle(t *testing.T) {
	busy := trace.ControllerSummary{Controller: "replicaset", Reconciles: 1, Writes: 1}
	alone := trace.ControllerSummary{Controller: "podgc", Writes: 1} // it writes by itself
	for _, tt := range []struct {
		name   string
		of     []trace.ControllerSummary
		rows   int
		counts string
	}{
		{"a few stand in rows", []trace.ControllerSummary{busy, {Controller: "a"}, {Controller: "b"}, {Controller: "c"}}, 4, ""},
		{"many are counted", []trace.ControllerSummary{busy, {Controller: "a", Reconciles: 2}, {Controller: "b"}, {Controller: "c"}, {Controller: "d"}, alone}, 2, "and 4 controllers that wrote nothing, in 2 reconciles\n"},
		{"a few that are all stand in rows", []trace.ControllerSummary{{Controller: "a"}, {Controller: "b"}, {Controller: "c"}}, 3, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := ControllerTable(&out, tt.of, ControllerTableOptions{}); err != nil {
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
	err := ControllerTable(&out, []trace.ControllerSummary{{Controller: "a"}, {Controller: "b"}, {Controller: "c"}, {Controller: "d"}}, ControllerTableOptions{})
	if want := "\nnone of 4 controllers wrote anything, in no reconciles\n"; err != nil || out.String() != want {
		t.Errorf("%q, %v, want %q", out.String(), err, want)
	}
}

func TestControllerTableMarksFailures(t *testing.T) {
	p := NewPalette(&bytes.Buffer{}, ColorAlways, os.Getenv)
	var out bytes.Buffer
	o := ControllerTableOptions{TableOptions: TableOptions{Palette: p}, Failing: func(name string) bool { return name == "bad" }}
	if err := ControllerTable(&out, []trace.ControllerSummary{{Controller: "healed", Failed: 5}, {Controller: "bad", Failed: 7}}, o); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), p.Trouble("7")) || strings.Contains(out.String(), p.Trouble("5")) {
		t.Errorf("failures of keys that fail still, and only they, are marked:\n%q", out.String())
	}
}

// TestTablesFitTheTerminal: no line is wider than the terminal, and the most important columns are there.
func TestTablesFitTheTerminal(t *testing.T) {
	controllers := []trace.ControllerSummary{
		{Controller: "horizontalpodautoscaling", Reconciles: 1234, Failed: 12, PutOff: 3, Retries: 45, Writes: 678, RefusedWrites: 90, P50: 1234567, P99: 28e6, WaitedP50: 14200, WaitedP99: 33300},
		{Controller: "deployment", Reconciles: 1},
	}
	objects := []ObjectRow{
		{Namespace: "shop", Name: "deployment.apps/web", Status: inspect.Status{Ready: "3/3", Status: "Current", Reason: "Deployment is available. Replicas: 3"}},
		{Namespace: "a-namespace-of-a-name", Name: "replicaset.apps/a-deployment-of-a-long-name-544fbbb6fb", Status: inspect.Status{Ready: "3/3", Status: "Terminating", Reason: "ReplicaSet is available"}},
	}
	writes := []WriteCountRow{{"deletecollection", "validatingadmissionpolicybindings.admissionregistration.k8s.io/status", 100, 1000, 10}}
	for _, tt := range []struct {
		width                int
		controller, of, word string // in the title lines
	}{
		{0, "CONTROLLER RECONCILES FAILED PUT OFF RETRIES WRITES REFUSED CONFLICTS P50 P99 WAITED P50 WAITED P99", "NAMESPACE OBJECT READY STATUS REASON", "WOULD RESOURCE OBJECTS WRITES REFUSED"},
		{100, "CONTROLLER RECONCILES FAILED PUT OFF RETRIES WRITES REFUSED CONFLICTS P99", "NAMESPACE OBJECT READY STATUS REASON", "WOULD RESOURCE OBJECTS WRITES REFUSED"},
		{80, "CONTROLLER RECONCILES FAILED WRITES REFUSED CONFLICTS", "NAMESPACE OBJECT READY STATUS REASON", "WOULD RESOURCE OBJECTS WRITES REFUSED"},
		{60, "CONTROLLER RECONCILES FAILED WRITES REFUSED", "NAMESPACE OBJECT READY STATUS", "WOULD RESOURCE WRITES REFUSED"},
	} {
		var out bytes.Buffer
		o := TableOptions{Width: tt.width}
		if err := errors.Join(ControllerTable(&out, controllers, ControllerTableOptions{TableOptions: o}), ObjectTable(&out, objects, o), WriteCountTable(&out, "WOULD", writes, o)); err != nil {
			t.Fatal(err)
		}
		var titles []string
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := cells(line); tt.width > 0 && n > tt.width {
				t.Errorf("at %d cells, a line has %d:\n%s", tt.width, n, line)
			}
			if tt.width == 0 && strings.Contains(line, "…") {
				t.Errorf("something is cut though there is no terminal:\n%s", line)
			}
			if fields := strings.Fields(line); len(fields) > 0 && strings.ToUpper(line) == line {
				titles = append(titles, strings.Join(fields, " "))
			}
		}
		if diff := cmp.Diff([]string{tt.controller, tt.of, tt.word}, titles); diff != "" {
			t.Errorf("titles at %d cells (-want +got):\n%s\n%s", tt.width, diff, &out)
		}
	}
}

func TestObjectTable(t *testing.T) {
	pod := func(name, ready, status string) ObjectRow {
		return ObjectRow{Namespace: "a", Fold: "pod", Name: "pod/" + name, Status: inspect.Status{Ready: ready, Status: status, Reason: "of " + name}}
	}
	for _, tt := range []struct {
		name   string
		in     []ObjectRow
		want   string
		reason string
	}{
		{"none", nil, "", "no objects, no table"},
		{"one", []ObjectRow{{Namespace: "a", Name: "deployment.apps/web", Status: inspect.Status{Ready: "3/3", Status: "Current", Reason: "fine"}}},
			"\nOBJECT                READY   STATUS    REASON\ndeployment.apps/web   3/3     Current   fine\n", "one namespace needs no column"},
		{"namespaces", []ObjectRow{{Namespace: "a", Name: "x/1", Status: inspect.Status{Status: "Current"}}, {Name: "node/n", Status: inspect.Status{Status: "Current"}}},
			"\nNAMESPACE   OBJECT   READY   STATUS    REASON\na           x/1      -       Current\n-           node/n   -       Current\n", "objects without a namespace have a dash"},
		{"three alike", []ObjectRow{pod("1", "1/1", "Current"), pod("2", "1/1", "Current"), pod("3", "1/1", "Current")},
			"\nOBJECT   READY   STATUS    REASON\npod/1    1/1     Current   of 1\npod/2    1/1     Current   of 2\npod/3    1/1     Current   of 3\n", "a few stand alone"},
		{"four alike", []ObjectRow{pod("1", "1/1", "Current"), pod("2", "1/1", "Current"), pod("bad", "0/1", "Failed"), pod("3", "1/1", "Current"), pod("4", "1/1", "Current")},
			"\nOBJECT    READY      STATUS    REASON\npod (4)   1/1 each   Current   of 1\npod/bad   0/1        Failed    of bad\n", "many in the same state share the row of the first; the one in another state keeps its own"},
		{"applied", []ObjectRow{{Name: "x/1", Status: inspect.Status{Status: "Current"}}, {Name: "x/2", Status: inspect.Status{Status: "Current"}}, {Name: "x/3", Status: inspect.Status{Status: "Current"}}, {Name: "x/4", Status: inspect.Status{Status: "Current"}}},
			"\nOBJECT   READY   STATUS    REASON\nx/1      -       Current\nx/2      -       Current\nx/3      -       Current\nx/4      -       Current\n", "what the user gave is never folded"},
		{"hostile", []ObjectRow{{Name: "x/\x1b[31m", Status: inspect.Status{Status: "Odd\n", Reason: "a\nb"}}},
			"\nOBJECT     READY   STATUS   REASON\nx/^[[31m   -       Odd⏎     a⏎ b\n", "texts of a cluster are escaped"},
		{"long message", []ObjectRow{{Name: "x/1", Status: inspect.Status{Status: "Current", Reason: strings.Repeat("m", 200)}}},
			"\nOBJECT   READY   STATUS    REASON\nx/1      -       Current   " + strings.Repeat("m", 200) + "\n", "without a terminal, nothing is cut"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := ObjectTable(&out, tt.in, TableOptions{}); err != nil {
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
		if err := ObjectTable(&out, []ObjectRow{{Name: "x/1", Status: inspect.Status{Status: status}}}, TableOptions{Palette: p}); err != nil {
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

func TestObjectTableErrors(t *testing.T) {
	rows := []ObjectRow{{Name: "x/1", Status: inspect.Status{Status: "Current"}}}
	for _, room := range []int{0, 1, 40} {
		if err := ObjectTable(&brokenWriter{room}, rows, TableOptions{}); !errors.Is(err, errBroken) {
			t.Errorf("writing fails after %d bytes, and yet: %v", room, err)
		}
	}
}
