package render

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// columnGap are the blanks between two columns, as kubectl has them; a tree that is too wide for the terminal has fewer.
const (
	columnGap = "   "
	narrowGap = 2
	leastGap  = 1
)

// The cells that reasons keep on a narrow terminal: columns that say less go before they have fewer than goodReason, and they
// themselves before they have fewer than leastReason.
const (
	goodReason  = 24
	leastReason = 12
)

// cell is a text of a table: what is measured, and what is written.
type cell struct{ plain, painted string }

func plainCell(s string) cell { return cell{s, s} }

func paintedCell(p Palette, t Tone, s string) cell { return cell{s, p.Paint(t, s)} }

// column is one of the columns of a tree.
type column struct {
	title string
	width int
	of    func(*treeRow) cell
	// free texts are cut where lines are too long.
	free bool
	// rank orders the columns that a narrow terminal has no room for: the lowest goes first; 0 stays.
	rank int
}

// treeRow is a line of a tree before it is laid out.
type treeRow struct {
	item *TreeItem
	name cell
}

// treeLayout holds what drawing a tree takes.
type treeLayout struct {
	TreeOptions
	guides  guides
	rows    []treeRow
	columns []*column
	// gap are the blanks between two columns.
	gap int
	// wide measures text as terminals draw it: box drawing takes one cell, whatever the locale.
	wide *runewidth.Condition
}

// treeLines lays out a tree, and yields its lines, the header first.
func treeLines(items []*TreeItem, o TreeOptions) iter.Seq[string] {
	l := &treeLayout{TreeOptions: o, guides: guidesOf(o.ASCII), gap: len(columnGap), wide: &runewidth.Condition{StrictEmojiNeutral: true}}
	for _, item := range items {
		l.add(item, "", "")
	}
	if len(l.rows) == 0 {
		return func(func(string) bool) {}
	}
	l.measure()
	l.fit()
	return l.lines
}

// add flattens an item and what is below it; guide stands before its label, below before the guides of its children.
func (l *treeLayout) add(item *TreeItem, guide, below string) {
	l.rows = append(l.rows, treeRow{item, l.name(item, guide)})
	for i, child := range item.Children {
		last := i == len(item.Children)-1
		further := l.guides.through
		if last {
			further = l.guides.blank
		}
		l.add(child, below+l.guides.tie(child.Dotted, last), below+further)
	}
}

// name is the cell of the tree itself.
func (l *treeLayout) name(item *TreeItem, guide string) cell {
	label := Escape(item.Label)
	out := cell{guide + label, l.Palette.Dim(guide) + label}
	if item.Note != "" {
		note := "  " + Escape(item.Note)
		out.plain, out.painted = out.plain+note, out.painted+l.Palette.Dim(note)
	}
	if item.Asked {
		out.plain, out.painted = out.plain+"  "+l.guides.asked, out.painted+"  "+l.Palette.Strong(l.guides.asked)
	}
	return out
}

// measure makes the columns, and finds out how wide each is.
func (l *treeLayout) measure() {
	l.columns = l.allColumns()
	for _, c := range l.columns {
		c.width = len(c.title)
		for i := range l.rows {
			c.width = max(c.width, l.wide.StringWidth(c.of(&l.rows[i]).plain))
		}
	}
}

