package inspect

import (
	"slices"
	"strings"
	"unicode"
)

// badWords are words, or beginnings of words, in the name of a condition that is bad when it is True.
var badWords = []string{
	"Abnormal", "Abort", "Block", "Broken", "Conflict", "Corrupt", "Crash", "Dangling", "Deadlock", "Degraded", "Denied",
	"Deprecated", "Disconnected", "Disrupt", "Error", "Evict", "Exceed", "Exhausted", "Expired", "Fail", "Fault", "Fatal",
	"Fenced", "Hung", "Illegal", "Inaccessible", "Insufficient", "Invalid", "Lost", "Misconfigured", "Mismatch", "Missing",
	"Offline", "Orphaned", "Outage", "Outdated", "Overload", "Partitioned", "Pressure", "Problem", "Quarantine", "Readonly",
	"Refused", "Rejected", "Stale", "Stalled", "Stuck", "Terminating", "Throttled", "Timeout", "Unauthorized", "Unavailable", "Unbound",
	"Unhealthy", "Unknown", "Unreachable", "Unready", "Unresponsive", "Unschedulable", "Unsupported", "Violat", "Warning",
}

// calmWords are words in the name of a condition that tells what is going on, good or not.
var calmWords = []string{"Paused", "Suspended", "Disabled", "Deleted", "Drained", "Limited", "Progress"}

// goodIngs are words that end as those of something going on do, and of which True is good all the same.
var goodIngs = []string{"Running", "Serving", "Listening", "Working", "Binding", "Routing", "Networking"}

// polarityOfName reads the polarity from the words of a condition's name. That True is good is usual, and so what
// remains.
func polarityOfName(condition string) Polarity {
	words := wordsOf(condition)
	negated := false
	for _, w := range words {
		if w == "No" || w == "Without" { // NoErrors, WithoutConflicts
			negated = true
		}
	}
	switch {
	case slices.ContainsFunc(words, isBadWord) && !negated:
		return Negative
	case slices.ContainsFunc(words, func(w string) bool { return begins(w, calmWords) }):
		return Neutral
	case len(words) > 0 && isGoingOn(words[0]), len(words) > 0 && isGoingOn(words[len(words)-1]):
		return Neutral
	}
	return Positive
}

func isBadWord(w string) bool { return w == "Not" || w != "Failover" && begins(w, badWords) }

func begins(word string, with []string) bool {
	return slices.ContainsFunc(with, func(prefix string) bool { return strings.HasPrefix(word, prefix) })
}

// isGoingOn finds Reconciling, Updating, Scaling.
func isGoingOn(word string) bool {
	return strings.HasSuffix(word, "ing") && !slices.Contains(goodIngs, word)
}

// wordsOf splits CamelCase, and what is joined by other characters, into words that begin with a capital: TLSReady is TLS
// and Ready.
func wordsOf(name string) []string {
	name = name[strings.LastIndexByte(name, '/')+1:] // a domain in front, of a readiness gate, tells nothing
	letters := []rune(name)
	var words []string
	begin := 0
	for i, r := range letters {
		joint := !unicode.IsLetter(r) && !unicode.IsDigit(r)
		begins := i > begin && unicode.IsUpper(r) &&
			(!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if joint || begins {
			words = append(words, word(letters[begin:i])...)
			begin = i
		}
		if joint {
			begin = i + 1
		}
	}
	return append(words, word(letters[begin:])...)
}

// word is of the letters, if there are any.
func word(letters []rune) []string {
	if len(letters) == 0 {
		return nil
	}
	return []string{string(unicode.ToUpper(letters[0])) + string(letters[1:])}
}
