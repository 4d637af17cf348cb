package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
)

// page is what a page has about a command.
type page struct {
	name        string // what the user types: kubectl reconcile tree
	short       string
	usage       string
	description []block
	examples    string // lines for a shell
	sections    []section
	parent      *page
	commands    []*page // those below it, by name
	guides      []guide
}

// block is a paragraph, or lines that stay as they are.
type block struct {
	text     string
	verbatim bool
}

// section is the flags under one title.
type section struct {
	title string
	flags []option
}

// option is a flag of a command.
type option struct {
	names    []string // -A, --all-namespaces
	value    string   // what follows the name; empty if nothing does
	optional bool     // the value may be left out
	usage    string
	usual    string // the default; empty if it says nothing
}

// guide is a page of docs/ that describes a command by examples.
type guide struct{ title, file string }

// guides are those pages by the last word of the command.
var guides = map[string][]guide{
	"kubectl reconcile": {{"Quick start", "quickstart.md"}},
	"completion":        {{"Completion", "completion.md"}},
	"diff":              {{"Plans and differences", "diff.md"}},
	"envtest-assets":    {{"envtest with controllers", "envtest.md"}},
	"get":               {{"Moments of a recording", "moments.md"}},
	"record":            {{"Record", "record.md"}},
	"replay": {
		{"Replay", "replay.md"}, {"Serve", "serve.md"}, {"Controllers on a recording", "replay-controllers.md"},
		{"Your own controller on a recording", "replay-program.md"}, {"Files of other tools", "imports.md"},
	},
	"run": {
		{"Run", "run.md"}, {"Controllers", "controllers.md"}, {"On a cluster", "cluster.md"},
		{"Writing to a cluster", "writing.md"}, {"Simulated nodes", "nodes.md"}, {"A copy of a cluster", "copy.md"},
		{"Operating", "operating.md"}, {"The trace", "trace.md"},
	},
	"sandbox": {
		{"Sandbox", "sandbox.md"}, {"A copy of a cluster", "copy.md"}, {"Simulated nodes", "nodes.md"},
		{"Operating", "operating.md"},
	},
	"status":  {{"Status", "status.md"}},
	"tree":    {{"Tree", "tree.md"}},
	"version": {{"Install", "install.md"}},
	"why":     {{"Why", "why.md"}},
}

// newPage reads a command and those below it.
func newPage(cmd *cobra.Command, parent *page) *page {
	p := &page{
		name: cmd.CommandPath(), short: cmd.Short, usage: cmd.UseLine(), description: blocks(cmd.Long),
		examples: outdent(cmd.Example), sections: sections(cmd), parent: parent, guides: guides[cmd.Name()],
	}
	switch {
	case parent == nil:
		p.guides = guides[p.name]
	case parent.parent != nil:
		p.guides = parent.guides
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			p.commands = append(p.commands, newPage(c, p))
		}
	}
	if len(p.commands) > 0 {
		p.usage = p.name + " COMMAND [flags]"
	}
	return p
}

// all returns the page and those below it.
func (p *page) all() []*page {
	out := []*page{p}
	for _, c := range p.commands {
		out = append(out, c.all()...)
	}
	return out
}

// blocks divides a description at empty lines, and where lines are indented. Headings, which cobra has in what it says
// about completion, become paragraphs.
func blocks(text string) []block {
	var out []block
	apart := true
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimRight(line, "\n"), "#")
		verbatim := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
		if !verbatim {
			line = strings.TrimLeft(line, " ")
		}
		switch last := len(out) - 1; {
		case line == "":
			apart = true
			continue
		case apart || out[last].verbatim != verbatim:
			out = append(out, block{line, verbatim})
		default:
			out[last].text += "\n" + line
		}
		apart = false
	}
	for i, b := range out {
		if b.verbatim {
			out[i].text = outdent(b.text)
		}
	}
	return out
}

// outdent removes the two blanks, or the tab, that lines of help begin with.
func outdent(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimPrefix(line, "  "), "\t")
	}
	return strings.Join(lines, "\n")
}

// sections returns the flags of a command as its help has them: those for the cluster last.
func sections(cmd *cobra.Command) []section {
	out := []section{{title: "Flags"}}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		at := 0
		if title := cli.Section(f); title != "" {
			at = slices.IndexFunc(out, func(s section) bool { return s.title == title })
			if at < 0 {
				at, out = len(out), append(out, section{title: title})
			}
		}
		out[at].flags = append(out[at].flags, newOption(f))
	})
	return slices.DeleteFunc(out, func(s section) bool { return len(s.flags) == 0 })
}

func newOption(f *pflag.Flag) option {
	value, usage := pflag.UnquoteUsage(f)
	out := option{value: value, usage: usage, usual: f.DefValue, names: []string{"--" + f.Name}}
	if f.Shorthand != "" {
		out.names = []string{"-" + f.Shorthand, "--" + f.Name}
	}
	switch f.Value.Type() {
	case "bool", "count":
		out.value = ""
	default:
		out.optional = f.NoOptDefVal != ""
		if out.optional {
			out.usage += "; " + f.NoOptDefVal + " if it has no value"
		}
	}
	switch value { // names of types that only Go has
	case "int", "float", "float32":
		out.value = "number"
	case "strings":
		out.value = "string,…"
	case "stringArray":
		out.value = "string"
	}
	if f.Value.Type() == "stringArray" && !strings.Contains(usage, "repeated") {
		out.usage += "; may be repeated"
	}
	switch f.DefValue {
	case "false", "[]", "0s", "0":
		out.usual = ""
	}
	return out
}

var (
	flagName     = regexp.MustCompile(`^(--[a-z][a-z-]*|-[A-Za-z]|-vv+)$`)
	wordsAndGaps = regexp.MustCompile(`\S+|\s+`)
)

// marked writes a text in which names of flags, and what is between backquotes, are set apart from the rest.
func marked(text string, literal, plain func(string) string) string {
	var out strings.Builder
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			out.WriteString(literal(part))
			continue
		}
		for _, word := range wordsAndGaps.FindAllString(part, -1) {
			name := strings.Trim(word, "(,.;:)")
			if !flagName.MatchString(name) {
				out.WriteString(plain(word))
				continue
			}
			before, after, _ := strings.Cut(word, name)
			out.WriteString(plain(before) + literal(name) + plain(after))
		}
	}
	return out.String()
}
