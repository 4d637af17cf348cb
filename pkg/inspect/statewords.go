package inspect

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// stateWord is a word for the state of an object: status.phase, status.state, status.health.status.
type stateWord struct {
	field, word string
	// message is the message next to it.
	message string
	// status is the value of Status.Status that the word means; empty if the word is not known.
	status string
	// past reports that the field describes something past: the last backup, the last run.
	past bool
}

// mainFields are the fields of the state of the object as a whole, as it is now.
var mainFields = []string{
	"phase", "state", "status", "health", "currentphase", "currentstate", "currentstatus", "printablestatus",
	"terminalstate",
}

// stateWords returns the words in the fields of the status whose names end in state, status, phase or health, and in
// such fields of maps in the status. main are those of mainFields, phase first, or the others if there are none.
func (o subject) stateWords() (main, others []stateWord) {
	for _, field := range slices.Sorted(maps.Keys(o.Sub("status"))) {
		found := o.stateWord(field)
		switch {
		case found.word == "":
		case slices.Contains(mainFields, strings.ToLower(field)):
			main = append(main, found)
		default:
			others = append(others, found)
		}
	}
	rank := func(w stateWord) int { return slices.Index(mainFields, strings.ToLower(w.field)) }
	sort.SliceStable(main, func(i, j int) bool {
		a, b := main[i], main[j]
		return cmp.Compare(rank(a), rank(b)) < 0
	})
	if main == nil {
		main = slices.DeleteFunc(slices.Clone(others), func(w stateWord) bool { return w.past })
	}
	return main, others
}

// stateWord returns the word in a field of the status; its word is empty if there is none.
func (o subject) stateWord(field string) stateWord {
	found := stateWord{field: field, past: hasPrefix(field, "last", "latest")}
	found.message = cmp.Or(o.Text("status", "message"), o.Text("status", "errorMessage"))
	switch value := o.Sub("status")[field].(type) {
	case string:
		if isStateField(field) {
			found.word = strings.TrimSpace(value)
		}
	case map[string]any:
		v := untyped.Map(value)
		switch {
		case hasPrefix(field, otherStatePrefixes...):
		case v.At("healthy") == false && isStateField(field):
			found.word = "unhealthy"
		default:
			found.word = cmp.Or(v.Text("phase"), v.Text("state"), v.Text("status"), v.Text("health"),
				v.Text("lastObservedState")) // of the connection of a CatalogSource of OLM
		}
		found.message = cmp.Or(v.Text("message"), v.Text("errorMessage"), v.Text("reason"), found.message)
	}
	found.status = statusOfWord(found.word)
	if o.group == "kubevirt.io" && found.word == "Stopped" {
		found.status = InProgress // one that is to be stopped is Suspended: see pausedByUser
	}
	return found
}

// stateSuffixes are the last words of the names of fields that hold a state, otherStatePrefixes the first words of
// fields that hold a state other than the current one. Robustness is Longhorn's.
var (
	stateSuffixes      = []string{"state", "status", "phase", "health", "robustness"}
	otherStatePrefixes = []string{
		"previous", "prev", "old", "desired", "desire", "target", "expected", "requested", "wanted", "next", "initial",
	}
)

// isStateField reports whether the field holds the current state, not a previous or desired one.
func isStateField(field string) bool {
	name := strings.ToLower(field)
	return !hasPrefix(field, otherStatePrefixes...) && slices.ContainsFunc(stateSuffixes, func(end string) bool {
		return strings.HasSuffix(name, end)
	})
}

func hasPrefix(field string, prefixes ...string) bool {
	words := wordsOf(field)
	return len(words) > 0 && slices.Contains(prefixes, strings.ToLower(words[0]))
}

// reason returns the word as a reason for people, after the name of its field unless that is one of mainFields.
func (w stateWord) reason() string {
	text := w.word
	if !slices.Contains(mainFields, strings.ToLower(w.field)) {
		text = w.field + " " + text
	}
	return withReason(text, firstLine(w.message))
}

