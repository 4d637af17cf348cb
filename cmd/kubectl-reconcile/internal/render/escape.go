package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes text from outside safe for a terminal: control and format characters (escape sequences, line breaks,
// changes of writing direction) become visible, so that one value stays on its line and commands nothing.
func Escape(s string) string {
	if !strings.ContainsFunc(s, unsafeRune) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString("⏎ ")
		case r == '\t':
			b.WriteByte(' ')
		case r == '\r':
		case r == 0x1b:
			b.WriteString("^[")
		case unsafeRune(r):
			b.WriteRune('�')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029'
}
