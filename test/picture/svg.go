package main

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// span is text in one style, which begins in a column.
type span struct {
	column int
	text   string
	style  style
}

type style struct {
	bold, dim bool
	colour    int // as in SGR sequences, 31 to 36 and 91 to 96; 0 is that of the text
}

// escape is a sequence that sets colours, or any other.
var escape = regexp.MustCompile("\x1b\\[([0-9;]*)m|\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\\\-_]")

// parse returns the lines of what was printed. Empty lines at the end are left out.
func parse(text string) [][]span {
	var lines [][]span
	var now style
	for line := range strings.SplitSeq(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n") {
		var spans []span
		column := 0
		add := func(text string) {
			if text != "" {
				spans = append(spans, span{column, text, now})
				column += utf8.RuneCountInString(text)
			}
		}
		for {
			at := escape.FindStringSubmatchIndex(line)
			if at == nil {
				break
			}
			add(line[:at[0]])
			if at[2] >= 0 {
				now = now.after(line[at[2]:at[3]])
			}
			line = line[at[1]:]
		}
		add(line)
		lines = append(lines, spans)
	}
	return lines
}

// after returns the style after the numbers of an SGR sequence.
func (s style) after(numbers string) style {
	for number := range strings.SplitSeq(numbers, ";") {
		switch n, _ := strconv.Atoi(number); {
		case n == 0:
			s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 39:
			s.colour = 0
		case n > 30 && n < 37, n > 90 && n < 97:
			s.colour = n
		}
	}
	return s
}

// cut returns the first and the last lines, with a line between that stands for the others. No block is cut at its
// beginning or end: empty lines beside that line are left out.
func cut(lines [][]span, head, tail int) [][]span {
	if head == 0 || len(lines) <= head+tail {
		return lines
	}
	first, last := lines[:head], lines[len(lines)-tail:]
	for len(first) > 0 && len(first[len(first)-1]) == 0 {
		first = first[:len(first)-1]
	}
	out := append([][]span{}, first...)
	out = append(out, []span{{0, "…", style{dim: true}}})
	return append(out, last...)
}

// The measures of the picture, in pixels.
const (
	columnWidth, lineHeight = 7.83, 18 // of the font, at its size
	fontSize                = 13
	margin                  = 16
	top                     = 34 // above the first line: the bar of the window
)

// fonts are those of the systems on which the picture is looked at.
const fonts = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"

// colours by their numbers, such as can be read on the dark background.
var colours = map[int]string{
	31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76e3ea",
	91: "#ffa198", 92: "#aff5b4", 93: "#f2cc60", 94: "#a5d6ff", 95: "#e2c5ff", 96: "#b3f0ff",
}

// words are drawn each in its column, so that columns stay where they are in a font whose letters have another width.
// Each has the blanks after it.
var words = regexp.MustCompile(`\S+\s*|\s+`)

// draw returns the picture of lines below the command that printed them.
func draw(title string, lines [][]span) string {
	columns := utf8.RuneCountInString(title) + 2
	for _, line := range lines {
		for _, s := range line {
			columns = max(columns, s.column+utf8.RuneCountInString(s.text))
		}
	}
	if title != "" {
		lines = append([][]span{{{0, "$ ", style{dim: true}}, {2, title, style{bold: true}}}}, lines...)
	}
	width, height := int(float64(columns)*columnWidth)+2*margin, top+len(lines)*lineHeight+margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" `+
		`role="img" aria-label="%[3]s">`+"\n", width, height, html.EscapeString(title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#0d1117" stroke="#30363d"/>`+"\n", width, height)
	for i, colour := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="16" r="5.5" fill="%s"/>`+"\n", 20+i*18, colour)
	}
	fmt.Fprintf(&b, `<g font-family="%s" font-size="%d" fill="#e6edf3">`+"\n", fonts, fontSize)
	for i, line := range lines {
		if len(line) == 0 {
			continue
		}
		fmt.Fprintf(&b, `<text y="%d" style="white-space:pre">`, top+i*lineHeight+fontSize)
		for _, s := range line {
			column := s.column
			for _, word := range words.FindAllString(s.text, -1) {
				fmt.Fprintf(&b, `<tspan x="%.1f"%s>%s</tspan>`,
					margin+float64(column)*columnWidth, s.style.attributes(), html.EscapeString(word))
				column += utf8.RuneCountInString(word)
			}
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

func (s style) attributes() string {
	out := ""
	if colour, ok := colours[s.colour]; ok {
		out += fmt.Sprintf(` fill="%s"`, colour)
	}
	if s.bold {
		out += ` font-weight="bold"`
	}
	if s.dim {
		out += ` fill-opacity="0.6"`
	}
	return out
}