func (l *treeLayout) allColumns() []*column {
	var out []*column
	if l.Namespaces || l.severalNamespaces() {
		out = append(out, &column{title: "NAMESPACE", rank: 5, of: func(r *treeRow) cell { return plainCell(dash(Escape(r.item.Namespace))) }})
	}
	out = append(out,
		&column{title: "NAME", of: func(r *treeRow) cell { return r.name }},
		&column{title: "READY", rank: 3, of: func(r *treeRow) cell { return plainCell(dash(Escape(r.item.Ready))) }},
		&column{title: "STATUS", of: func(r *treeRow) cell { return paintedCell(l.Palette, r.item.Tone, dash(Escape(r.item.Status))) }},
		&column{title: "REASON", free: true, rank: 4, of: func(r *treeRow) cell { return paintedCell(l.Palette, r.item.Tone, Escape(r.item.Reason)) }},
		&column{title: "GEN", rank: 2, of: func(r *treeRow) cell { return paintedCell(l.Palette, r.item.Drift, dash(Escape(r.item.Generation))) }},
		&column{title: "AGE", rank: 1, of: func(r *treeRow) cell { return plainCell(dash(Escape(r.item.Age))) }},
	)
	for i, title := range l.More {
		out = append(out, &column{title: title, of: func(r *treeRow) cell {
			if i >= len(r.item.More) {
				return plainCell("-")
			}
			return plainCell(dash(Escape(r.item.More[i])))
		}})
	}
	return out
}

func (l *treeLayout) severalNamespaces() bool {
	one := ""
	for _, r := range l.rows {
		if one != "" && r.item.Namespace != "" && r.item.Namespace != one {
			return true
		}
		one = cmp.Or(one, r.item.Namespace)
	}
	return false
}

// fit makes lines short enough for the terminal: it cuts reasons, and where that is not enough leaves out columns.
func (l *treeLayout) fit() {
	if l.Width == 0 || l.total() <= l.Width {
		return
	}
	l.gap = narrowGap
	for l.total() > l.Width && !l.cutReasons() {
		if !l.dropOne() {
			l.gap = leastGap
			return
		}
	}
}

// cutReasons makes lines short enough by cutting reasons, if those still say something then.
func (l *treeLayout) cutReasons() bool {
	i := slices.IndexFunc(l.columns, func(c *column) bool { return c.free })
	if i < 0 {
		return false
	}
	reason := l.columns[i]
	least := goodReason
	if !slices.ContainsFunc(l.columns, func(c *column) bool { return c.rank > 0 && c.rank < reason.rank }) {
		least = leastReason
	}
	room := reason.width - (l.total() - l.Width)
	if room < min(least, reason.width) {
		return false
	}
	reason.width = room
	return true
}

// dropOne leaves out the column that is missed least; false if all must stay.
func (l *treeLayout) dropOne() bool {
	least := -1
	for i, c := range l.columns {
		if c.rank > 0 && (least < 0 || c.rank < l.columns[least].rank) {
			least = i
		}
	}
	if least < 0 {
		return false
	}
	l.columns = slices.Delete(l.columns, least, least+1)
	return true
}

func (l *treeLayout) total() int {
	n := l.gap * (len(l.columns) - 1)
	for _, c := range l.columns {
		n += c.width
	}
	return n
}

func (l *treeLayout) lines(yield func(string) bool) {
	var line strings.Builder
	header := func(c *column) cell { return plainCell(c.title) }
	if !yield(l.line(&line, header)) {
		return
	}
	for i := range l.rows {
		if !yield(l.line(&line, func(c *column) cell { return c.of(&l.rows[i]) })) {
			return
		}
	}
}

// line writes the cells of one row, without blanks at its end.
func (l *treeLayout) line(line *strings.Builder, of func(*column) cell) string {
	line.Reset()
	blanks := 0
	for _, c := range l.columns {
		text := of(c)
		width := l.wide.StringWidth(text.plain)
		if width > c.width {
			text, width = l.cut(text, c.width)
		}
		if text.plain != "" {
			line.WriteString(strings.Repeat(" ", blanks))
			line.WriteString(text.painted)
			blanks = 0
		}
		blanks += c.width - width + l.gap
	}
	return line.String()
}

// cut shortens a text that is one colour throughout.
func (l *treeLayout) cut(text cell, width int) (cell, int) {
	short := l.wide.Truncate(text.plain, width, l.guides.ellipsis)
	return cell{short, strings.Replace(text.painted, text.plain, short, 1)}, l.wide.StringWidth(short)
}
