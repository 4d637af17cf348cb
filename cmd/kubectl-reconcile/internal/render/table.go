package render

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// Column is a column of a Table.
type Column struct {
	// Title is written above it as it is.
	Title string
	// Truncatable is true if its texts may be cut, as inspect.CutText does, the widest of such columns first, where
	// rows are wider than the terminal. Without a terminal nothing is cut: a text wider than maxPadded cells shifts the
	// rest of its row, but no other row.
	Truncatable bool
	// Names is true if its texts are names. Where nothing else can be cut, and the last truncatable column would be
	// left out, they are cut in the middle: they end in what distinguishes them.
	Names bool
	// Optional is true if it is left out before any text is cut.
	Optional bool
	// DropOrder is the order in which columns are left out where cutting is not enough, the lowest first. A column
	// with 0 is never left out.
	DropOrder int
}

// Cell is a text of a Table. It may come from a cluster: it is escaped when written.
type Cell struct {
	Text string
	Tone Tone
	// coloured is Text with the escape sequences of several tones; both are escaped already. If it is empty, all of
	// Text has the tone Tone.
	coloured string
	// shorten returns the cell cut to a width; nil if any part of it may be cut.
	shorten func(width int) Cell
}

func toned(text string, tone Tone) Cell { return Cell{Text: text, Tone: tone} }

// TableOptions are the options of a Table. The zero value writes a header, no colours, and rows of any width.
type TableOptions struct {
	Palette Palette
	// ASCII marks texts that were cut with "..." instead of "…".
	ASCII bool
	// Width is how many cells a line may have; 0 sets no bound.
	Width int
	// NoHeader leaves out the titles.
	NoHeader bool
}

// Table is a table that looks like kubectl's, for any number of rows: no cell is measured or written twice. Rows may
// be written by several calls of Write: columns keep the widths of the earlier ones, or grow. It must not be used
// concurrently.
type Table struct {
	columns   []Column
	o         TableOptions
	widths    []int
	gap       int
	hasHeader bool
	measure   *runewidth.Condition
}

// NewTable returns an empty table.
func NewTable(columns []Column, o TableOptions) *Table {
	return &Table{columns: columns, o: o, widths: make([]int, len(columns)), gap: defaultGap, measure: newMeasure()}
}

// Write writes rows, each with a cell for every column, and the header before the first row; nothing without rows. It
// returns the first error of w.
func (l *Table) Write(w io.Writer, rows [][]Cell) error {
	if len(rows) == 0 {
		return nil
	}
	out := bufio.NewWriterSize(w, 1<<16)
	texts := l.measureRows(rows)
	limits := l.fit()
	if !l.hasHeader && !l.o.NoHeader {
		titles := make([]measured, len(l.columns))
		for i, c := range l.columns {
			titles[i] = measured{Cell{Text: c.Title}, l.measure.StringWidth(c.Title)}
		}
		l.line(out, titles, limits)
	}
	l.hasHeader = true
	for _, row := range texts {
		l.line(out, row, limits)
	}
	return out.Flush() // a Writer of bufio keeps its first error
}

// measured is an escaped cell and its width on a terminal.
type measured struct {
	Cell
	width int
}

// measureRows escapes and measures cells, and widens the columns to fit them.
func (l *Table) measureRows(rows [][]Cell) [][]measured {
	if !l.hasHeader && !l.o.NoHeader {
		for i, c := range l.columns {
			l.widths[i] = max(l.widths[i], l.measure.StringWidth(c.Title))
		}
	}
	out := make([][]measured, len(rows))
	all := make([]measured, len(rows)*len(l.columns))
	for r, row := range rows {
		out[r], all = all[:len(l.columns)], all[len(l.columns):]
		for i, c := range row {
			if c.coloured == "" {
				c.Text = Escape(c.Text)
			}
			width := l.measure.StringWidth(c.Text)
			out[r][i] = measured{c, width}
			if width <= maxPadded || l.o.Width > 0 || !l.columns[i].Truncatable {
				l.widths[i] = max(l.widths[i], width)
			}
		}
	}
	return out
}

// maxPadded bounds the width of a truncatable column without a terminal: one long text must not widen every row.
const maxPadded = 72

// line writes one row, without trailing blanks.
func (l *Table) line(out *bufio.Writer, row []measured, limits []int) {
	blanks := 0
	for i, c := range row {
		if limits[i] == dropped {
			continue
		}
		if c.width > limits[i] && l.o.Width > 0 {
			c.Cell = l.shortened(c.Cell, l.columns[i], limits[i])
			c.width = l.measure.StringWidth(c.Text)
		}
		if c.Text != "" {
			_, _ = out.WriteString(strings.Repeat(" ", blanks))
			_, _ = out.WriteString(l.paint(c.Cell))
			blanks = 0
		}
		blanks += max(0, limits[i]-c.width) + l.gap
	}
	_ = out.WriteByte('\n') // Flush returns the first error
}

// shortened returns a cell of a column cut to a width.
func (l *Table) shortened(c Cell, column Column, width int) Cell {
	ellipsis := guidesOf(l.o.ASCII).ellipsis
	cut := func(text string, most int) string { return l.measure.Truncate(text, most, ellipsis) }
	switch {
	case c.shorten != nil:
		c = c.shorten(width)
	case column.Names:
		c.Text = cutMiddle(c.Text, width, ellipsis)
	default:
		c.Text, c.coloured = inspect.CutText(c.Text, width, cut), ""
	}
	if l.measure.StringWidth(c.Text) > width { // wide characters, or what may not be cut
		c.Text, c.coloured = cut(c.Text, width), ""
	}
	return c
}

