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
	Free bool
	// Rank orders the columns that are left out where cutting is not enough: the lowest first. 0 stays.
	Rank int
}

// Cell is a text of a Listing. It may come from a cluster: it is escaped when drawn.
type Cell struct {
	Text string
	Tone Tone
}

// ListingOptions say how a Listing is drawn. The zero value draws it with a header, without colours, as wide as it is.
type ListingOptions struct {
	Palette Palette
	// Width is how many cells a line may have; 0 sets no bound.
	Width int
	// NoHeader leaves out the titles.
	NoHeader bool
}

// Listing is a flat table of objects, as kubectl's tables look, for any number of rows: no cell is measured or written
// twice. Rows may be written in parts, of which later ones keep to the columns of the first as far as they can. It is for one
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
	return &Listing{columns: columns, o: o, widths: make([]int, len(columns)), gap: listingGap, measure: &runewidth.Condition{StrictEmojiNeutral: true}}
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
			l.widths[i] = l.measure.StringWidth(c.Title)
		}
	}
	out := make([][]measured, len(rows))
	all := make([]measured, len(rows)*len(l.columns))
	for r, row := range rows {
		out[r], all = all[:len(l.columns)], all[len(l.columns):]
		for i, c := range row {
			c.Text = Escape(c.Text)
			width := l.measure.StringWidth(c.Text)
			out[r][i] = measured{c, width}
			l.widths[i] = max(l.widths[i], width)
		}
	}
	return out
}

// Free columns are cut in two steps: columns of a rank are left out before a text is cut that can still be read, and only
// then goes on what tells next to nothing.
const (
	readableFree = 18
	leastFree    = 6
)

// Blanks between two columns, and those on a terminal that has no room for them.
const (
	listingGap      = 3
	listingTightGap = 2
)

// left marks a column that is left out.
const left = -1

// fit returns how wide each column may be on the terminal.
func (l *Listing) fit() []int {
	limits := append([]int(nil), l.widths...)
	if l.o.Width <= 0 || l.total(limits) <= l.o.Width {
		return limits
	}
	l.gap = listingTightGap
	for l.total(limits) > l.o.Width {
		over := l.total(limits) - l.o.Width
		if widest := l.widestFree(limits, readableFree); widest >= 0 {
			limits[widest] -= min(over, l.room(limits, widest, readableFree))
		} else if least := l.least(limits, false); least >= 0 {
			limits[least] = left
		} else if widest := l.widestFree(limits, leastFree); widest >= 0 {
			limits[widest] -= min(over, l.room(limits, widest, leastFree))
		} else if least := l.least(limits, true); least >= 0 {
			limits[least] = left
		} else {
			return limits
		}
	}
	l.widen(limits)
	return limits
}

// widen gives the free columns what leaving out others has left over.
func (l *Listing) widen(limits []int) {
	for i, c := range l.columns {
		if c.Free && limits[i] != left {
			limits[i] += max(0, min(l.widths[i]-limits[i], l.o.Width-l.total(limits)))
		}
	}
}

// total is how many cells a line takes, with the gaps.
func (l *Listing) total(limits []int) int {
	n, columns := 0, 0
	for _, width := range limits {
		if width != left {
			n += width
			columns++
		}
	}
	return n + l.gap*max(0, columns-1)
}

// widestFree is the widest column that can be cut and keep so many cells, -1 if there is none.
func (l *Listing) widestFree(limits []int, keep int) int {
	widest := -1
	for i, c := range l.columns {
		if c.Free && limits[i] > keep && (widest < 0 || limits[i] > limits[widest]) {
			widest = i
		}
	}
	return widest
}

// room is how much of the widest free column goes before another is the widest.
func (l *Listing) room(limits []int, widest, keep int) int {
	next := keep
	for i, c := range l.columns {
		if c.Free && i != widest {
			next = max(next, limits[i])
		}
	}
	return max(1, limits[widest]-next)
}

// least is the column that is missed least, -1 if all that are there must stay. The last free column that has a rank stays
// unless even that is to go.
func (l *Listing) least(limits []int, last bool) int {
	least := -1
	for i, c := range l.columns {
		if c.Rank > 0 && limits[i] != left && (last || !c.Free || l.freeLeft(limits) > 1) && (least < 0 || c.Rank < l.columns[least].Rank) {
			least = i
		}
	}
	return least
}

func (l *Listing) freeLeft(limits []int) int {
	n := 0
	for i, c := range l.columns {
		if c.Free && limits[i] != left {
			n++
		}
	}
	return n
}

// Fits says whether the terminal has room for these rows without anything cut or left out.
func (l *Listing) Fits(rows [][]Cell) bool {
	if l.o.Width <= 0 {
		return true
	}
	probe := NewListing(l.columns, l.o)
	probe.texts(rows)
	return probe.total(probe.widths) <= l.o.Width
}

// line writes one row, without blanks at its end.
func (l *Listing) line(out *bufio.Writer, row []measured, limits []int) {
	blanks := 0
	for i, c := range row {
		if limits[i] == left {
			continue
		}
		if c.width > limits[i] {
			c.Text = l.measure.Truncate(c.Text, limits[i], "…")
			c.width = l.measure.StringWidth(c.Text)
		}
		if c.Text != "" {
			_, _ = out.WriteString(strings.Repeat(" ", blanks))
			_, _ = out.WriteString(l.o.Palette.Paint(c.Tone, c.Text))
			blanks = 0
		}
		blanks += limits[i] - c.width + l.gap
	}
	_ = out.WriteByte('\n') // Flush returns the first error
}
