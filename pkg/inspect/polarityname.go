package inspect

import (
	"slices"
	"strings"
	"unicode"
)

// badWords are words in the name of a condition that is bad when it is True. They are matched whole.
var badWords = wordSet(`Abnormal Abort Aborted Blocked Blocking Broken Conflict Conflicted Conflicting Conflicts
	Corrupt Corrupted Corruption Crash Crashed Crashes Crashing Dangling Deadlock Deadlocked Degraded Denied
	Deprecated Disconnected Disrupted Disruption Err Error Errored Errors Evicted Eviction Exceeded Exceeds
	Exhausted Expired Fail Failed Failing Fails Failure Failures Fatal Fault Faulted Faults Faulty Fenced Hung
	Illegal Inaccessible Incompatible Inconsistent Insufficient Invalid Irreconcilable Lost Misconfigured
	Mismatch Mismatched Missing Not Offline Orphaned Outage Outdated Overload Overloaded Partitioned Pressure
	Problem Problems Quarantine Quarantined Readonly Refused Rejected Stale Stalled Stuck Terminating Throttled
	Throttling Timeout Unauthorized Unavailable Unbound Unhealthy Unknown Unreachable Unready Unrecoverable
	Unresolvable Unresponsive Unschedulable Unsupported Violated Violation Violations`)

// calmWords are words in the name of a condition that tells what is going on, good or not. They are matched whole.
var calmWords = wordSet("Deleted Disabled Drained Limited Paused Progress Progressive Suspended Warning Warnings")

// goodEnds are the last words of the name of a condition that is good when it is True, whatever is before:
// ErrorsResolved.
var goodEnds = wordSet("Accepted Available Configured Established Healthy Programmed Ready Reconciled Resolved " +
	"Succeeded Synced Valid")

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
	last := ""
	if len(words) > 0 {
		last = words[len(words)-1]
	}
	bad := slices.ContainsFunc(words, func(w string) bool { return badWords[w] })
	switch {
	case bad && !negated && (!goodEnds[last] || slices.Contains(words, "Not")):
		return Negative
	case slices.ContainsFunc(words, func(w string) bool { return calmWords[w] }):
		return Neutral
	case len(words) > 0 && !goodEnds[last] && (isGoingOn(words[0]) || isGoingOn(last)):
		return Neutral
	}
	return Positive
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
