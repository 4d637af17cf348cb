package main

import (
	"fmt"
	"strings"
	"time"
)

// docsURL is where the pages of docs/ are.
const docsURL = "https://github.com/kubectl-reconcile/kubectl-reconcile/blob/main/docs/"

// release is what man pages have of the release that they are made for.
type release struct {
	version string // empty if it is none
	date    time.Time
}

// manPages returns the man pages by the names of their files.
func manPages(root *page, r release) map[string]string {
	out := map[string]string{}
	for _, p := range root.all() {
		out[p.manName()+".1"] = p.man(r)
	}
	return out
}

// manName returns the name by which man finds the page.
func (p *page) manName() string { return strings.ReplaceAll(p.name, " ", "-") }

func (p *page) man(r release) string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	source := strings.TrimSpace("kubectl-reconcile " + r.version)
	line(`.TH "%s" 1 "%s" "%s" "%s"`, roffLiteral(strings.ToUpper(p.manName())), r.date.UTC().Format(time.DateOnly),
		roffLiteral(source), p.root().name)
	line(".nh\n.ad l") // names of commands and flags are not hyphenated
	line(".SH NAME\n%s \\- %s", roffLiteral(p.manName()), roffLine(p.short))
	line(".SH SYNOPSIS\n\\fB%s\\fR%s", roffLiteral(p.name), roffLiteral(strings.TrimPrefix(p.usage, p.name)))
	line(".SH DESCRIPTION")
	if len(p.description) == 0 {
		line("%s.", roffLine(p.short))
	}
	for _, b := range p.description {
		if b.verbatim {
			line("%s", roffVerbatim(b.text))
		} else {
			line(".PP\n%s", roffText(b.text))
		}
	}
	if len(p.commands) > 0 {
		line(".SH COMMANDS")
		for _, c := range p.commands {
			line(".TP\n\\fB%s\\fR(1)\n%s", roffLiteral(c.manName()), roffLine(c.short))
		}
	}
	for _, s := range p.sections {
		line(".SH %s", strings.ToUpper(s.title))
		for _, f := range s.flags {
			line(".TP\n%s\n%s", f.manNames(), f.manUsage())
		}
	}
	if p.examples != "" {
		line(".SH EXAMPLES\n%s", roffVerbatim(p.examples))
	}
	line(".SH SEE ALSO\n%s", strings.Join(p.manSeeAlso(), ",\n"))
	for _, g := range p.guides {
		breakable := strings.ReplaceAll(roffLiteral(docsURL+g.file), "/", `/\:`)
		line(".PP\n%s:\n%s", roffLine(g.title), breakable)
	}
	return out.String()
}

// manSeeAlso returns the pages beside this one.
func (p *page) manSeeAlso() []string {
	out := []string{`\fBkubectl\fR(1)`}
	if p.parent == nil {
		return out
	}
	for _, other := range append([]*page{p.parent}, p.parent.commands...) {
		if other != p {
			out = append(out, fmt.Sprintf(`\fB%s\fR(1)`, roffLiteral(other.manName())))
		}
	}
	return out
}

func (f *option) manNames() string {
	var names []string
	for _, n := range f.names {
		names = append(names, `\fB`+roffLiteral(n)+`\fR`)
	}
	value := `\fI` + roffLiteral(f.value) + `\fR`
	switch {
	case f.value == "":
		value = ""
	case f.optional:
		value = "[=" + value + "]"
	default:
		value = " " + value
	}
	return strings.Join(names, ", ") + value
}

func (f *option) manUsage() string {
	usage := roffLine(f.usage)
	if f.usual != "" {
		usage += ` (default \fB` + roffLiteral(f.usual) + `\fR)`
	}
	return usage
}

// roffVerbatim writes lines that are indented and stay as they are.
func roffVerbatim(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = guarded(roffLiteral(l))
	}
	return ".PP\n.RS 4\n.nf\n" + strings.Join(lines, "\n") + "\n.fi\n.RE"
}

// roffText writes a paragraph.
func roffText(text string) string {
	bold := func(s string) string { return `\fB` + roffLiteral(s) + `\fR` }
	lines := strings.Split(marked(text, bold, roffPlain), "\n")
	for i, l := range lines {
		lines[i] = guarded(l)
	}
	return strings.Join(lines, "\n")
}

// roffLine writes a text on one line.
func roffLine(text string) string { return roffText(strings.ReplaceAll(text, "\n", " ")) }

// guarded returns a line that would begin with a request to roff so that it does not.
func guarded(line string) string {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + line
	}
	return line
}

// roffPlain writes text. Quotes and accents would become typographic ones, which a shell does not take, and a terminal
// without UTF-8 has no ellipsis.
func roffPlain(text string) string {
	escaped := strings.NewReplacer(`\`, `\e`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`,
		"…", "...").Replace(text)
	var out strings.Builder
	for _, r := range escaped {
		if r < 0x80 {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, `\[u%04X]`, r)
		}
	}
	return out.String()
}

// roffLiteral writes what a user types, in which a hyphen is a minus.
func roffLiteral(text string) string { return strings.ReplaceAll(roffPlain(text), "-", `\-`) }
