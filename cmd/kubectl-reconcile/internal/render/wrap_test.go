package render

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"
)

func TestWrap(t *testing.T) {
	const indent = "    "
	for _, tt := range []struct {
		name, line string
		width      int
		want       string
		reason     string
	}{
		{"short", "one two", 30, "one two", "what fits stays as it is"},
		{"exact", "123456789 123456789 123456789 ", 30, "123456789 123456789 123456789 ", "as wide as the terminal still fits"},
		{"one more", "123456789 123456789 1234567890 1", 31, "123456789 123456789 1234567890\n    1", "one cell too many breaks before the last word"},
		{"twice", "aaaaaaaaaaaaaaa bbbbbbbbbbbbbbb ccccccccccccccc ddddd", 30, "aaaaaaaaaaaaaaa\n    bbbbbbbbbbbbbbb\n    ccccccccccccccc ddddd", "every line after the first is indented, and counted with it"},
		{"no terminal", strings.Repeat("word ", 100), 0, strings.Repeat("word ", 100), "width 0 is no terminal, where programs read lines"},
		{"narrow", strings.Repeat("word ", 10), 20, strings.Repeat("word ", 10), "breaking into a sliver helps nobody"},
		{"long word", strings.Repeat("x", 80) + " end", 40, strings.Repeat("x", 80) + "\n    end", "a word is never cut: it may be a name to copy"},
		{"coloured", "\x1b[31mthirty cells of text are red \x1b[0m", 30, "\x1b[31mthirty cells of text are red \x1b[0m", "colours take no room"},
		{"wide letters", "日本語日本語日本語 日本語日本語日本語", 30, "日本語日本語日本語\n    日本語日本語日本語", "letters of two cells count twice"},
		{"blanks at the break", "123456789012345678901234567890   end", 30, "123456789012345678901234567890\n    end", "no blanks are left at the end of a line, nor more than the indent at the start"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Wrap(tt.line, tt.width, indent)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("one two three four five six seven eight nine", 24)
	f.Add("\x1b[31mred words that are coloured\x1b[0m and then some more of them", 30)
	f.Add("日本語 日本語 日本語 日本語 日本語 日本語", 25)
	f.Add(" leading  and   many    blanks     between      words ", 26)
	f.Add("x 00000000000000000000000000000 0", 24) // no break before a word behind what is narrower than the indent
	f.Fuzz(func(t *testing.T, text string, width int) {
		line := colourable(text)
		got := Wrap(line, width, "  ")
		if visible(got) != visible(line) {
			t.Fatalf("Wrap(%q, %d) = %q: what is visible changed", line, width, got)
		}
		if width <= 0 && got != line {
			t.Fatalf("Wrap(%q, %d) = %q: it is no terminal", line, width, got)
		}
		for i, part := range strings.Split(got, "\n") {
			words := strings.Fields(part)
			if got == line || len(words) < 2 {
				continue
			}
			before := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(part, " "), words[len(words)-1]), " ")
			if plainWidth(before) > width {
				t.Fatalf("Wrap(%q, %d) = %q: line %d could have been broken before its last word", line, width, got, i)
			}
		}
	})
}

// colourable is text as Wrap gets it: escaped, except for colours.
func colourable(text string) string {
	parts := colour.Split(text, -1)
	for i := range parts {
		parts[i] = Escape(parts[i])
	}
	colours := colour.FindAllString(text, -1)
	var b strings.Builder
	for i, part := range parts {
		b.WriteString(part)
		if i < len(colours) {
			b.WriteString(colours[i])
		}
	}
	return b.String()
}

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// visible is the text without blanks and line breaks.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func plainWidth(s string) int { return runewidth.StringWidth(colour.ReplaceAllString(s, "")) }
