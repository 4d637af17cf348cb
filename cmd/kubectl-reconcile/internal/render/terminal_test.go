package render

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// terminal is as much of a terminal as a Screen needs: it keeps the lines, and where the cursor is.
type terminal struct {
	lines  []string
	row    int
	hidden bool
}

// Write understands what Screen writes, and nothing else.
func (t *terminal) Write(p []byte) (int, error) {
	for s := string(p); s != ""; {
		rest, err := t.one(s)
		if err != nil {
			return 0, err
		}
		s = rest
	}
	return len(p), nil
}

func (t *terminal) one(s string) (string, error) {
	for sequence, do := range map[string]func(){
		hideCursor: func() { t.hidden = true }, showCursor: func() { t.hidden = false },
		beginUpdate: func() {}, endUpdate: func() {}, "\r": func() {}, resetColour: func() {},
		eraseAll: func() { t.lines, t.row = nil, 0 }, eraseBelow: func() { t.lines = t.lines[:t.row] },
	} {
		if rest, ok := strings.CutPrefix(s, sequence); ok {
			do()
			return rest, nil
		}
	}
	var up int
	if n, _ := fmt.Sscanf(s, "\x1b[%dA", &up); n == 1 {
		t.row -= up
		if t.row < 0 {
			return "", errors.New("above the first line")
		}
		return s[strings.IndexByte(s, 'A')+1:], nil
	}
	line, rest, ok := strings.Cut(s, eraseLine+"\r\n")
	if !ok {
		return "", fmt.Errorf("not understood: %q", s)
	}
	t.lines = append(t.lines[:t.row], append([]string{line}, t.lines[min(t.row+1, len(t.lines)):]...)...)
	t.row++
	return rest, nil
}

func TestScreen(t *testing.T) {
	width, height := 10, 5
	shown := &terminal{}
	screen := NewScreen(shown)
	screen.size = func() (int, int) { return width, height }
	for _, tt := range []struct {
		lines         []string
		width, height int
		want          []string
		reason        string
	}{
		{[]string{"one", "two"}, 10, 5, []string{"one", "two"}, "the first text"},
		{[]string{"one", "2", "three"}, 10, 5, []string{"one", "2", "three"}, "the next in its place, with nothing left of it"},
		{[]string{"one"}, 10, 5, []string{"one"}, "fewer lines"},
		{nil, 10, 5, nil, "none"},
		{[]string{"1", "2", "3", "4"}, 10, 5, []string{"1", "2", "3", "4"}, "as many as there is room for"},
		{[]string{"1", "2", "3", "4", "5"}, 30, 5, []string{"1", "2", "3", "... and 2 more lines"}, "too many: how many is said; the terminal has changed its size"},
		{[]string{"日本日本日本", "a\x1b[31mbcdefghijk\x1b[0m"}, 7, 5, []string{"日本日" + resetColour, "a\x1b[31mbcdefg" + resetColour}, "too wide: cut by cells, colours are none"},
	} {
		width, height = tt.width, tt.height
		if err := screen.Show(strings.Join(tt.lines, "\n")); err != nil {
			t.Fatal(err)
		}
		if strings.Join(shown.lines, "\n") != strings.Join(tt.want, "\n") || !shown.hidden {
			t.Errorf("%s: %q, want %q", tt.reason, shown.lines, tt.want)
		}
	}
	if err := screen.Close(); err != nil || shown.hidden {
		t.Errorf("the cursor is not given back (%v)", err)
	}
	if err := NewScreen(&brokenWriter{3}).Show("line\n"); !errors.Is(err, errBroken) {
		t.Errorf("the terminal is gone, and yet: %v", err)
	}
	if got := NewScreen(&bytes.Buffer{}).Width(); got != defaultWidth {
		t.Errorf("what is no terminal is %d wide", got)
	}
}

func TestTerminalWidth(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, w := range map[string]any{"a file": file, "no file": &bytes.Buffer{}, "nothing": nil} {
		if got := TerminalWidth(w); got != 0 {
			t.Errorf("%s is %d wide: lines would be broken in it", name, got)
		}
		if IsTerminal(w) {
			t.Errorf("%s counts as a terminal", name)
		}
	}
}

// openTerminal opens a pseudo-terminal's master side, which counts as a terminal; nil where there is none.
func openTerminal(t *testing.T) *os.File {
	t.Helper()
	file, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil || !IsTerminal(file) {
		return nil
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func TestASCIIOnly(t *testing.T) {
	for _, tt := range []struct {
		env    map[string]string
		system string
		want   bool
		reason string
	}{
		{map[string]string{"LANG": "en_US.UTF-8"}, "linux", false, "the usual case"},
		{map[string]string{"LANG": "C.utf8"}, "linux", false, "another spelling"},
		{map[string]string{"LANG": "de_DE.ISO-8859-1"}, "linux", true, "letters of one byte"},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_ALL": "C"}, "linux", true, "LC_ALL wins"},
		{map[string]string{"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "linux", false, "LC_CTYPE is about letters, and wins over LANG"},
		{nil, "linux", true, "without a locale it is that of POSIX"},
		{nil, "windows", false, "there are no locales in the environment, and terminals know Unicode"},
		{map[string]string{"LANG": "C"}, "windows", true, "said in the environment"},
	} {
		if got := asciiOnly(func(name string) string { return tt.env[name] }, tt.system); got != tt.want {
			t.Errorf("%v on %s: %t: %s", tt.env, tt.system, got, tt.reason)
		}
	}
}