// cutMiddle cuts a name to a number of characters.
func cutMiddle(name string, most int, ellipsis string) string {
	runes := []rune(name)
	keep := most - utf8.RuneCountInString(ellipsis)
	if len(runes) <= most || keep < 2 {
		return name
	}
	return string(runes[:keep-keep/2]) + ellipsis + string(runes[len(runes)-keep/2:])
}

func (l *Table) paint(c Cell) string {
	if c.coloured != "" {
		return c.coloured
	}
	return l.o.Palette.Paint(c.Tone, c.Text)
}

// The blanks between two columns: as kubectl has them; on a terminal that is too narrow for them; and on one that is
// too narrow even so.
const (
	defaultGap = 3
	narrowGap  = 2
	leastGap   = 1
)

// The widths that columns keep on a narrow terminal: less important columns are left out before a text is cut below
// preferredWidth, then names are cut, but not below preferredName, then all are cut, and truncatable columns themselves
// are left out before a text is cut below leastWidth and a name below leastName.
const (
	preferredWidth = 24
	leastWidth     = 12
	preferredName  = 24
	leastName      = 16
)

// dropped marks a column that is left out.
const dropped = -1

// Fits reports whether the terminal is wide enough for these rows without cutting or leaving out anything.
func (l *Table) Fits(rows [][]Cell) bool {
	if l.o.Width <= 0 {
		return true
	}
	probe := NewTable(l.columns, l.o)
	copy(probe.widths, l.widths)
	probe.measureRows(rows)
	return probe.total(probe.widths) <= l.o.Width
}

// fit returns the width of each column on the terminal; dropped for those that are left out.
func (l *Table) fit() []int {
	limits := append([]int(nil), l.widths...)
	if l.o.Width <= 0 || l.total(limits) <= l.o.Width {
		return limits
	}
	l.gap = narrowGap
	l.dropOptional(limits)
	for l.total(limits) > l.o.Width {
		if !l.shrink(limits) {
			l.gap = leastGap
			return limits
		}
	}
	l.widen(limits)
	return limits
}

// dropOptional leaves out optional columns until the others fit.
func (l *Table) dropOptional(limits []int) {
	for l.total(limits) > l.o.Width {
		least := dropped
		for i, c := range l.columns {
			if c.Optional && limits[i] != dropped && (least < 0 || c.DropOrder < l.columns[least].DropOrder) {
				least = i
			}
		}
		if least < 0 {
			return
		}
		limits[least] = dropped
	}
}

// shrink makes one column narrower or leaves it out; it returns false if nothing can be made narrower.
func (l *Table) shrink(limits []int) bool {
	if l.cut(limits, preferredWidth, isTruncatable) {
		return true
	}
	least := l.leastImportant(limits)
	if (least < 0 || l.isLastTruncatable(limits, least)) &&
		(l.cut(limits, preferredName, hasNames) || l.cut(limits, leastWidth, isTruncatable) ||
			l.cut(limits, leastName, hasNames)) {
		return true
	}
	if least >= 0 {
		limits[least] = dropped
	}
	return least >= 0
}

func isTruncatable(c Column) bool { return c.Truncatable }

func hasNames(c Column) bool { return c.Names }

// cut narrows the widest of some columns as far as needed, but not below the next widest one nor below keep cells; it
// returns false if none is wider than that.
func (l *Table) cut(limits []int, keep int, of func(Column) bool) bool {
	widest, next := dropped, keep
	for i, c := range l.columns {
		switch {
		case !of(c) || limits[i] <= keep:
		case widest == dropped:
			widest = i
		case limits[i] > limits[widest]:
			widest, next = i, limits[widest]
		default:
			next = max(next, limits[i])
		}
	}
	if widest == dropped {
		return false
	}
	limits[widest] -= min(l.total(limits)-l.o.Width, max(1, limits[widest]-next))
	return true
}

// leastImportant returns the column to leave out next; it is negative if no column may be left out.
func (l *Table) leastImportant(limits []int) int {
	least := dropped
	for i, c := range l.columns {
		if c.DropOrder > 0 && limits[i] != dropped && (least < 0 || c.DropOrder < l.columns[least].DropOrder) {
			least = i
		}
	}
	return least
}

// isLastTruncatable reports whether the column is the only truncatable one that is not left out.
func (l *Table) isLastTruncatable(limits []int, column int) bool {
	for i, c := range l.columns {
		if c.Truncatable && limits[i] != dropped && i != column {
			return false
		}
	}
	return l.columns[column].Truncatable
}

// widen gives truncatable columns, and then names, the room that leaving out others has left.
func (l *Table) widen(limits []int) {
	for _, of := range []func(Column) bool{isTruncatable, hasNames} {
		for i, c := range l.columns {
			if of(c) && limits[i] != dropped {
				limits[i] += max(0, min(l.widths[i]-limits[i], l.o.Width-l.total(limits)))
			}
		}
	}
}

// total returns the width of a row, with the gaps.
func (l *Table) total(limits []int) int {
	n, columns := 0, 0
	for _, width := range limits {
		if width != dropped {
			n += width
			columns++
		}
	}
	return n + l.gap*max(0, columns-1)
}
