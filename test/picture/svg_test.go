package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		in     string
		want   [][]span
		reason string
	}{
		{"a\x1b[2mb\x1b[22mc\r\n", [][]span{{{0, "a", style{}}, {1, "b", style{dim: true}}, {2, "c", style{}}}}, "dim text"},
		{"\x1b[1;31mä\x1b[0m x\n\n", [][]span{{{0, "ä", style{bold: true, colour: 31}}, {1, " x", style{}}}}, "a column is a letter, not a byte"},
		{"\x1b[33ma\nb\x1b[39m", [][]span{{{0, "a", style{colour: 33}}}, {{0, "b", style{colour: 33}}}}, "a style goes on in the next line"},
		{"\x1b[2Ka\x1b[K\x1b[?25l", [][]span{{{0, "a", style{}}}}, "other sequences"},
		{"\x1b[38;5;9ma", [][]span{{{0, "a", style{}}}}, "colours of 256 are not known"},
	} {
		if diff := cmp.Diff(test.want, parse(test.in), cmp.AllowUnexported(span{}, style{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestCut(t *testing.T) {
	lines := parse("1\n2\n\n4\n5\n6\n7")
	var got []string
	for _, line := range cut(lines, 3, 2) {
		text := ""
		for _, s := range line {
			text += s.text
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{"1", "2", "…", "6", "7"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := len(cut(lines, 5, 2)); got != 7 {
		t.Errorf("%d lines of 7, which fit", got)
	}
}

// TestDraw: the picture is well-formed, whatever was printed.
func TestDraw(t *testing.T) {
	out := draw(`run "x" && <y>`, parse("a <b> & \"c\"\n\x1b[32mgreen"))
	decoder := xml.NewDecoder(strings.NewReader(out))
	text := ""
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		if data, ok := token.(xml.CharData); ok {
			text += string(data)
		}
	}
	for _, want := range []string{`$ run "x" && <y>`, `a <b> & "c"`, "green"} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture has no %q:\n%s", want, text)
		}
	}
	if !strings.Contains(out, `fill="#7ee787"`) {
		t.Errorf("nothing is green:\n%s", out)
	}
}
