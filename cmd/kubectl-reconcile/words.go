package main

import (
	"fmt"
	"strings"
)

// mostNames bounds the names that are listed in a sentence.
const mostNames = 8

// enumerate lists names in a sentence, the first of them if they are many.
func enumerate(names []string) string {
	if n := len(names) - mostNames; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNames], ", "), n)
	}
	return strings.Join(names, ", ")
}

// plural counts things: "1 object", "2 objects".
func plural(n int, noun string) string { return fmt.Sprintf("%d %s", n, pluralOf(n, noun, noun+"s")) }

// pluralOf chooses a word by number.
func pluralOf(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
