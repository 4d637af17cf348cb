package render

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// StatusRow is an object in the table of `status`. Its texts are escaped when written.
type StatusRow struct {
	// Name is the kind and the name of the object as kubectl writes them; Short is the same without the group of the
	// kind, for narrow terminals. Namespace is empty for objects without one.
	Namespace, Name, Short string
	Created, Now           time.Time
	inspect.Report
	// Writer wrote to the object last; nil if that is not known.
	Writer *fields.Writer
	// Gone is true if the object was deleted.
	Gone bool
}

// StatusOptions are the options of the table of `status`.
type StatusOptions struct {
	TableOptions
	// Namespaces shows the column of namespaces.
	Namespaces bool
	// Wide shows the columns of -o wide.
	Wide bool
	// Short shows StatusRow.Short instead of Name.
	Short bool
	// Times shows the column of the times at which rows were written.
	Times bool
	// Drifted is true if any object has drifted: if not, the columns of drift are left out first on a narrow terminal.
	Drifted bool
}

// StatusTable writes a row for each object, in the order given; nothing without rows. If the terminal is too narrow,
// names are short.
func StatusTable(w io.Writer, rows []StatusRow, o StatusOptions) error {
	return (&LiveStatusTable{}).Write(w, rows, o)
}

// NewStatusTable returns an empty table of `status`, to which rows of StatusCells can be written one after the other.
func NewStatusTable(o StatusOptions) *Table { return NewTable(o.columns(), o.TableOptions) }

// columns returns the columns of the table of `status`; StatusRow.cells has their cells.
func (o StatusOptions) columns() []Column {
	var out []Column
	if o.Times {
		out = append(out, Column{Title: "TIME"})
	}
	if o.Namespaces {
		out = append(out, Column{Title: "NAMESPACE", Names: true, DropOrder: 10})
	}
	out = append(out, Column{Title: "NAME", Names: true}, Column{Title: "STATUS"})
	if o.Wide {
		out = append(out, Column{Title: "READY", DropOrder: 4})
	}
	out = append(out,
		Column{Title: "REASON", Truncatable: true, DropOrder: 9},
		Column{Title: "GEN", DropOrder: 2, Optional: !o.Drifted},
		Column{Title: "OBSERVED", DropOrder: 1, Optional: !o.Drifted},
		Column{Title: "DRIFT", DropOrder: 7, Optional: !o.Drifted},
		Column{Title: "CONDITIONS", Truncatable: true, DropOrder: 5},
		Column{Title: "SINCE", DropOrder: 6}, Column{Title: "AGE", DropOrder: 3})
	if o.Wide {
		out = append(out,
			Column{Title: "KSTATUS", DropOrder: 1},
			Column{Title: "WRITTEN BY", DropOrder: 1}, Column{Title: "WRITTEN", DropOrder: 1})
	}
	return out
}

// StatusCells returns the cells of rows, for the table of NewStatusListing with the same options.
func StatusCells(rows []StatusRow, o StatusOptions) [][]Cell {
	out := make([][]Cell, len(rows))
	for i := range rows {
		out[i] = rows[i].cells(o)
	}
	return out
}

func (r *StatusRow) cells(o StatusOptions) []Cell {
	if r.Gone {
		return r.deletedRow().cells(o)
	}
	tone := StatusTone(r.Status)
	var out []Cell
	if o.Times {
		out = append(out, toned(r.Now.Format(time.TimeOnly), ToneDim))
	}
	if o.Namespaces {
		out = append(out, Cell{Text: dashIfEmpty(r.Namespace)})
	}
	name := r.Name
	if o.Short {
		name = r.Short
	}
	out = append(out, Cell{Text: name}, toned(r.Status.Status, tone))
	if o.Wide {
		out = append(out, Cell{Text: dashIfEmpty(r.Ready)})
	}
	out = append(out,
		toned(dashIfEmpty(r.Reason), dimIfEmpty(r.Reason, tone)),
		toned(generationText(r.Drift.Generation), ToneDim), toned(observedText(r.Drift.Observed), ToneDim), r.drift(),
		r.conditions(),
		Cell{Text: sinceText(r.Since, r.Now)}, Cell{Text: age(r.Created, r.Now)})
	if o.Wide {
		out = append(out, Cell{Text: dashIfEmpty(r.Kstatus)})
		out = append(out, r.writer()...)
	}
	return out
}

// deletedRow returns the row of an object that was deleted, without the status that it had.
func (r *StatusRow) deletedRow() *StatusRow {
	gone := *r
	gone.Gone, gone.Report = false, inspect.Report{Status: inspect.Status{Status: statusDeleted}}
	return &gone
}

// statusDeleted is shown as the status of an object that was deleted.
const statusDeleted = "Deleted"

// StatusTone returns the tone of a status.
func StatusTone(s inspect.Status) Tone {
	switch s.Status {
	case inspect.Current:
		return TonePlain
	case inspect.Suspended, statusDeleted:
		return ToneDim
	case inspect.InProgress, inspect.Terminating:
		return ToneChange
	case inspect.Unknown:
		if s.Unreported() {
			return ToneDim
		}
	}
	return ToneTrouble
}

// dimIfEmpty returns the tone of a text, or ToneDim if it is empty and shown as a dash.
func dimIfEmpty(text string, tone Tone) Tone {
	if text == "" {
		return ToneDim
	}
	return tone
}

