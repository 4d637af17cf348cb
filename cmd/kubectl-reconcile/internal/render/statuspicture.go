package render

import (
	"io"
	"slices"
)

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
	p.titles, p.widths = titles(o.columns()), listing.widths
	return err
}

// listing is an empty table whose columns are as wide as they have been.
func (p *StatusPicture) listing(o StatusOptions) *Listing {
	out := NewStatusListing(o)
	if slices.Equal(p.titles, titles(out.columns)) {
		copy(out.widths, p.widths)
	}
	return out
}

func titles(columns []Column) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Title
	}
	return out
}
