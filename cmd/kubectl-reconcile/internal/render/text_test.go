package render

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestEscape(t *testing.T) {
	for _, tt := range []struct{ name, in, want, reason string }{
		{"plain", "web-5fc9f4bf66", "web-5fc9f4bf66", "nothing to escape"},
		{"empty", "", "", "no text is no reason to fail"},
		{"other scripts", "größe 日本語 👩 é", "größe 日本語 👩 é", "letters of any script and emoji are text"},
		{"colour", "a\x1b[31mred", "a^[[31mred", "a value may not colour the terminal"},
		{"title", "\x1b]0;owned\x07", "^[]0;owned�", "nor rename its window"},
		{"newline", "one\ntwo", "one⏎ two", "a value stays on its line"},
		{"windows newline", "one\r\ntwo", "one⏎ two", "a return alone would overwrite the line"},
		{"tab", "a\tb", "a b", "a tab would shift the columns"},
		{"backspace", "ab\b\bcd", "ab��cd", "what is there may not be taken back"},
		{"eight-bit escape", "\u009b31m", "�31m", "C1 controls are escape sequences too"},
		{"bidi override", "user\u202etxt.exe", "user�txt.exe", "changes of direction disguise text"},
		{"zero width", "web\u200bsite", "web�site", "invisible characters make names look alike"},
		{"line separator", "a\u2028b\u2029c", "a�b�c", "some terminals break lines there"},
		{"invalid UTF-8", "a\xff\xfeb", "a��b", "bytes that are no text become visible"},
		{"delete", "a\x7fb", "a�b", "DEL is a control character"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Escape(tt.in)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func FuzzEscape(f *testing.F) {
	for _, seed := range []string{"web", "a\x1b[31mb", "one\r\ntwo", "\u202e\u200b\u0085\ufeff", "\xff\xfe", "日本語\t"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		if !utf8.ValidString(got) {
			t.Fatalf("Escape(%q) = %q is not valid UTF-8", s, got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
				t.Fatalf("Escape(%q) = %q holds %U", s, got, r)
			}
		}
		if again := Escape(got); strings.ReplaceAll(again, "�", "") != strings.ReplaceAll(got, "�", "") {
			t.Fatalf("escaping %q again changes it to %q", got, again)
		}
	})
}

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
		{"narrow", strings.Repeat("word ", 10), 20, strings.Repeat("word ", 10), "too narrow a column is not readable"},
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

func TestTrimAPIError(t *testing.T) {
	for _, test := range []struct{ reason, text, want string }{
		{"an object", `pods "web-785f6b64f-x7k2p" is forbidden: exceeded quota: q, requested: pods=1`, "exceeded quota: q, requested: pods=1"},
		{"a resource of a group", `deployments.apps "web" is forbidden: no`, "no"},
		{"a resource without an object", `pods is forbidden: User "u" cannot create resource "pods" in API group ""`, `User "u" cannot create resource "pods" in API group ""`},
		{"in the middle", `sync "default/web" failed with pods "web-" is forbidden: no`, `sync "default/web" failed with no`},
		{"twice", `a "b" is forbidden: c; d "e" is forbidden: f`, "c; f"},
		{"a conflict", `Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again`, `conflict on deployments.apps "web"`},
		{"another conflict", `Operation cannot be fulfilled on deployments.apps "web": it is being deleted`, `Operation cannot be fulfilled on deployments.apps "web": it is being deleted`},
		{"nothing to leave out", `pods "web" not found`, `pods "web" not found`},
		{"no more than that", `pods "web" is forbidden: `, ""},
		{"none", "", ""},
	} {
		if got := TrimAPIError(test.text); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}

func TestFormatNumber(t *testing.T) {
	for _, tt := range []struct {
		in     float64
		want   string
		reason string
	}{
		{0, "0", "nothing"},
		{2.5, "2.5", "no zeros at the end"},
		{18.456, "18.5", "three digits"},
		{99.94, "99.9", "three digits, just below a hundred"},
		{99.96, "100", "rounding may carry to a hundred"},
		{999.4, "999", "three digits without a point"},
		{999.6, "1000", "rounding may carry to a fourth digit"},
		{1023.4, "1023", "more than three digits have no exponent"},
		{2.84e6, "2840000", "nor have many more"},
		{0.00123, "0.00123", "three digits after zeros"},
		{0.001, "0.001", "small"},
		{0.00001, "<0.001", "too small to be told from nothing"},
	} {
		if got := FormatNumber(tt.in); got != tt.want {
			t.Errorf("FormatNumber(%v) = %q, want %q: %s", tt.in, got, tt.want, tt.reason)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for _, tt := range []struct {
		in     time.Duration
		want   string
		reason string
	}{
		{0, "0s", "no time at all"},
		{999, "999ns", "three digits are kept"},
		{1234567, "1.23ms", "three digits of seven"},
		{1235001, "1.24ms", "rounded, not cut"},
		{12345678, "12.3ms", "three digits, wherever the point is"},
		{123456789, "123ms", "three digits without a point"},
		{999_900_000, "1s", "rounding may carry to the next unit"},
		{12_345 * time.Millisecond, "12.3s", "seconds as well"},
		{59_999 * time.Millisecond, "1m", "carried to a minute, whose seconds are nothing"},
		{61_499 * time.Millisecond, "1m1s", "from a minute on, whole seconds"},
		{10 * time.Minute, "10m", "no seconds that are zero"},
		{time.Hour, "1h", "no minutes that are zero either"},
		{time.Hour + 5*time.Minute, "1h5m", "minutes that are there"},
		{10*time.Hour + 20*time.Minute, "10h20m", "the zeros of ten and twenty stay"},
		{-5 * time.Millisecond, "-5ms", "a key that is overdue"},
	} {
		if got := FormatDuration(trace.Duration(tt.in)); got != tt.want {
			t.Errorf("FormatDuration(%v) = %q, want %q: %s", tt.in, got, tt.want, tt.reason)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		in     string
		runes  int
		want   string
		reason string
	}{
		{"abc", 3, "abc", "what fits is whole"},
		{"abcd", 3, "ab…", "the mark counts"},
		{"日本語で", 3, "日本…", "letters count, not bytes"},
		{"", 1, "", "nothing to cut"},
	} {
		if got := Cut(tt.in, tt.runes); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q: %s", tt.in, tt.runes, got, tt.want, tt.reason)
		}
	}
}