func generationText(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

func observedText(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

// drift returns the cell that shows by how many generations the controller is behind. If it does not report that, it is
// unknown, never none.
func (r *StatusRow) drift() Cell {
	switch d := r.Drift; {
	case d.State == inspect.Behind:
		return toned(fmt.Sprintf("%d behind", d.Behind()), ToneChange)
	case d.State == inspect.NeverSeen:
		return toned("never seen", ToneChange)
	case r.Drifted():
		return r.conditionDrift()
	case d.State == inspect.Ahead:
		return toned(fmt.Sprintf("%d ahead", *d.Observed-d.Generation), ToneChange)
	case d.State == inspect.InSync:
		return toned("none", ToneDim)
	case d.Generation == 0:
		return toned("-", ToneDim) // the kind has no generations
	}
	return toned("unknown", ToneDim)
}

// conditionDrift returns the cell of an object of which only conditions are of an older generation.
func (r *StatusRow) conditionDrift() Cell {
	var behind []inspect.Condition
	for _, c := range r.Conditions {
		if isBehind(c) && !c.Superseded {
			behind = append(behind, c)
		}
	}
	if len(behind) == 1 {
		return toned(fmt.Sprintf("%s %d behind", behind[0].Type, r.Drift.Generation-*behind[0].Generation), ToneChange)
	}
	return toned(fmt.Sprintf("%d conditions behind", len(behind)), ToneChange)
}

// isBehind reports whether the condition has its own observed generation, and that is an older one.
func isBehind(c inspect.Condition) bool { return c.Drift == inspect.Behind && c.Generation != nil }

// conditions returns the conditions that need attention; if there are none, the one that sums up the object.
func (r *StatusRow) conditions() Cell {
	var parts []string
	tone := ToneDim
	for _, c := range r.Conditions {
		switch {
		case c.Bad:
			tone = ToneTrouble
		case c.Superseded:
			continue
		case isBehind(c), c.Status != "True" && c.Status != "False":
			tone = max(tone, ToneChange)
		default:
			continue
		}
		parts = append(parts, r.conditionText(c))
	}
	if len(parts) > 0 {
		return toned(strings.Join(parts, ", "), tone)
	}
	for _, c := range r.Conditions {
		if c.Status == "True" && (c.Type == "Ready" || c.Type == "Available" || c.Type == "Complete") {
			return toned(r.conditionText(c), ToneDim)
		}
	}
	return toned("-", ToneDim)
}

// conditionText returns a condition in one cell: Ready=False with its reason, if it is bad or unknown.
func (r *StatusRow) conditionText(c inspect.Condition) string {
	text := c.Type + "=" + c.Status
	if c.Of != "" {
		text = c.Of + ": " + text
	}
	if c.Reason != "" && (c.Bad || c.Status == "Unknown") {
		text += " " + c.Reason
	}
	if isBehind(c) {
		text += fmt.Sprintf(" (of generation %d)", *c.Generation)
	}
	return text
}

// writer returns the cells of -o wide that show who wrote to the object last, and when.
func (r *StatusRow) writer() []Cell {
	if r.Writer == nil {
		return []Cell{{Text: "-"}, {Text: "-"}}
	}
	return []Cell{{Text: WriterText(r.Writer)}, {Text: sinceText(r.Writer.Time, r.Now)}}
}

// WriterText returns the field manager that wrote to an object, and the subresource if it wrote to one.
func WriterText(w *fields.Writer) string {
	if w.Subresource == "" {
		return w.Manager
	}
	return w.Manager + " (" + w.Subresource + ")"
}

// sinceText returns how long ago a time was, as kubectl writes ages; a dash for nil.
func sinceText(t *metav1.Time, now time.Time) string {
	if t == nil {
		return "-"
	}
	return age(t.Time, now)
}

// age returns the time from then to now as kubectl writes it; a dash for the zero time.
func age(then, now time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return Age(now.Sub(then))
}

// Age returns how long ago something was as kubectl writes it. What is to come is 0s: clocks differ.
func Age(d time.Duration) string { return duration.HumanDuration(max(0, d)) }

// LiveStatusTable is the table of `status` when it is redrawn as objects change. Columns only grow while the terminal
// keeps its width, so that texts do not move at every event. The zero value is ready to use. It must not be used
// concurrently.
type LiveStatusTable struct {
	width   int
	titles  []string
	widths  []int
	short   bool
	drifted bool
}

// Write writes a row for each object, in the order given; nothing without rows. If the terminal is too narrow, names
// are short, and drift is shown only if any object has drifted since the terminal got its width.
func (t *LiveStatusTable) Write(w io.Writer, rows []StatusRow, o StatusOptions) error {
	if o.Width != t.width {
		*t = LiveStatusTable{width: o.Width}
	}
	t.drifted = t.drifted || slices.ContainsFunc(rows, func(r StatusRow) bool { return !r.Gone && r.Drifted() })
	o.Drifted, o.Short = t.drifted, t.short
	cells := StatusCells(rows, o)
	if !t.short && !t.table(o).Fits(cells) {
		o.Short, t.short, t.titles = true, true, nil
		cells = StatusCells(rows, o)
	}
	table := t.table(o)
	err := table.Write(w, cells)
	t.titles, t.widths = columnTitles(o.columns()), table.widths
	return err
}

// table returns an empty table whose columns are as wide as when they were drawn last.
func (t *LiveStatusTable) table(o StatusOptions) *Table {
	out := NewStatusTable(o)
	if slices.Equal(t.titles, columnTitles(out.columns)) {
		copy(out.widths, t.widths)
	}
	return out
}

func columnTitles(columns []Column) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Title
	}
	return out
}
