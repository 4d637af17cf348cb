package render

import (
	"bufio"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Column is a column of a Listing.
type Column struct {
	// Title stands above it, as given.
	Title string
	// Truncatable says that its texts may be cut, the widest of such columns first, where lines are too long for the terminal.
	// Without a terminal nothing is cut: a text of more than mostPadded cells moves what follows it, and no other row.
	Truncatable bool
	// Optional says that it goes before anything is cut.
	Optional bool
	// DropOrder orders the columns that are left out where cutting is not enough: the lowest first. 0 stays.
	DropOrder int
}

// Cell is a text of a Listing. It may come from a cluster: it is escaped when drawn.
type Cell struct {
	Text string
	Tone Tone
	// coloured is Text in several tones, for columns that are not cut; both are escaped already. Empty: Tone is that of
	// all of it.
	coloured string
}

func toned(text string, tone Tone) Cell { return Cell{Text: text, Tone: tone} }

// ListingOptions say how a Listing is drawn. The zero value draws it with a header, without colours, as wide as it is.
type ListingOptions struct {
	Palette Palette
	// ASCII cuts texts with letters that every terminal has.
	ASCII bool
	// Width is how many cells a line may have; 0 sets no bound.
	Width int
	// NoHeader leaves out the titles.
	NoHeader bool
}

// Listing is a table of objects, as kubectl's tables look, for any number of rows: no cell is measured or written twice.
// Rows may be written in parts, of which later ones keep to the columns of the first as far as they can. It is for one
// goroutine at a time.
type Listing struct {
	columns   []Column
	o         ListingOptions
	widths    []int
	gap       int
	hasHeader bool
	measure   *runewidth.Condition
}

// NewListing returns an empty table of these columns.
func NewListing(columns []Column, o ListingOptions) *Listing {
	return &Listing{columns: columns, o: o, widths: make([]int, len(columns)), gap: defaultGap, measure: newMeasure()}
}

// Write writes rows, which have a cell a column, and before the first of them the header, unless there are no rows at
// all. It stops at the first error of w.
func (l *Listing) Write(w io.Writer, rows [][]Cell) error {
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

// measured is a cell, escaped, and the cells of the terminal that it takes.
type measured struct {
	Cell
	width int
}

// measureRows escapes and measures the cells, and widens the columns for them.
func (l *Listing) measureRows(rows [][]Cell) [][]measured {
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

// maxPadded is how wide a free column may be made without a terminal: one long text is no reason for a gap in every row.
const maxPadded = 72

// line writes one row, without blanks at its end.
func (l *Listing) line(out *bufio.Writer, row []measured, limits []int) {
	blanks := 0
	for i, c := range row {
		if limits[i] == dropped {
			continue
		}
		if c.width > limits[i] && l.o.Width > 0 {
			c.Text, c.coloured = l.measure.Truncate(c.Text, limits[i], guidesOf(l.o.ASCII).ellipsis), ""
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

func (l *Listing) paint(c Cell) string {
	if c.coloured != "" {
		return c.coloured
	}
	return l.o.Palette.Paint(c.Tone, c.Text)
}

// Blanks between two columns: as kubectl has them, on a terminal that has no room for them, and where even names do not
// fit.
const (
	defaultGap = 3
	narrowGap  = 2
	leastGap   = 1
)

// The cells that free columns keep on a narrow terminal: columns that say less go before they have fewer than goodFree,
// and they themselves before they have fewer than leastFree.
const (
	preferredWidth = 24
	leastWidth     = 12
)

// dropped marks a column that is left out.
const dropped = -1

// Fits reports whether the terminal has room for these rows without anything cut or left out.
func (l *Listing) Fits(rows [][]Cell) bool {
	if l.o.Width <= 0 {
		return true
	}
	probe := NewListing(l.columns, l.o)
	copy(probe.widths, l.widths)
	probe.measureRows(rows)
	return probe.total(probe.widths) <= l.o.Width
}

// fit returns how wide each column may be on the terminal.
func (l *Listing) fit() []int {
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

// dropOptional leaves out columns that can be spared, as many as it must.
func (l *Listing) dropOptional(limits []int) {
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

// shrink makes one column narrower, or leaves it out; false if all is as narrow as can be.
func (l *Listing) shrink(limits []int) bool {
	if l.cut(limits, preferredWidth) {
		return true
	}
	least := l.leastImportant(limits)
	if (least < 0 || l.isLastTruncatable(limits, least)) && l.cut(limits, leastWidth) {
		return true
	}
	if least >= 0 {
		limits[least] = dropped
	}
	return least >= 0
}

// cut narrows the widest free column as far as it must be, until it is no wider than another and has no less than keep;
// false if none is wider than that.
func (l *Listing) cut(limits []int, keep int) bool {
	widest, next := dropped, keep
	for i, c := range l.columns {
		switch {
		case !c.Truncatable || limits[i] <= keep:
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

// leastImportant is the column that is missed least; negative if all that are there must stay.
func (l *Listing) leastImportant(limits []int) int {
	least := dropped
	for i, c := range l.columns {
		if c.DropOrder > 0 && limits[i] != dropped && (least < 0 || c.DropOrder < l.columns[least].DropOrder) {
			least = i
		}
	}
	return least
}

// isLastTruncatable reports whether the column is the only free one that is there.
func (l *Listing) isLastTruncatable(limits []int, column int) bool {
	for i, c := range l.columns {
		if c.Truncatable && limits[i] != dropped && i != column {
			return false
		}
	}
	return l.columns[column].Truncatable
}

// widen gives the free columns what leaving out others has left over.
func (l *Listing) widen(limits []int) {
	for i, c := range l.columns {
		if c.Truncatable && limits[i] != dropped {
			limits[i] += max(0, min(l.widths[i]-limits[i], l.o.Width-l.total(limits)))
		}
	}
}

// total is how many cells a line takes, with the gaps.
func (l *Listing) total(limits []int) int {
	n, columns := 0, 0
	for _, width := range limits {
		if width != dropped {
			n += width
			columns++
		}
	}
	return n + l.gap*max(0, columns-1)
}
