package render

// Blanks between two columns: as kubectl has them, on a terminal that has no room for them, and where even names do not
// fit.
const (
	usualGap  = 3
	narrowGap = 2
	leastGap  = 1
)

// The cells that free columns keep on a narrow terminal: columns that say less go before they have fewer than goodFree,
// and they themselves before they have fewer than leastFree.
const (
	goodFree  = 24
	leastFree = 12
)

// left marks a column that is left out.
const left = -1

// Fits reports whether the terminal has room for these rows without anything cut or left out.
func (l *Listing) Fits(rows [][]Cell) bool {
	if l.o.Width <= 0 {
		return true
	}
	probe := NewListing(l.columns, l.o)
	copy(probe.widths, l.widths)
	probe.texts(rows)
	return probe.total(probe.widths) <= l.o.Width
}

// fit returns how wide each column may be on the terminal.
func (l *Listing) fit() []int {
	limits := append([]int(nil), l.widths...)
	if l.o.Width <= 0 || l.total(limits) <= l.o.Width {
		return limits
	}
	l.gap = narrowGap
	l.spare(limits)
	for l.total(limits) > l.o.Width {
		if !l.shrink(limits) {
			l.gap = leastGap
			return limits
		}
	}
	l.widen(limits)
	return limits
}

// spare leaves out columns that can be spared, as many as it must.
func (l *Listing) spare(limits []int) {
	for l.total(limits) > l.o.Width {
		least := left
		for i, c := range l.columns {
			if c.Spare && limits[i] != left && (least < 0 || c.Rank < l.columns[least].Rank) {
				least = i
			}
		}
		if least < 0 {
			return
		}
		limits[least] = left
	}
}

// shrink makes one column narrower, or leaves it out; false if all is as narrow as can be.
func (l *Listing) shrink(limits []int) bool {
	if l.cut(limits, goodFree) {
		return true
	}
	least := l.least(limits)
	if (least < 0 || l.lastFree(limits, least)) && l.cut(limits, leastFree) {
		return true
	}
	if least >= 0 {
		limits[least] = left
	}
	return least >= 0
}

// cut narrows the widest free column as far as it must be, until it is no wider than another and has no less than keep;
// false if none is wider than that.
func (l *Listing) cut(limits []int, keep int) bool {
	widest, next := left, keep
	for i, c := range l.columns {
		switch {
		case !c.Free || limits[i] <= keep:
		case widest == left:
			widest = i
		case limits[i] > limits[widest]:
			widest, next = i, limits[widest]
		default:
			next = max(next, limits[i])
		}
	}
	if widest == left {
		return false
	}
	limits[widest] -= min(l.total(limits)-l.o.Width, max(1, limits[widest]-next))
	return true
}

// least is the column that is missed least; negative if all that are there must stay.
func (l *Listing) least(limits []int) int {
	least := left
	for i, c := range l.columns {
		if c.Rank > 0 && limits[i] != left && (least < 0 || c.Rank < l.columns[least].Rank) {
			least = i
		}
	}
	return least
}

// lastFree reports whether the column is the only free one that is there.
func (l *Listing) lastFree(limits []int, column int) bool {
	for i, c := range l.columns {
		if c.Free && limits[i] != left && i != column {
			return false
		}
	}
	return l.columns[column].Free
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
