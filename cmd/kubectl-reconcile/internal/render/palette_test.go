package render

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestNewPalette(t *testing.T) {
	terminal := openTerminal(t)
	for _, tt := range []struct {
		name     string
		mode     ColorMode
		terminal bool
		env      map[string]string
		want     bool
		reason   string
	}{
		{"terminal", ColorAuto, true, nil, true, "people look at a terminal"},
		{"pipe", ColorAuto, false, nil, false, "programs read what is no terminal"},
		{"NO_COLOR", ColorAuto, true, map[string]string{"NO_COLOR": "1"}, false, "the user does not want colours anywhere"},
		{"empty NO_COLOR", ColorAuto, true, map[string]string{"NO_COLOR": ""}, true, "no-color.org: only if it is not empty"},
		{"dumb", ColorAuto, true, map[string]string{"TERM": "dumb"}, false, "such a terminal knows no colours"},
		{"other TERM", ColorAuto, true, map[string]string{"TERM": "xterm"}, true, "others do"},
		{"always", ColorAlways, false, nil, true, "for a pager such as less -R"},
		{"always wins", ColorAlways, false, map[string]string{"NO_COLOR": "1", "TERM": "dumb"}, true, "a flag wins over the environment"},
		{"never wins", ColorNever, true, map[string]string{"TERM": "xterm"}, false, "a flag wins over the terminal"},
		{"zero mode", "", true, nil, false, "the zero value is no mode"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			getenv := func(name string) string { return tt.env[name] }
			p := NewPalette(&bytes.Buffer{}, tt.mode, getenv)
			if tt.terminal {
				if terminal == nil {
					t.Skip("there is no terminal to open")
				}
				p = NewPalette(terminal, tt.mode, getenv)
			}
			for name, text := range map[string]string{"Trouble": p.Trouble("x"), "Change": p.Change("x"), "Dim": p.Dim("x"), "Strong": p.Strong("x")} {
				if coloured := text != "x"; coloured != tt.want {
					t.Errorf("%s coloured: %t, want %t: %s", name, coloured, tt.want, tt.reason)
				}
			}
		})
	}
}

func TestPaletteOfNothing(t *testing.T) {
	p := NewPalette(&bytes.Buffer{}, ColorAlways, os.Getenv)
	if got := p.Trouble(""); got != "" {
		t.Errorf("colouring nothing writes %q, which would stand in tables as a cell", got)
	}
	if got := p.Trouble("a%sb"); !strings.Contains(got, "a%sb") {
		t.Errorf("text is taken for a format: %q", got)
	}
	if got := (Palette{}).Strong("x"); got != "x" {
		t.Errorf("the zero Palette colours: %q", got)
	}
}

func TestColorModeSet(t *testing.T) {
	for _, tt := range []struct {
		in     string
		ok     bool
		reason string
	}{
		{"auto", true, "the default"},
		{"always", true, "known"},
		{"never", true, "known"},
		{"", false, "--color= has no value"},
		{"Always", false, "values are lower case"},
		{"yes", false, "not known"},
	} {
		mode := ColorMode("before")
		if err := mode.Set(tt.in); (err == nil) != tt.ok {
			t.Errorf("Set(%q): %v: %s", tt.in, err, tt.reason)
		}
		if want := map[bool]string{true: tt.in, false: "before"}[tt.ok]; mode.String() != want {
			t.Errorf("Set(%q) leaves %q, want %q", tt.in, mode, want)
		}
	}
}
