package render

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Escape makes text from outside safe for a terminal: control and format characters (escape sequences, line breaks,
// changes of writing direction) become visible, so that a value stays on its line and cannot control the terminal.
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

// unsafeRune reports whether Escape replaces a rune.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029'
}

// FormatDuration writes a duration with three digits, from a minute on in whole seconds: enough to compare by.
func FormatDuration(d trace.Duration) string {
	v := time.Duration(d)
	step := time.Duration(1)
	for limit := time.Duration(1000); v >= limit && limit < time.Minute; limit *= 10 {
		step *= 10
	}
	if v >= time.Minute {
		step = time.Second
	}
	text := v.Round(step).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}

// FormatNumber writes a number that is not negative with at most three digits, or all of its whole part, and without
// an exponent. What is less than 0.001, but not 0, is "<0.001".
func FormatNumber(v float64) string {
	if v > 0 && v < 0.001 {
		return "<0.001"
	}
	if v >= 999.5 { // 'g' would write an exponent
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Cut shortens text to at most that many runes; the last of a text that was cut is "…".
func Cut(text string, runes int) string {
	if r := []rune(text); len(r) > runes {
		return string(r[:runes-1]) + "…"
	}
	return text
}

// Wrap breaks a line between words where it would be wider than width cells, and indents the lines that follow. A
// width of 0, or one that leaves fewer than 20 cells beside the indent, breaks nothing. Escape sequences of colours
// have no width.
func Wrap(line string, width int, indent string) string {
	room := width - len(indent)
	if room < 20 || cells(line) <= width {
		return line
	}
	var out strings.Builder
	used, fresh := 0, false
	for i, word := range strings.SplitAfter(line, " ") {
		n := cells(word)
		if i > 0 && used+cells(strings.TrimRight(word, " ")) > width && used > len(indent) {
			out.WriteString("\n" + indent)
			used, fresh = len(indent), true
		}
		if fresh && strings.TrimSpace(word) == "" {
			continue // the blanks at which the line was broken
		}
		fresh = false
		out.WriteString(word)
		used += n
	}
	return trimLineEnds(out.String())
}

// trimLineEnds removes the blanks at the end of each line.
func trimLineEnds(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// newMeasure returns a condition that measures text as terminals draw it: box-drawing characters have one cell in any
// locale.
func newMeasure() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

// Cells returns the width of a text on a terminal, without the escape sequences of colours.
func Cells(s string) int { return cells(s) }

// cells returns the width of a text on a terminal, without the escape sequences of colours.
func cells(s string) int {
	measure := newMeasure()
	n := 0
	for s != "" {
		before, sequence, found := strings.Cut(s, "\x1b[")
		n += measure.StringWidth(before)
		if !found {
			break
		}
		_, s, _ = strings.Cut(sequence, "m")
	}
	return n
}

// conflictMessage matches the message of a conflict (apimachinery's errors.NewConflict with the reason of apiserver's
// registry).
var conflictMessage = regexp.MustCompile(`Operation cannot be fulfilled on ([^:]+): the object has been modified; ` +
	`please apply your changes to the latest version and try again`)

// TrimAPIError shortens the text of an error by the phrases that an API server adds to every error of its kind.
func TrimAPIError(text string) string {
	return inspect.TrimForbidden(conflictMessage.ReplaceAllString(text, "conflict on $1"))
}