// statusOfState maps words that mean the same in all kinds, in the form that normalized returns.
var statusOfState = wordTable(map[string]string{
	Current: `active alive attached available bound complete completed created deployed enabled established failedover
		finished green healthok healthy initialized installed ok online open operational provisioned ready running
		succeeded success successful synced valid up uptodate`,
	InProgress: `applying applyingchanges bootstrap bootstrapping building creating deploying expanding failingover
		finalizing initializing inprogress installing installready joining migratingdata missing new notfound
		notready pending preparing progressing provisioning reconciling recovering replacing requiresapproval
		restarting restoring rollingout scaling scheduling starting submitted syncing unready updating upgrading
		waiting yellow`,
	Terminating: "deleting terminating",
	Degraded: `abnormal critical degraded healthwarn inconclusive partiallyfailed unhealthy
		warning`,
	Failed: `aborted cancelled canceled crashed down err error errored failed failedvalidation failure fatal faulted
		healtherr invalid lost offline red rejected stuck terminated unavailable unreachable`,
	Suspended: "halted hibernated hibernating idle inactive paused sleeping stopped suspended",
	Unknown:   "unknown",
})

// failingWords are the words that mean a failure in a reason, or in a state of several words: CreateFailed.
var failingWords = wordSet(`Abort Aborted Bad Broken Cannot Conflict Corrupt Corrupted Crash
	Crashed Crashing Dead Denied Err Error Errored Errors Exceeded Exception Exhausted Expired Fail Failed
	Failing Failure Failures Fatal Faulted Forbidden Illegal Impossible Inaccessible Incompatible Insufficient
	Invalid Lost Malformed Misconfigured Mismatch Refused Rejected Stuck Terminal Timedout Timeout Unable
	Unauthorized Unhealthy Unprocessable Unreachable Unrecoverable Unresolvable Unresolved Unschedulable
	Unsupported Violation`)

// failingPairs are pairs of adjacent words that mean a failure.
var failingPairs = wordSet("BackOff NoQuorum NodeDown NotAllowed NotExist NotFound NotReachable NotSupported TimedOut")

// recoveringWords mean, in a reason, that the controller is recovering from a failure.
var recoveringWords = wordSet("Retry Retrying Recovering Recovered Remediating Waiting")

// waitingWords are first or last words of the reason of something in progress.
var waitingWords = wordSet(`Awaiting Bootstrapping Building Configuring Creating Deploying Initializing
	Installing Joining Migrating Pending Preparing Processing Progressing Provisioning Pulling Queued
	Reconciling Recovering Resizing Restarting Restoring Rolling Scaling Scheduling Starting Syncing
	Uninitialized Updating Upgrading Waiting`)

// statusOfWord returns the status that a text of one or a few words means; empty if that is not known.
func statusOfWord(text string) string {
	if status := statusOfState[normalized(text)]; status != "" {
		return status
	}
	words := wordsOf(text)
	const mostWords = 12 // what is longer is a message
	switch {
	case len(words) == 0 || len(words) > mostWords:
		return ""
	case slices.ContainsFunc(words, isPartial) && (slices.Contains(words, "Failed") || !isWaiting(text)):
		return Degraded
	case isFailing(text):
		return Failed
	case isWaiting(text):
		return InProgress
	case slices.Contains(words, "Healthy"): // "Cluster in healthy state"
		return Current
	}
	return ""
}

// isPartial reports whether the word means a partial failure: PartiallyFailed, ONLINE_PARTIAL.
func isPartial(word string) bool {
	w := capitalized(word)
	return w == "Partial" || w == "Partially"
}

// isFailing reports whether a reason or a state means a failure, by its words.
func isFailing(text string) bool {
	failing := false
	previous := ""
	for _, word := range wordsOf(text) {
		capital := capitalized(word)
		switch {
		case recoveringWords[capital]:
			return false
		case failingWords[capital] && previous != "No" && previous != "Without", failingPairs[previous+capital]:
			failing = true
		}
		previous = capital
	}
	return failing
}

// isWaiting reports whether a reason means that something is in progress.
func isWaiting(reason string) bool {
	words := wordsOf(reason)
	return len(words) > 0 && !isFailing(reason) &&
		(waitingWords[capitalized(words[0])] || waitingWords[capitalized(words[len(words)-1])] ||
			strings.HasSuffix(normalized(reason), "inprogress"))
}

// capitalized returns the word with a capital and small letters: FAILED and failed become Failed.
func capitalized(word string) string {
	letters := []rune(strings.ToLower(word))
	if len(letters) > 0 {
		letters[0] = unicode.ToUpper(letters[0])
	}
	return string(letters)
}

// normalized returns the letters and digits of a text in lower case: IN_PROGRESS and In progress become inprogress.
func normalized(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// wordTable inverts a map from statuses to lists of words.
func wordTable(lists map[string]string) map[string]string {
	table := map[string]string{}
	for status, list := range lists {
		for word := range strings.FieldsSeq(list) {
			table[word] = status
		}
	}
	return table
}

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}
