// Package render makes text for a terminal out of the project's data: tables, colours, and the lines of a trace. It is
// the only package that knows what a terminal is. It reads no cluster and decides nothing.
package render

import (
	"fmt"
	"io"

	"github.com/fatih/color"
	"golang.org/x/term"
)

// ColorMode is the value of --color. It implements pflag.Value.
type ColorMode string

// The modes of --color.
const (
	ColorAuto   ColorMode = "auto"
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// Set implements pflag.Value.
func (m *ColorMode) Set(s string) error {
	switch v := ColorMode(s); v {
	case ColorAuto, ColorAlways, ColorNever:
		*m = v
		return nil
	}
	return fmt.Errorf("must be auto, always or never")
}

// String implements pflag.Value.
func (m *ColorMode) String() string { return string(*m) }

// Type implements pflag.Value.
func (m *ColorMode) Type() string { return "when" }

// descriptor is what files have.
type descriptor interface{ Fd() uintptr }

// IsTerminal reports whether w writes to a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(descriptor)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TerminalWidth is how many cells a line of the terminal has that w writes to; 0 if it is none.
func TerminalWidth(w any) int {
	f, ok := w.(descriptor)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Palette colours text for one writer. The zero value colours nothing.
type Palette struct {
	trouble, change, dim, strong *color.Color
}

// NewPalette returns the palette for w: in mode auto it colours if w is a terminal, TERM is not dumb and NO_COLOR is not
// set; getenv is os.Getenv or a stand-in for it. Any other mode wins over the environment.
func NewPalette(w io.Writer, mode ColorMode, getenv func(string) string) Palette {
	on := mode == ColorAlways || mode == ColorAuto && IsTerminal(w) && getenv("TERM") != "dumb" && getenv("NO_COLOR") == ""
	if !on {
		return Palette{}
	}
	enabled := func(attributes ...color.Attribute) *color.Color {
		c := color.New(attributes...)
		c.EnableColor() // each by itself: the package decides for the whole process, by stdout
		return c
	}
	return Palette{
		trouble: enabled(color.FgRed),
		change:  enabled(color.FgYellow),
		dim:     enabled(color.Faint),
		strong:  enabled(color.Bold),
	}
}

// Trouble marks what is wrong.
func (p Palette) Trouble(s string) string { return paint(p.trouble, s) }

// Change marks what changed or changes.
func (p Palette) Change(s string) string { return paint(p.change, s) }

// Dim marks what is seldom read.
func (p Palette) Dim(s string) string { return paint(p.dim, s) }

// Strong marks what a block is about.
func (p Palette) Strong(s string) string { return paint(p.strong, s) }

func paint(c *color.Color, s string) string {
	if c == nil || s == "" {
		return s
	}
	return c.Sprint(s)
}
