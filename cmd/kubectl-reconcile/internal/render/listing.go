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
	// Free says that its texts may be cut, the widest of such columns first, where lines are too long for the terminal.
	// Without a terminal nothing is cut: a text of more than mostPadded cells moves what follows it, and no other row.
	Free bool
	// Spare says that it goes before anything is cut.
	Spare bool
	// Rank orders the columns that are left out where cutting is not enough: the lowest first. 0 stays.
	Rank int
}

// Cell is a text of a Listing. It may come from a cluster: it is escaped when drawn.
type Cell struct {
	Text string
	Tone Tone
	// painted is Text in several tones, for columns that are not cut; both are escaped already. Empty: Tone is that of
	// all of it.
	painted string
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
	columns []Column
	o       ListingOptions
	widths  []int
	gap     int
	begun   bool
	measure *runewidth.Condition
}

// NewListing returns an empty table of these columns.
func NewListing(columns []Column, o ListingOptions) *Listing {
	return &Listing{columns: columns, o: o, widths: make([]int, len(columns)), gap: usualGap, measure: newMeasure()}
}

// Write writes rows, which have a cell a column, and before the first of them the header, unless there are no rows at
// all. It stops at the first error of w.
func (l *Listing) Write(w io.Writer, rows [][]Cell) error {
	if len(rows) == 0 {
		return nil
	}
	out := bufio.NewWriterSize(w, 1<<16)
	texts := l.texts(rows)
	limits := l.fit()
	if !l.begun && !l.o.NoHeader {
		titles := make([]measured, len(l.columns))
		for i, c := range l.columns {
			titles[i] = measured{Cell{Text: c.Title}, l.measure.StringWidth(c.Title)}
		}
		l.line(out, titles, limits)
	}
	l.begun = true
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

// texts escapes and measures the cells, and widens the columns for them.
func (l *Listing) texts(rows [][]Cell) [][]measured {
	if !l.begun && !l.o.NoHeader {
		for i, c := range l.columns {
			l.widths[i] = max(l.widths[i], l.measure.StringWidth(c.Title))
		}
	}
	out := make([][]measured, len(rows))
	all := make([]measured, len(rows)*len(l.columns))
	for r, row := range rows {
		out[r], all = all[:len(l.columns)], all[len(l.columns):]
		for i, c := range row {
			if c.painted == "" {
				c.Text = Escape(c.Text)
			}
			width := l.measure.StringWidth(c.Text)
			out[r][i] = measured{c, width}
			if width <= mostPadded || l.o.Width > 0 || !l.columns[i].Free {
				l.widths[i] = max(l.widths[i], width)
			}
		}
	}
	return out
}

// mostPadded is how wide a free column may be made without a terminal: one long text is no reason for a gap in every row.
const mostPadded = 72

// line writes one row, without blanks at its end.
func (l *Listing) line(out *bufio.Writer, row []measured, limits []int) {
	blanks := 0
	for i, c := range row {
		if limits[i] == left {
			continue
		}
		if c.width > limits[i] && l.o.Width > 0 {
			c.Text, c.painted = l.measure.Truncate(c.Text, limits[i], guidesOf(l.o.ASCII).ellipsis), ""
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
	if c.painted != "" {
		return c.painted
	}
	return l.o.Palette.Paint(c.Tone, c.Text)
}
