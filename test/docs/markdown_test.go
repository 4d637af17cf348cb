package docs

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// link is a link on a page.
type link struct {
	line   int
	target string
}

var (
	linkTo     = `([^()\s<>]+(?:\([^()\s]*\)[^()\s]*)*)`
	inlineLink = regexp.MustCompile(`\]\(\s*<?` + linkTo + `>?(?:\s+"[^"]*")?\s*\)`)
	definition = regexp.MustCompile(`(?m)^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$`)
	autolink   = regexp.MustCompile(`<([a-z][a-z0-9+.-]*:[^\s<>]+)>`)
	attribute  = regexp.MustCompile(`<[a-z]+ [^>]*?(?:href|src)="([^"]*)"`)
	comment    = regexp.MustCompile(`(?s)<!--.*?-->`)
	fence      = regexp.MustCompile("^ *(`{3,}|~{3,})")
	heading    = regexp.MustCompile(`^ {0,3}#{1,6} +(.*?)(?: +#+)? *$`)
	named      = regexp.MustCompile(`<[a-z]+ [^>]*?(?:id|name)="([^"]*)"`)
	linkText   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// links returns the links of a page in Markdown, those in code and comments left out.
func links(text string) []link {
	text = maskSpans(maskComments(maskFences(text)))
	var out []link
	for _, form := range []*regexp.Regexp{inlineLink, definition, autolink, attribute} {
		for _, m := range form.FindAllStringSubmatchIndex(text, -1) {
			out = append(out, link{1 + strings.Count(text[:m[2]], "\n"), html.UnescapeString(text[m[2]:m[3]])})
		}
	}
	return out
}

// anchors returns the parts of a page that a link can lead to, by the names that GitHub gives them.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	text = maskComments(maskFences(text))
	for line := range strings.Lines(text) {
		m := heading.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		name := slug(m[1])
		unique := name
		for n := 1; out[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		out[unique] = true
	}
	for _, m := range named.FindAllStringSubmatch(maskSpans(text), -1) {
		out[m[1]] = true
	}
	return out
}

// slug returns GitHub's name for a heading: letters, digits, hyphens and underscores of its text in lower case, and a
// hyphen for each blank.
func slug(heading string) string {
	heading = linkText.ReplaceAllString(heading, "$1")
	heading = html.UnescapeString(strings.NewReplacer("`", "", "*", "", `\`, "").Replace(heading))
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// blank replaces all of a text but the ends of its lines.
func blank(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return 'x'
	}, text)
}

func maskComments(text string) string { return comment.ReplaceAllStringFunc(text, blank) }

// maskFences blanks what is between fences, which are blanked too.
func maskFences(text string) string {
	var out strings.Builder
	open := ""
	for line := range strings.Lines(text) {
		m := fence.FindStringSubmatch(line)
		switch {
		case open == "" && m == nil:
			out.WriteString(line)
			continue
		case open == "":
			open = m[1]
		case m != nil && strings.HasPrefix(m[1], open) && strings.TrimSpace(line) == m[1]:
			open = ""
		}
		out.WriteString(blank(line))
	}
	return out.String()
}

// maskSpans blanks code in a line of text: what is between equal runs of backquotes.
func maskSpans(text string) string {
	var out strings.Builder
	for text != "" {
		start := strings.IndexByte(text, '`')
		if start < 0 {
			break
		}
		n := run(text[start:])
		end := closing(text[start+n:], n)
		out.WriteString(text[:start])
		if end < 0 {
			out.WriteString(text[start : start+n])
			text = text[start+n:]
			continue
		}
		code := text[start : start+n+end+n]
		out.WriteString(blank(code))
		text = text[start+len(code):]
	}
	return out.String() + text
}

// run returns how many backquotes a text begins with.
func run(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }

// closing returns where the first run of exactly n backquotes begins that is in the same paragraph; -1 if there is none.
func closing(text string, n int) int {
	paragraph, _, _ := strings.Cut(text, "\n\n")
	for at := 0; at < len(paragraph); {
		next := strings.IndexByte(paragraph[at:], '`')
		if next < 0 {
			break
		}
		at += next
		length := run(paragraph[at:])
		if length == n {
			return at
		}
		at += length
	}
	return -1
}

func TestLinks(t *testing.T) {
	const page = "[a](a.md) and [`b`](b.md#c \"title\"), a link [over\ntwo lines](c.md)\n" +
		"`[code](no.md)` ``[more ` code](no.md)`` <https://example.com/x>\n" +
		"<!-- [comment](no.md) -->\n```sh\n[fenced](no.md)\n```\n" +
		"[ref]: d.md\n<img src=\"e.svg\"> [wiki](https://example.com/a_(b)) ![image](f.png)\n"
	want := []link{
		{1, "a.md"}, {1, "b.md#c"}, {2, "c.md"}, {9, "https://example.com/a_(b)"}, {9, "f.png"},
		{8, "d.md"}, {3, "https://example.com/x"}, {9, "e.svg"},
	}
	if diff := cmp.Diff(want, links(page), cmp.AllowUnexported(link{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnchors(t *testing.T) {
	const page = "# Who set a field\n## `-o json`: *the* format\n## Again\n## Again\n## Again\n```sh\n# not a heading\n```\n" +
		"### What's new in v1.37? [docs](x.md) & more\n#### snake_case, größe #\n<a name=\"here\"></a>\n#no heading\n"
	want := map[string]bool{
		"who-set-a-field": true, "-o-json-the-format": true, "again": true, "again-1": true, "again-2": true,
		"whats-new-in-v137-docs--more": true, "snake_case-größe": true, "here": true,
	}
	if diff := cmp.Diff(want, anchors(page)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
