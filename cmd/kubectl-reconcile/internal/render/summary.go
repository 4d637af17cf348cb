package render

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// ControllerTable writes the figures of each controller; nothing if there are none. Those that had nothing to do are
// counted in a line of their own if they are many. dry says that what was written was not kept.
func ControllerTable(w io.Writer, p Palette, dry bool, controllers []trace.ControllerSummary) error {
	if len(controllers) == 0 {
		return nil
	}
	busy := slices.DeleteFunc(slices.Clone(controllers), idle)
	rest := len(controllers) - len(busy)
	switch {
	case rest <= unfolded:
		return controllerRows(w, p, dry, controllers)
	case len(busy) == 0:
		_, err := fmt.Fprintf(w, "\nnone of %d controllers had anything to do\n", rest)
		return err
	}
	if err := controllerRows(w, p, dry, busy); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "and %d controllers that had nothing to do\n", rest)
	return err
}

func idle(c trace.ControllerSummary) bool { return c.Reconciles == 0 && c.Writes == 0 }

func controllerRows(w io.Writer, p Palette, dry bool, controllers []trace.ControllerSummary) error {
	writes := "WRITES"
	if dry {
		writes = "WOULD WRITE"
	}
	header := []string{"CONTROLLER", "RECONCILES", "FAILED", "RETRIES", writes, "REFUSED", "P50", "P99", "WAITED P50", "WAITED P99"}
	var rows [][]string
	for _, c := range controllers {
		rows = append(rows, []string{
			c.Controller, strconv.Itoa(c.Reconciles), troubleCount(p, c.Failed), strconv.Itoa(c.Retries),
			strconv.Itoa(c.Writes - c.RefusedWrites), strconv.Itoa(c.RefusedWrites),
			Round(c.P50), Round(c.P99), Round(c.WaitedP50), Round(c.WaitedP99),
		})
	}
	// Where a terminal has no room for all, how long keys waited is what can be done without, and then the times, and then the ends of
	// names.
	width := TerminalWidth(w)
	for width > 0 && len(header) > 6 && tableWidth(header, rows) > width {
		header = header[:len(header)-2]
		for i := range rows {
			rows[i] = rows[i][:len(header)]
		}
	}
	fitColumn(0, header, rows, width)
	return Section(w, header, rows)
}

// tableWidth is how wide Table makes a table.
func tableWidth(header []string, rows [][]string) int {
	total := 3 * (len(header) - 1)
	for i, title := range header {
		widest := cells(title)
		for _, row := range rows {
			widest = max(widest, cells(row[i]))
		}
		total += widest
	}
	return total
}

// troubleCount marks a number that had better be 0.
func troubleCount(p Palette, n int) string {
	if n == 0 {
		return "0"
	}
	return p.Trouble(strconv.Itoa(n))
}

// Section writes a table after an empty line.
func Section(w io.Writer, header []string, rows [][]string) error {
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return Table(w, header, rows)
}

// ObjectRow is an object in the table of objects. Texts may come from a cluster: they are escaped here.
type ObjectRow struct {
	Namespace, Name       string
	Ready, Status, Reason string
	// Fold names what the object is folded under with others that are in the same state; empty if it stands alone.
	Fold string
}

// unfolded is how many objects of a sort and state, or controllers without work, may stand in rows of their own.
const unfolded = 3

// ObjectTable writes a row an object. Objects that may be folded and are in the same state share one row if they are
// many. The namespace is shown if there are several.
func ObjectTable(w io.Writer, p Palette, objects []ObjectRow) error {
	if len(objects) == 0 {
		return nil
	}
	several := slices.ContainsFunc(objects, func(o ObjectRow) bool { return o.Namespace != objects[0].Namespace })
	header := []string{"OBJECT", "READY", "STATUS", "REASON"}
	if several {
		header = append([]string{"NAMESPACE"}, header...)
	}
	var rows [][]string
	for _, o := range fold(objects) {
		tone := StatusTone(inspect.Status{Status: o.Status, Reason: o.Reason})
		row := []string{
			Escape(o.Name), dash(Escape(o.Ready)), p.Paint(tone, Escape(o.Status)), dash(Escape(Cut(o.Reason, 2*widest))),
		}
		if several {
			row = append([]string{dash(Escape(o.Namespace))}, row...)
		}
		rows = append(rows, row)
	}
	fitColumn(len(header)-1, header, rows, TerminalWidth(w))
	return Section(w, header, rows)
}

// leastFitted is how wide a column that is cut stays at least.
const leastFitted = 20

// fitColumn cuts what is in a column where the table would be wider than that; a width of 0 cuts nothing.
func fitColumn(n int, header []string, rows [][]string, width int) {
	over := tableWidth(header, rows) - width
	if width == 0 || over <= 0 {
		return
	}
	widest := cells(header[n])
	for _, row := range rows {
		widest = max(widest, cells(row[n]))
	}
	for _, row := range rows {
		row[n] = Cut(row[n], max(widest-over, leastFitted))
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// fold replaces objects of the same sort and state by one row, where they first stand, if they are many.
func fold(objects []ObjectRow) []ObjectRow {
	type state struct{ sort, namespace, ready, status string }
	of := func(o ObjectRow) state { return state{o.Fold, o.Namespace, o.Ready, o.Status} }
	many := map[state]int{}
	for _, o := range objects {
		many[of(o)]++
	}
	var out []ObjectRow
	for _, o := range objects {
		n := many[of(o)]
		switch {
		case o.Fold == "" || n > 0 && n <= unfolded:
			out = append(out, o)
		case n > 0:
			many[of(o)] = -1
			o.Name = fmt.Sprintf("%s (%d)", o.Fold, n)
			if o.Ready != "" {
				o.Ready += " each"
			}
			out = append(out, o)
		}
	}
	return out
}
