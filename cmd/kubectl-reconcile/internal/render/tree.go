package render

import (
	"io"
	"runtime"
	"strings"
)

// Tone says how much a text asks to be looked at. The text says the same in words: a tone only helps to find it.
type Tone int

// The tones, the calmest first.
const (
	TonePlain   Tone = iota
	ToneDim          // seldom read
	ToneChange       // changing, or on its way
	ToneTrouble      // wrong
)

// Paint colours a text by its tone.
func (p Palette) Paint(t Tone, s string) string {
	switch t {
	case ToneDim:
		return p.Dim(s)
	case ToneChange:
		return p.Change(s)
	case ToneTrouble:
		return p.Trouble(s)
	case TonePlain:
	}
	return s
}

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

func (g guides) tie(dotted, last bool) string {
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

// ASCIIOnly reports whether the user's terminal may know no other letters, by the environment: getenv is os.Getenv or a
// stand-in for it. Without a locale there is nothing to go by but ASCII, unless on Windows, which has none.
func ASCIIOnly(getenv func(string) string) bool { return asciiOnly(getenv, runtime.GOOS) }

func asciiOnly(getenv func(string) string, system string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
		}
	}
	return system != "windows"
}
