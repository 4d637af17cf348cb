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
)

// StatusRow is an object in the table of `status`.
type StatusRow struct {
	// Name is the object's with its kind, as kubectl writes it; Short is the same without the group of the kind, for narrow
	// terminals.
	Namespace, Name, Short string
	Created, Now           time.Time
	inspect.Report
	// Writer is who wrote to it last; nil if that is not known.
	Writer *inspect.Writer
	// Gone says that it was deleted.
	Gone bool
}

// StatusOptions say how the table of `status` is drawn.
type StatusOptions struct {
	ListingOptions
	// Namespaces shows their column.
	Namespaces bool
	// Wide shows what is seldom wanted, too.
	Wide bool
	// Short shows short names.
	Short bool
	// Times shows when each row was written.
	Times bool
	// Drifted says that what tells of drift matters: without it, that goes first on a narrow terminal.
	Drifted bool
}

// StatusTable writes a row an object, in the order given; nothing without rows. Where the terminal has no room for all of
// it, names are short.
func StatusTable(w io.Writer, rows []StatusRow, o StatusOptions) error {
	return (&StatusPicture{}).Write(w, rows, o)
}

// NewStatusListing is the empty table of `status`, for rows that come by and by.
func NewStatusListing(o StatusOptions) *Listing { return NewListing(o.columns(), o.ListingOptions) }

func (o StatusOptions) columns() []Column {
	var out []Column
	if o.Times {
		out = append(out, Column{Title: "TIME"})
	}
	if o.Namespaces {
		out = append(out, Column{Title: "NAMESPACE", DropOrder: 10})
	}
	out = append(out, Column{Title: "NAME"}, Column{Title: "STATUS"})
	if o.Wide {
		out = append(out, Column{Title: "READY", DropOrder: 4})
	}
	out = append(out,
		Column{Title: "REASON", Truncatable: true, DropOrder: 9},
		Column{Title: "GEN", DropOrder: 2, Optional: !o.Drifted}, Column{Title: "OBSERVED", DropOrder: 1, Optional: !o.Drifted},
		Column{Title: "DRIFT", DropOrder: 7, Optional: !o.Drifted},
		Column{Title: "CONDITIONS", Truncatable: true, DropOrder: 5},
		Column{Title: "SINCE", DropOrder: 6}, Column{Title: "AGE", DropOrder: 3})
	if o.Wide {
		out = append(out,
			Column{Title: "KSTATUS", DropOrder: 1}, Column{Title: "WRITTEN BY", DropOrder: 1}, Column{Title: "WRITTEN", DropOrder: 1})
	}
	return out
}

// StatusCells are the cells of rows, for the Listing of the same options.
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

// deletedRow is the row of an object that is there no more: nothing that it said of itself holds any longer.
func (r *StatusRow) deletedRow() *StatusRow {
	gone := *r
	gone.Gone, gone.Report = false, inspect.Report{Status: inspect.Status{Status: statusDeleted}}
	return &gone
}

// statusDeleted stands in the place of a status.
const statusDeleted = "Deleted"

// StatusTone is how much a status asks to be looked at.
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

// dimIfEmpty keeps the dash of an empty cell from being coloured.
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

// drift says by how much the controller is behind. What it does not report is unknown, and never none.
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
		return toned("-", ToneDim) // there is nothing to be behind
	}
	return toned("unknown", ToneDim)
}

// conditionDrift is for objects of which only conditions are of an older generation.
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

// isBehind reports whether the condition itself tells an older generation; the drift of the object has a column.
func isBehind(c inspect.Condition) bool { return c.Drift == inspect.Behind && c.Generation != nil }

// conditions shows what asks for attention; where nothing does, the condition that sums the object up.
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

func (r *StatusRow) writer() []Cell {
	if r.Writer == nil {
		return []Cell{{Text: "-"}, {Text: "-"}}
	}
	return []Cell{{Text: WriterText(r.Writer)}, {Text: sinceText(r.Writer.Time, r.Now)}}
}

// WriterText says who wrote to an object, and to what of it.
func WriterText(w *inspect.Writer) string {
	if w.Subresource == "" {
		return w.Manager
	}
	return w.Manager + " (" + w.Subresource + ")"
}

// sinceText is how long ago that was, as kubectl writes ages.
func sinceText(t *metav1.Time, now time.Time) string {
	if t == nil {
		return "-"
	}
	return age(t.Time, now)
}

// age is the time from then to now; times to come are 0s, for clocks differ.
func age(then, now time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(0, now.Sub(then)))
}

// StatusPicture is the table of `status`, drawn again and again as objects change. Columns only grow while the terminal is
// as wide as it was, so that what can be read in the table does not change its place at every event. The zero value has
// drawn nothing. It is for one goroutine at a time.
type StatusPicture struct {
	width   int
	titles  []string
	widths  []int
	short   bool
	drifted bool
}

// Write writes a row an object, in the order given; nothing without rows. Where the terminal has no room for all of it,
// names are short, and drift is told only if there has been any.
func (p *StatusPicture) Write(w io.Writer, rows []StatusRow, o StatusOptions) error {
	if o.Width != p.width {
		*p = StatusPicture{width: o.Width}
	}
	p.drifted = p.drifted || slices.ContainsFunc(rows, func(r StatusRow) bool { return !r.Gone && r.Drifted() })
	o.Drifted, o.Short = p.drifted, p.short
	cells := StatusCells(rows, o)
	if !p.short && !p.listing(o).Fits(cells) {
		o.Short, p.short, p.titles = true, true, nil
		cells = StatusCells(rows, o)
	}
	listing := p.listing(o)
	err := listing.Write(w, cells)
	p.titles, p.widths = columnTitles(o.columns()), listing.widths
	return err
}

// listing is an empty table whose columns are as wide as they have been.
func (p *StatusPicture) listing(o StatusOptions) *Listing {
	out := NewStatusListing(o)
	if slices.Equal(p.titles, columnTitles(out.columns)) {
		copy(out.widths, p.widths)
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
