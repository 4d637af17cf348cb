package render

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// ControllerTableOptions are the options of ControllerTable.
type ControllerTableOptions struct {
	TableOptions
	// Dry is true if the writes were dry: they are titled as what would be written.
	Dry bool
	// Failing reports whether a key of the controller still fails: its failures are coloured. If nil, none does.
	Failing func(controller string) bool
}

// ControllerTable writes an empty line and the figures of each controller; nothing if there are none. Controllers
// that wrote nothing, and did not fail, are counted in one line if there are more than a few.
func ControllerTable(w io.Writer, controllers []trace.ControllerSummary, o ControllerTableOptions) error {
	if len(controllers) == 0 {
		return nil
	}
	busy := slices.DeleteFunc(slices.Clone(controllers), idle)
	rest, reconciles := len(controllers)-len(busy), 0
	for _, c := range controllers {
		if idle(c) {
			reconciles += c.Reconciles
		}
	}
	switch {
	case rest <= maxUnfolded:
		return controllerRows(w, controllers, o)
	case len(busy) == 0:
		_, err := fmt.Fprintf(w, "\nnone of %d controllers wrote anything, in %s\n", rest,
			counted(reconciles, "reconcile"))
		return err
	}
	if err := controllerRows(w, busy, o); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "and %d controllers that wrote nothing, in %s\n", rest, counted(reconciles, "reconcile"))
	return err
}

// idle reports whether a controller wrote nothing, and did not fail.
func idle(c trace.ControllerSummary) bool {
	return c.Writes+c.RefusedWrites+c.Conflicts+c.Failed+c.GaveUp == 0
}

func controllerRows(w io.Writer, controllers []trace.ControllerSummary, o ControllerTableOptions) error {
	writes := "WRITES"
	if o.Dry {
		writes = "WOULD WRITE"
	}
	columns := []Column{
		{Title: "CONTROLLER", Truncatable: true}, {Title: "RECONCILES"}, {Title: "FAILED"},
		{Title: "PUT OFF", DropOrder: 6}, {Title: "RETRIES", DropOrder: 5}, {Title: writes}, {Title: "REFUSED"},
		{Title: "CONFLICTS", DropOrder: 7},
		{Title: "P50", Optional: true, DropOrder: 3}, {Title: "P99", Optional: true, DropOrder: 4},
		{Title: "WAITED P50", Optional: true, DropOrder: 1}, {Title: "WAITED P99", Optional: true, DropOrder: 2},
	}
	var rows [][]Cell
	for _, c := range controllers {
		failed := toned(strconv.Itoa(c.Failed), TonePlain)
		if o.Failing != nil && o.Failing(c.Controller) {
			failed.Tone = ToneTrouble
		}
		row := []Cell{{Text: c.Controller}, {Text: strconv.Itoa(c.Reconciles)}, failed}
		for _, n := range []int{c.PutOff, c.Retries, c.Writes, c.RefusedWrites, c.Conflicts} {
			row = append(row, Cell{Text: strconv.Itoa(n)})
		}
		for _, d := range []trace.Duration{c.P50, c.P99, c.WaitedP50, c.WaitedP99} {
			row = append(row, Cell{Text: FormatDuration(d)})
		}
		rows = append(rows, row)
	}
	return section(w, columns, rows, o.TableOptions)
}

// section writes an empty line and a table; nothing without rows.
func section(w io.Writer, columns []Column, rows [][]Cell, o TableOptions) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return NewTable(columns, o).Write(w, rows)
}

// WriteCountRow counts the writes with one verb to one resource.
type WriteCountRow struct {
	Verb, Resource           string
	Objects, Writes, Refused int
}

// WriteCountTable writes an empty line and the counts of writes; nothing without rows. verbTitle is the title of the
// column of verbs.
func WriteCountTable(w io.Writer, verbTitle string, writes []WriteCountRow, o TableOptions) error {
	columns := []Column{
		{Title: verbTitle}, {Title: "RESOURCE", Truncatable: true}, {Title: "OBJECTS", DropOrder: 1},
		{Title: "WRITES"}, {Title: "REFUSED"},
	}
	var rows [][]Cell
	for _, r := range writes {
		row := []Cell{{Text: r.Verb}, {Text: r.Resource}}
		for _, n := range []int{r.Objects, r.Writes, r.Refused} {
			row = append(row, Cell{Text: strconv.Itoa(n)})
		}
		rows = append(rows, row)
	}
	return section(w, columns, rows, o)
}

