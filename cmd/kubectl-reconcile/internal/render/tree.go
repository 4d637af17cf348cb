package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// TreeItem is a row of a tree, and the rows below it. Its texts may come from a cluster: they are escaped when written.
type TreeItem struct {
	// Namespace is shown in a column if the items of a tree have several.
	Namespace string
	// Label names one object, Deployment/web, or several, Pod (40).
	Label string
	// Note is a remark beside the label; it may be empty.
	Note string
	// Asked marks what the user asked for.
	Asked bool
	// Dotted draws the line to the item above it dotted: the relation is another than ownership.
	Dotted bool

	Ready, Status, Reason, Generation, Age string

	// Tone is that of Status and Reason, Drift that of Generation.
	Tone, Drift Tone
	// More are the cells of further columns, in the order of TreeOptions.More; those that are missing are empty.
	More []string
	// Children are drawn in the order given.
	Children []*TreeItem
}

// TreeOptions are the options of Tree. The zero value draws without colours, in Unicode, at any width.
type TreeOptions struct {
	Palette Palette
	// ASCII draws with ASCII only.
	ASCII bool
	// Width is how many cells a line may have; 0 sets no bound. Reasons are cut to it, if that is not enough, whole
	// columns are left out, and at last names are cut in the middle.
	Width int
	// Namespaces shows the column of namespaces even if there is only one.
	Namespaces bool
	// More are the titles of further columns.
	More []string
}

// Tree writes a table with a row for each item, whose names are drawn as a tree; nothing without items. It returns
// the first error of w.
func Tree(w io.Writer, items []*TreeItem, o TreeOptions) error {
	l := newTreeLayout(items, o)
	return NewTable(l.columns(), TableOptions{Palette: o.Palette, ASCII: o.ASCII, Width: o.Width}).Write(w, l.rows())
}

// guides are the characters that trees are drawn with.
type guides struct {
	branch, last, dotted, lastDotted, through, blank, asked, ellipsis string
}

// guidesOf returns the guides in ASCII or in Unicode.
func guidesOf(ascii bool) guides {
	if ascii {
		return guides{"|-", "`-", "|.", "`.", "| ", "  ", "(asked)", "..."}
	}
	return guides{"├─", "└─", "├┄", "└┄", "│ ", "  ", "◀", "…"}
}

// connector returns what connects an item to the one above it.
func (g guides) connector(dotted, last bool) string {
	switch {
	case dotted && last:
		return g.lastDotted
	case dotted:
		return g.dotted
	case last:
		return g.last
	}
	return g.branch
}

const (
	// maxIndentedLevels is how many levels are indented. Deeper ones keep the indent of the last, and are numbered:
	// else the rows of a deep tree would be mostly blanks, and its size would grow with the square of its depth.
	maxIndentedLevels = 50
	// maxReason bounds a reason, in runes, where no terminal does.
	maxReason = 500
)

// treeLayout makes the rows of a tree.
type treeLayout struct {
	TreeOptions
	guides guides
	items  []*TreeItem
	names  []Cell
}

func newTreeLayout(items []*TreeItem, o TreeOptions) *treeLayout {
	l := &treeLayout{TreeOptions: o, guides: guidesOf(o.ASCII)}
	for _, item := range items {
		l.add(item, "", "", 0)
	}
	l.Namespaces = l.Namespaces || l.severalNamespaces()
	return l
}

// add appends an item and what is below it. guide is written before its label, below before the guides of its children;
// level is the number of its ancestors.
func (l *treeLayout) add(item *TreeItem, guide, below string, level int) {
	l.items, l.names = append(l.items, item), append(l.names, l.name(item, guide, level, 0))
	for i, child := range item.Children {
		last := i == len(item.Children)-1
		further := l.guides.through
		if last {
			further = l.guides.blank
		}
		if level >= maxIndentedLevels {
			further = ""
		}
		l.add(child, below+l.guides.connector(child.Dotted, last), below+further, level+1)
	}
}

// name returns the cell of an item in the column that draws the tree, with a label of at most room characters; 0 does
// not cut it.
func (l *treeLayout) name(item *TreeItem, guide string, level, room int) Cell {
	label := Escape(item.Label)
	if room > 0 {
		label = cutMiddle(label, room, l.guides.ellipsis)
	}
	out := Cell{Text: guide + label, coloured: l.Palette.Dim(guide) + label}
	note := item.Note
	if level > maxIndentedLevels {
		note = strings.TrimSuffix(fmt.Sprintf("level %d, %s", level, note), ", ")
	}
	if note != "" {
		note := "  " + Escape(note)
		out.Text, out.coloured = out.Text+note, out.coloured+l.Palette.Dim(note)
	}
	if item.Asked {
		out.Text, out.coloured = out.Text+"  "+l.guides.asked, out.coloured+"  "+l.Palette.Strong(l.guides.asked)
	}
	beside := cells(out.Text) - cells(label)
	out.shorten = func(width int) Cell { return l.name(item, guide, level, max(width-beside, leastName)) }
	return out
}

func (l *treeLayout) severalNamespaces() bool {
	one := ""
	for _, item := range l.items {
		if one != "" && item.Namespace != "" && item.Namespace != one {
			return true
		}
		one = cmp.Or(one, item.Namespace)
	}
	return false
}

// columns returns the columns of a tree; cells has the cells of an item.
func (l *treeLayout) columns() []Column {
	var out []Column
	if l.Namespaces {
		out = append(out, Column{Title: "NAMESPACE", Names: true, DropOrder: 5})
	}
	out = append(out,
		Column{Title: "NAME", Names: true}, Column{Title: "READY", DropOrder: 3}, Column{Title: "STATUS"},
		Column{Title: "REASON", Truncatable: true, DropOrder: 4},
		Column{Title: "GEN", DropOrder: 2}, Column{Title: "AGE", DropOrder: 1})
	for _, title := range l.More {
		out = append(out, Column{Title: title})
	}
	return out
}

// rows returns a row for each item, with a cell for each of columns.
func (l *treeLayout) rows() [][]Cell {
	out := make([][]Cell, len(l.items))
	for i, item := range l.items {
		out[i] = l.cells(item, l.names[i])
	}
	return out
}

func (l *treeLayout) cells(item *TreeItem, name Cell) []Cell {
	out := make([]Cell, 0, 7+len(l.More))
	if l.Namespaces {
		out = append(out, Cell{Text: dashIfEmpty(item.Namespace)})
	}
	out = append(out,
		name, Cell{Text: dashIfEmpty(item.Ready)}, toned(dashIfEmpty(item.Status), item.Tone),
		toned(Cut(item.Reason, maxReason), item.Tone),
		toned(dashIfEmpty(item.Generation), item.Drift), Cell{Text: dashIfEmpty(item.Age)})
	for i := range l.More {
		text := ""
		if i < len(item.More) {
			text = item.More[i]
		}
		out = append(out, Cell{Text: dashIfEmpty(text)})
	}
	return out
}
