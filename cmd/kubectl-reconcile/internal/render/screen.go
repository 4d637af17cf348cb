package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// RefreshInterval is how often a screen is drawn again though nothing has changed: ages grow, and the terminal may have been
// resized.
const RefreshInterval = time.Second

// Screen shows text on a terminal, and then other text in its place. It needs no full screen, and leaves what it showed
// last when it is closed. It is for one goroutine at a time.
type Screen struct {
	out  io.Writer
	size func() (width, height int)

	shown         int // lines on the terminal
	width, height int // of the terminal when they were written
	measure       *runewidth.Condition
}

// NewScreen returns a screen on out, a terminal.
func NewScreen(out io.Writer) *Screen {
	return &Screen{out: out, size: func() (int, int) { return terminalSize(out) }, measure: newMeasure()}
}

// The size that a terminal has which does not tell.
const (
	usualWidth  = 80
	usualHeight = 24
)

func terminalSize(w any) (width, height int) {
	if f, ok := w.(descriptor); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return usualWidth, usualHeight
}

// Width is how many cells a line of the terminal has at the time.
func (s *Screen) Width() int {
	width, _ := s.size()
	return width
}

// What a terminal is told: they are those of ECMA-48 and of the VT510 that all emulators know. One that does not know
// how to hold a picture back until it is complete ignores that.
const (
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	holdPicture = "\x1b[?2026h"
	showPicture = "\x1b[?2026l"
	eraseLine   = "\x1b[K" // from the cursor to the end of the line
	eraseBelow  = "\x1b[J" // from the cursor to the end of the screen
	eraseAll    = "\x1b[H\x1b[2J"
	resetColour = "\x1b[0m"
)

// Show puts a text in the place of the one before, in one write. Lines that are too wide are cut, and of too many the last
// give way to one that says how many there are.
func (s *Screen) Show(text string) error {
	width, height := s.size()
	var out strings.Builder
	out.WriteString(holdPicture + hideCursor)
	switch {
	case s.shown == 0:
	case width != s.width || height != s.height:
		out.WriteString(eraseAll) // the terminal has moved what was there
	default:
		fmt.Fprintf(&out, "\x1b[%dA\r", s.shown)
	}
	lines := s.fitting(linesOf(text), width, height)
	for _, line := range lines {
		out.WriteString(line + eraseLine + "\r\n")
	}
	out.WriteString(eraseBelow + showPicture)
	s.shown, s.width, s.height = len(lines), width, height
	_, err := io.WriteString(s.out, out.String())
	return err
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// Close gives the terminal back its cursor.
func (s *Screen) Close() error {
	_, err := io.WriteString(s.out, showCursor)
	return err
}

// fitting cuts lines to the terminal. Its last line stays free for the cursor.
func (s *Screen) fitting(lines []string, width, height int) []string {
	var out []string
	room := max(height-1, 1)
	for i, line := range lines {
		if len(out) == room-1 && len(lines) > room {
			out = append(out, s.cut(fmt.Sprintf("... and %d more lines", len(lines)-i), width))
			break
		}
		out = append(out, s.cut(line, width))
	}
	return out
}

// cut cuts a line, which may have colours, to a number of cells.
func (s *Screen) cut(line string, width int) string {
	used := 0
	for i := 0; i < len(line); {
		if strings.HasPrefix(line[i:], "\x1b[") {
			if end := strings.IndexByte(line[i:], 'm'); end >= 0 {
				i += end + 1
				continue
			}
		}
		r := []rune(line[i:min(len(line), i+4)])[0]
		cells := s.measure.RuneWidth(r)
		if used+cells > width {
			return line[:i] + resetColour
		}
		used += cells
		i += len(string(r))
	}
	return line
}
