package cli

import (
	"fmt"
	"slices"
	"strings"
)

// MaxNames bounds the names that are listed in a sentence.
const MaxNames = 8

// Enumerate lists names in a sentence, the first of them if they are many.
func Enumerate(names []string) string {
	if n := len(names) - MaxNames; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:MaxNames], ", "), n)
	}
	return strings.Join(names, ", ")
}

// Plural counts things: "1 object", "2 objects".
func Plural(n int, noun string) string { return fmt.Sprintf("%d %s", n, PluralOf(n, noun, noun+"s")) }

// PluralOf chooses a word by number.
func PluralOf(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// ShellQuoted quotes a path if a shell would not take it as it is.
func ShellQuoted(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%,") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func AppendNew[T comparable](list []T, one T) []T {
	if slices.Contains(list, one) {
		return list
	}
	return append(list, one)
}

// MaxNotesOfAKind bounds the lines of one sort below a tree.
const MaxNotesOfAKind = 10
