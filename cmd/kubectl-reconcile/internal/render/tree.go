package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// TreeItem is a line of a tree, and the lines below it. Its texts may come from a cluster: they are escaped when drawn.
type TreeItem struct {
	// Namespace stands in a column of its own if the items of a tree have several.
	Namespace string
	// Label is what the line is about: Deployment/web, or Pod (40) for several.
	Label string
	// Note is a remark beside the label; it may be empty.
	Note string
	// Asked marks what the user asked for.
	Asked bool
	// Dotted ties the item to the one above it by a dotted line: by something else than ownership.
	Dotted bool

	Ready, Status, Reason, Generation, Age string

	// Tone is that of Status and Reason, Drift that of Generation.
	Tone, Drift Tone
	// More are cells of further columns, as many as TreeOptions.More has titles; nil stands for empty ones.
	More []string
	// Children are drawn in the order given.
	Children []*TreeItem
}

// TreeOptions say how a tree is drawn. The zero value draws it without colours, in Unicode, as wide as it is.
type TreeOptions struct {
	Palette Palette
	// ASCII draws with letters that every terminal has.
	ASCII bool
	// Width is how many cells a line may have; 0 sets no bound. Reasons are cut to it, and if that is not enough, whole
	// columns are left out. Names are never cut.
	Width int
	// Namespaces shows the column of namespaces even where there is only one.
	Namespaces bool
	// More are the titles of further columns.
	More []string
}

// Tree writes a table, a row an item, whose names are drawn as a tree. Without items it writes nothing. It stops at the
// first error of w.
func Tree(w io.Writer, items []*TreeItem, o TreeOptions) error {
	l := newTreeLayout(items, o)
	return NewListing(l.columns(), ListingOptions{Palette: o.Palette, ASCII: o.ASCII, Width: o.Width}).Write(w, l.rows())
}

// guides are the letters that trees are drawn with.
type guides struct {
	branch, last, dotted, lastDotted, through, blank, asked, ellipsis string
}

func guidesOf(ascii bool) guides {
	if ascii {
		return guides{"|-", "`-", "|.", "`.", "| ", "  ", "(asked)", "..."}
	}
	return guides{"├─", "└─", "├┄", "└┄", "│ ", "  ", "◀", "…"}
}

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
	// maxIndentedLevels is how many levels are indented. Those further below keep the indent of the last and are numbered:
	// else the lines of a deep tree would be mostly blanks.
	maxIndentedLevels = 50
	// maxReason is how many letters of a reason are written where no terminal bounds them.
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

// add flattens an item and what is below it; guide stands before its label, below before the guides of its children.
// Level is how many items are above it.
func (l *treeLayout) add(item *TreeItem, guide, below string, level int) {
	l.items, l.names = append(l.items, item), append(l.names, l.name(item, guide, level))
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

// name is the cell of the tree itself.
func (l *treeLayout) name(item *TreeItem, guide string, level int) Cell {
	label := Escape(item.Label)
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

func (l *treeLayout) columns() []Column {
	var out []Column
	if l.Namespaces {
		out = append(out, Column{Title: "NAMESPACE", DropOrder: 5})
	}
	out = append(out,
		Column{Title: "NAME"}, Column{Title: "READY", DropOrder: 3}, Column{Title: "STATUS"},
		Column{Title: "REASON", Truncatable: true, DropOrder: 4}, Column{Title: "GEN", DropOrder: 2}, Column{Title: "AGE", DropOrder: 1})
	for _, title := range l.More {
		out = append(out, Column{Title: title})
	}
	return out
}

// rows are the cells of columns.
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
		toned(Cut(item.Reason, maxReason), item.Tone), toned(dashIfEmpty(item.Generation), item.Drift), Cell{Text: dashIfEmpty(item.Age)})
	for i := range l.More {
		text := ""
		if i < len(item.More) {
			text = item.More[i]
		}
		out = append(out, Cell{Text: dashIfEmpty(text)})
	}
	return out
}
