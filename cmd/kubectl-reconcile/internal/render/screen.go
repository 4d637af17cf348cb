package render

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"
)

// Screen draws lines in place on a terminal, over those that it drew before. It is for one goroutine.
type Screen struct {
	w     io.Writer
	drawn int
	// height is how many lines the terminal has; 0 sets no bound.
	height func() int
}

// NewScreen returns a screen on the terminal that w writes to, below what stands there.
func NewScreen(w io.Writer) *Screen {
	return &Screen{w: w, height: func() int { return terminalHeight(w) }}
}

func terminalHeight(w any) int {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok {
		return 0
	}
	_, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return height
}

// Draw draws the lines, which hold no line breaks, in one write: those that the terminal has no room for are left out, and
// counted. Lines that are too long are cut by the terminal.
func (s *Screen) Draw(lines []string) error {
	if room := s.height() - 1; room > 1 && len(lines) > room {
		more := fmt.Sprintf("… and %d more", len(lines)-room+1)
		lines = append(append([]string(nil), lines[:room-1]...), more)
	}
	var out strings.Builder
	out.WriteString("\x1b[?7l") // no wrapping: a line must stay one
	if s.drawn > 0 {
		fmt.Fprintf(&out, "\r\x1b[%dA", s.drawn)
	}
	for _, line := range lines {
		out.WriteString("\x1b[2K" + line + "\n") // erased before: behind a full line the cursor stands on its last letter
	}
	out.WriteString("\x1b[J\x1b[?7h")
	s.drawn = len(lines)
	_, err := io.WriteString(s.w, out.String())
	return err
}
