package render

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
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
