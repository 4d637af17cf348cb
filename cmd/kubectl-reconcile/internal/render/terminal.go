package render

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// descriptor is the part of a file by which IsTerminal finds out whether it is a terminal.
type descriptor interface{ Fd() uintptr }

// IsTerminal reports whether w writes to a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(descriptor)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TerminalWidth returns how many cells wide the terminal is that w writes to; 0 if w is no terminal or does not
// report it.
func TerminalWidth(w any) int {
	width, _ := TerminalSize(w)
	return width
}

// TerminalSize returns the size of the terminal that w writes to; zeros if w is no terminal or does not report it.
func TerminalSize(w any) (width, height int) {
	f, ok := w.(descriptor)
	if !ok {
		return 0, 0
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// ASCIIOnly reports whether the user's terminal may be unable to show Unicode, by the locale in the environment,
// which getenv reads as os.Getenv does. Without a locale it is POSIX's, which is ASCII, except on Windows, which has
// no such variables.
func ASCIIOnly(getenv func(string) string) bool { return asciiOnly(getenv, runtime.GOOS) }

func asciiOnly(getenv func(string) string, system string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
		}
	}
	return system != "windows"
}

// RefreshInterval is how often a screen is to be drawn again even if nothing has changed: ages grow, and the terminal
// may have been resized.
const RefreshInterval = time.Second

// Screen shows text on a terminal, and replaces it by other text in place. It does not switch to the alternate
// screen, and leaves what it showed last when it is closed. It must not be used concurrently.
type Screen struct {
	out  io.Writer
	size func() (width, height int)

	shown         int // lines on the terminal
	width, height int // of the terminal when they were written
	measure       *runewidth.Condition
}

// NewScreen returns a screen on out, which must be a terminal. It must be closed.
func NewScreen(out io.Writer) *Screen {
	return &Screen{out: out, size: func() (int, int) { return screenSize(out) }, measure: newMeasure()}
}

// The size that is assumed of a terminal that does not report it.
const (
	defaultWidth  = 80
	defaultHeight = 24
)

// screenSize returns the size of the terminal that w writes to, or a usual one if it is not known.
func screenSize(w any) (width, height int) {
	if width, height := TerminalSize(w); width > 0 && height > 0 {
		return width, height
	}
	return defaultWidth, defaultHeight
}

// Width returns how many cells wide the terminal is at present.
func (s *Screen) Width() int {
	width, _ := s.size()
	return width
}

// Control sequences of ECMA-48 and of the VT510, which all emulators know. A terminal without synchronized updates
// ignores beginUpdate and endUpdate.
const (
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	beginUpdate = "\x1b[?2026h"
	endUpdate   = "\x1b[?2026l"
	eraseLine   = "\x1b[K" // from the cursor to the end of the line
	eraseBelow  = "\x1b[J" // from the cursor to the end of the screen
	eraseAll    = "\x1b[H\x1b[2J"
	resetColour = "\x1b[0m"
)

// Show replaces the text that is shown, in one write. Lines that are too wide are cut; if there are too many, a line
// that counts the others replaces the last ones.
func (s *Screen) Show(text string) error {
	width, height := s.size()
	var out strings.Builder
	out.WriteString(beginUpdate + hideCursor)
	switch {
	case s.shown == 0:
	case width != s.width || height != s.height:
		out.WriteString(eraseAll) // a terminal that is resized moves lines
	default:
		fmt.Fprintf(&out, "\x1b[%dA\r", s.shown)
	}
	lines := s.fitLines(splitLines(text), width, height)
	for _, line := range lines {
		out.WriteString(line + eraseLine + "\r\n")
	}
	out.WriteString(eraseBelow + endUpdate)
	s.shown, s.width, s.height = len(lines), width, height
	_, err := io.WriteString(s.out, out.String())
	return err
}

// splitLines returns the lines of a text, whose last may end in a line break.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// Close shows the cursor again.
func (s *Screen) Close() error {
	_, err := io.WriteString(s.out, showCursor)
	return err
}

// fitLines cuts lines to the size of the terminal, whose last line is left to the cursor.
func (s *Screen) fitLines(lines []string, width, height int) []string {
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

// cut cuts a line, which may be coloured, to width cells.
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
