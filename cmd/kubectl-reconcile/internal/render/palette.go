package render

import (
	"fmt"
	"io"

	"github.com/fatih/color"
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

// Palette colours text for one writer. The zero value colours nothing. It may be used concurrently.
type Palette struct {
	trouble, change, dim, strong *color.Color
}

// NewPalette returns the palette for w: in mode auto it colours if w is a terminal, TERM is not dumb and NO_COLOR is
// not set. Any other mode wins over the environment, which getenv reads as os.Getenv does.
func NewPalette(w io.Writer, mode ColorMode, getenv func(string) string) Palette {
	on := mode == ColorAlways ||
		mode == ColorAuto && IsTerminal(w) && getenv("TERM") != "dumb" && getenv("NO_COLOR") == ""
	if !on {
		return Palette{}
	}
	enabled := func(attributes ...color.Attribute) *color.Color {
		c := color.New(attributes...)
		c.EnableColor() // for each colour: the default of package color is one for the process, and looks at stdout
		return c
	}
	return Palette{
		trouble: enabled(color.FgRed),
		change:  enabled(color.FgYellow),
		dim:     enabled(color.Faint),
		strong:  enabled(color.Bold),
	}
}

// Trouble colours what is wrong.
func (p Palette) Trouble(s string) string { return paint(p.trouble, s) }

// Change colours what changed or is changing.
func (p Palette) Change(s string) string { return paint(p.change, s) }

// Dim colours what is seldom read.
func (p Palette) Dim(s string) string { return paint(p.dim, s) }

// Strong colours what a block or a heading is about.
func (p Palette) Strong(s string) string { return paint(p.strong, s) }

func paint(c *color.Color, s string) string {
	if c == nil || s == "" {
		return s
	}
	return c.Sprint(s)
}

// Tone is how much attention a text needs. The text says the same in words: a tone only helps to find it.
type Tone int

// The tones, by increasing attention.
const (
	TonePlain   Tone = iota
	ToneDim          // background: seldom read
	ToneChange       // changing, or in progress
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