// ProgramTable writes an empty line and the requests of each program outside of the session; nothing if there are none.
func ProgramTable(w io.Writer, programs []trace.ProgramSummary, o TableOptions) error {
	if len(programs) == 0 {
		return nil
	}
	columns := []Column{
		{Title: "PROGRAM", Truncatable: true}, {Title: "GETS"}, {Title: "LISTS"}, {Title: "WATCHES"}, {Title: "WRITES"},
		{Title: "EVENTS", DropOrder: 3}, {Title: "CONFLICTS"}, {Title: "REFUSED"},
		{Title: "P50", Optional: true, DropOrder: 1}, {Title: "P99", Optional: true, DropOrder: 2},
	}
	var rows [][]Cell
	for _, p := range programs {
		row := []Cell{{Text: p.Program}}
		for _, n := range []int{p.Gets, p.Lists, p.Watches, p.Writes, p.Events, p.Conflicts, p.Refused} {
			row = append(row, Cell{Text: strconv.Itoa(n)})
		}
		rows = append(rows, append(row, Cell{Text: FormatDuration(p.P50)}, Cell{Text: FormatDuration(p.P99)}))
	}
	return section(w, columns, rows, o)
}

// ObjectRow is a row of ObjectTable.
type ObjectRow struct {
	Namespace, Name string
	Status          inspect.Status
	// Fold names the group that the object may be folded into with others in the same state; empty if it has its own
	// row.
	Fold string
}

// maxUnfolded is how many objects of a group and state, or idle controllers, have a row each.
const maxUnfolded = 3

// ObjectTable writes an empty line and a row for each object; nothing without objects. Objects that may be folded and
// are in the same state share one row if there are more than a few. Namespaces are shown if there are several.
func ObjectTable(w io.Writer, objects []ObjectRow, o TableOptions) error {
	columns := []Column{
		{Title: "OBJECT", Names: true}, {Title: "READY"}, {Title: "STATUS"},
		{Title: "REASON", Truncatable: true, DropOrder: 1},
	}
	several := slices.ContainsFunc(objects, func(row ObjectRow) bool { return row.Namespace != objects[0].Namespace })
	if several {
		columns = append([]Column{{Title: "NAMESPACE", Names: true}}, columns...)
	}
	var rows [][]Cell
	for _, object := range fold(objects) {
		status := object.Status
		row := []Cell{
			{Text: object.Name}, {Text: dashIfEmpty(status.Ready)}, toned(status.Status, StatusTone(status)),
			{Text: status.Reason},
		}
		if several {
			row = append([]Cell{{Text: dashIfEmpty(object.Namespace)}}, row...)
		}
		rows = append(rows, row)
	}
	return section(w, columns, rows, o)
}

// dashIfEmpty returns a text, or a dash if it is empty.
func dashIfEmpty(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// fold replaces objects of the same group and state, if there are more than a few, by one row in the place of the
// first.
func fold(objects []ObjectRow) []ObjectRow {
	type state struct{ group, namespace, ready, status string }
	of := func(o ObjectRow) state { return state{o.Fold, o.Namespace, o.Status.Ready, o.Status.Status} }
	many := map[state]int{}
	for _, o := range objects {
		many[of(o)]++
	}
	var out []ObjectRow
	for _, o := range objects {
		n := many[of(o)]
		switch {
		case o.Fold == "" || n > 0 && n <= maxUnfolded:
			out = append(out, o)
		case n > 0:
			many[of(o)] = -1
			o.Name = fmt.Sprintf("%s (%d)", o.Fold, n)
			if o.Status.Ready != "" {
				o.Status.Ready += " each"
			}
			out = append(out, o)
		}
	}
	return out
}
