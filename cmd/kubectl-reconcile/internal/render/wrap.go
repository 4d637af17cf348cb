package render

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// Wrap breaks a line between words where it would be wider than that many cells, and indents what follows. A width of 0,
// or one that leaves next to no room beside the indent, breaks nothing. Colours take no room.
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
			continue // the blanks that the line was broken at
		}
		fresh = false
		out.WriteString(word)
		used += n
	}
	return trimLineEnds(out.String())
}

func trimLineEnds(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// newMeasure measures text as terminals draw it: box drawing takes one cell, whatever the locale.
func newMeasure() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

// cells is how many cells of a terminal the text takes, colours left out.
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
