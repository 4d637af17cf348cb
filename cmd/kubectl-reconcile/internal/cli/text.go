package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// MaxNames bounds the names that Enumerate lists.
const MaxNames = 8

// Enumerate lists names for a sentence: "a, b"; of more than MaxNames the first, and how many more there are.
func Enumerate(names []string) string {
	if n := len(names) - MaxNames; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:MaxNames], ", "), n)
	}
	return strings.Join(names, ", ")
}

// Plural spells a number of things: "1 object", "2 objects".
func Plural(n int, noun string) string { return fmt.Sprintf("%d %s", n, PluralOf(n, noun, noun+"s")) }

// PluralOf returns one if n is 1, else many.
func PluralOf(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// ShellQuoted quotes a word if a shell would not read it as it is.
func ShellQuoted(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%,") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// AppendUnique appends an element to a list unless the list has it.
func AppendUnique[T comparable](list []T, one T) []T {
	if slices.Contains(list, one) {
		return list
	}
	return append(list, one)
}

// MaxNotes bounds the notes with the same cause that are printed below a tree or a table.
const MaxNotes = 10

// OneLine returns the text of an error on one line, safe for a terminal. Of a very long number it has the beginning.
func OneLine(text string) string {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "error: "), "error ") // some libraries begin with it
	text = longNumber.ReplaceAllStringFunc(text, func(digits string) string {
		return fmt.Sprintf("%s… (%d digits)", digits[:20], len(digits))
	})
	return render.Escape(strings.Join(strings.Fields(strings.ReplaceAll(text, "\n", " ")), " "))
}

// longNumber matches a number that is longer than any that means something: errors of parsers quote what they read.
var longNumber = regexp.MustCompile(`[0-9]{100,}`)

// OneLines returns the result of OneLine for each of several texts.
func OneLines(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = OneLine(text)
	}
	return out
}

// Wrap wraps a line between words at the width of the terminal that w writes to; not at all if w is no terminal.
func Wrap(w io.Writer, line string) string { return render.Wrap(line, render.TerminalWidth(w), "  ") }
