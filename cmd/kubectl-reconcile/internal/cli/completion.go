package cli

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
)

// completionTimeout bounds how long a completion may take: the user has pressed Tab and waits. It leaves the rest of a
// second for the start of this program and of kubectl.
const completionTimeout = 800 * time.Millisecond

// Offer returns what may stand in the place of a word of the command line that is not complete yet, given the arguments
// before it. A tab separates a word from its description, which is optional. Those that do not begin as the typed word
// are left out by who calls it. It returns nil if nothing is known.
type Offer func(ctx context.Context, args []string, typed string) []string

// Completion returns the function of cobra that completes a word by an Offer: by nothing if that has no answer in time.
// Nothing is reported. No blank follows a word after which more must be typed: one that ends with a dot, a slash or an
// opening bracket.
func Completion(offer Offer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		words := inTime(cmd.Context(), func(ctx context.Context) []string { return offer(ctx, args, typed) })
		return matching(words, typed)
	}
}

// Complete lets the shell complete the value of a flag by an Offer. The command must have the flag.
func Complete(cmd *cobra.Command, flag string, offer Offer) {
	// The only error is that the command has no such flag, or that it is completed already: the tests would show it.
	_ = cmd.RegisterFlagCompletionFunc(flag, Completion(offer))
}

// CompleteList is Complete for a flag that is a comma list: the Offer is for its last word, and words that the list has
// already are left out.
func CompleteList(cmd *cobra.Command, flag string, offer Offer) {
	complete := Completion(func(ctx context.Context, args []string, typed string) []string {
		before := typed[:strings.LastIndex(typed, ",")+1]
		given := strings.Split(before, ",")
		var out []string
		for _, word := range offer(ctx, args, typed[len(before):]) {
			if !slices.Contains(given, bare(word)) {
				out = append(out, before+word)
			}
		}
		return out
	})
	_ = cmd.RegisterFlagCompletionFunc(flag, func(
		cmd *cobra.Command, args []string, typed string,
	) ([]string, cobra.ShellCompDirective) {
		words, directive := complete(cmd, args, typed)
		return words, directive | cobra.ShellCompDirectiveNoSpace
	})
}

// CompleteInOrder is Complete for words that the shell must not sort.
func CompleteInOrder(cmd *cobra.Command, flag string, offer Offer) {
	complete := Completion(offer)
	_ = cmd.RegisterFlagCompletionFunc(flag, func(
		cmd *cobra.Command, args []string, typed string,
	) ([]string, cobra.ShellCompDirective) {
		words, directive := complete(cmd, args, typed)
		return words, directive | cobra.ShellCompDirectiveKeepOrder
	})
}

// CompleteWords lets the shell complete the value of a flag by fixed words, which may have descriptions. The command
// must have the flag.
func CompleteWords(cmd *cobra.Command, flag string, words ...string) {
	Complete(cmd, flag, Words(words...))
}

// Words is an Offer of fixed words.
func Words(words ...string) Offer {
	return func(context.Context, []string, string) []string { return words }
}

// CompleteFiles lets the shell complete the values of flags by the names of files.
func CompleteFiles(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		_ = cmd.RegisterFlagCompletionFunc(flag, Files)
	}
}

// Files is a cobra.CompletionFunc that leaves completion to the shell, which offers the names of files.
func Files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// inTime returns what offer returns, or nil if it does not in completionTimeout. Then it is not waited for: what reads
// a kubeconfig, or runs a program that gets credentials, does not know the context.
func inTime(ctx context.Context, offer func(context.Context) []string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	offered := make(chan []string, 1) // buffered: what comes too late is dropped
	go func() { offered <- offer(ctx) }()
	select {
	case words := <-offered:
		if ctx.Err() != nil {
			return nil // it may be a part
		}
		return words
	case <-ctx.Done():
		return nil
	}
}

// matching returns the words that begin as the typed one, and how the shell has to treat them.
func matching(words []string, typed string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	var out []string
	for _, word := range words {
		plain := bare(word)
		if !strings.HasPrefix(plain, typed) || !isSafe(plain) {
			continue
		}
		if strings.HasSuffix(plain, ".") || strings.HasSuffix(plain, "/") || strings.HasSuffix(plain, "[") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		out = append(out, word)
	}
	return out, directive
}

// bare returns a word without its description.
func bare(word string) string {
	word, _, _ = strings.Cut(word, "\t")
	return word
}

// isSafe reports whether a shell may be given a word: completion scripts of older versions let it expand commands and
// variables in words, and a name in a recording may be anything.
func isSafe(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || strings.ContainsRune("$`\"'\\", r)
	})
}
