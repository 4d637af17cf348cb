package main

import (
	"fmt"
	"strings"
)

// markdownPages returns the pages for docs/reference by the names of their files. That of the root is README.md, which
// web sites show for the folder.
func markdownPages(root *page) map[string]string {
	out := map[string]string{}
	for _, p := range root.all() {
		out[p.markdownFile()] = p.markdown()
	}
	return out
}

// markdownFile returns the name of the page's file.
func (p *page) markdownFile() string {
	if p.parent == nil {
		return "README.md"
	}
	return strings.ReplaceAll(strings.TrimPrefix(p.name, p.root().name+" "), " ", "-") + ".md"
}

func (p *page) root() *page {
	for p.parent != nil {
		p = p.parent
	}
	return p
}

func (p *page) markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "<!-- Made by `make reference` of the help of the command: change that. -->\n\n# %s\n\n", p.name)
	if len(p.description) == 0 {
		fmt.Fprintf(&out, "%s.\n\n", markdownText(p.short))
	}
	for _, b := range p.description {
		if b.verbatim {
			fmt.Fprintf(&out, "```text\n%s\n```\n\n", b.text)
		} else {
			fmt.Fprintf(&out, "%s\n\n", markdownText(b.text))
		}
	}
	if len(p.guides) > 0 {
		var links []string
		for _, g := range p.guides {
			links = append(links, fmt.Sprintf("[%s](../%s)", g.title, g.file))
		}
		fmt.Fprintf(&out, "With examples and their output:\n%s.\n\n", strings.Join(links, ",\n"))
	}
	fmt.Fprintf(&out, "## Usage\n\n```text\n%s\n```\n\n", p.usage)
	if p.examples != "" {
		fmt.Fprintf(&out, "## Examples\n\n```sh\n%s\n```\n\n", p.examples)
	}
	if len(p.commands) > 0 {
		out.WriteString("## Commands\n\n| command | does |\n|---|---|\n")
		for _, c := range p.commands {
			fmt.Fprintf(&out, "| [`%s`](%s) | %s |\n", c.name, c.markdownFile(), markdownCell(c.short))
		}
		out.WriteString("\n")
	}
	for _, s := range p.sections {
		fmt.Fprintf(&out, "## %s\n\n| flag | does |\n|---|---|\n", s.title)
		for _, f := range s.flags {
			fmt.Fprintf(&out, "| %s | %s |\n", f.markdownNames(), f.markdownUsage())
		}
		out.WriteString("\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

func (f *option) markdownNames() string {
	names := "`" + strings.Join(f.names, "`, `")
	switch {
	case f.value == "":
	case f.optional:
		names += "[=" + f.value + "]"
	default:
		names += " " + f.value
	}
	return names + "`"
}

func (f *option) markdownUsage() string {
	usage := markdownCell(f.usage)
	if f.usual != "" {
		usage += " (default `" + f.usual + "`)"
	}
	return usage
}

// markdownText writes plain text as Markdown.
func markdownText(text string) string {
	escaped := strings.NewReplacer(`\`, `\\`, "*", `\*`, "<", "&lt;", "[", `\[`, "]", `\]`)
	return marked(text, func(s string) string { return "`" + s + "`" }, escaped.Replace)
}

// markdownCell writes plain text as a cell of a table.
func markdownCell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(markdownText(text), "|", `\|`), "\n", " ")
}
