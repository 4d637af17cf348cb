package inspect

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The words of Status.Status. Suspended and Degraded are ours, the others kstatus's.
const (
	Current     = "Current"     // the object is as its spec asks
	InProgress  = "InProgress"  // it is on its way
	Failed      = "Failed"      // it will not get there as it is
	Terminating = "Terminating" // it is being deleted
	Unknown     = "Unknown"     // it does not say, or not in a form that can be read
	Suspended   = "Suspended"   // it has got where its spec wants it, and that is to rest: paused, suspended, cordoned
	Degraded    = "Degraded"    // it does part of what its spec asks, or says itself that something is wrong
)

// Status says how far an object has come towards what its spec asks for.
type Status struct {
	// Status is one of the words above.
	Status string `json:"status"`
	// Kstatus is what kstatus says of the object, which may be another word; empty if it gave an error.
	Kstatus string `json:"kstatus"`
	// Reason says why in a few words, for people: "2 of 3 updated pods available", "ImagePullBackOff: nginx:nope". It may
	// be empty, and has at most 100 characters: what is longer is cut between two words and ends in "…".
	Reason string `json:"reason,omitempty"`
	// Message says why in full, as kstatus or the object itself does, and what was cut from Reason; it may be empty.
	Message string `json:"message,omitempty"`
	// Ready is "ready/wanted" for objects that count replicas, completions or containers, empty for others.
	Ready string `json:"ready,omitempty"`
	// JudgedBy is what Status was found by: one of the words below. It is empty for an object that was not read.
	JudgedBy string `json:"judgedBy,omitempty"`
}

// The values of Status.JudgedBy.
const (
	BuiltIn = "BuiltIn" // the rules of this package for the kind
	ArgoCD  = "ArgoCD"  // the health check that Argo CD has for the kind
	Generic = "Generic" // what is usual for all kinds, kstatus among it
)

// Current reports whether the object has got where its spec wants it: one that is Suspended has.
func (s Status) Current() bool { return s.Status == Current || s.Status == Suspended }

// NotReady reports whether the object has not got where its spec wants it, or does not say that it has.
func (s Status) NotReady() bool { return !s.Current() }

// Severity orders objects by how much they ask for attention: 0 is Current, higher is worse.
func (s Status) Severity() int {
	switch s.Status {
	case Current:
		return 0
	case Suspended:
		return 1
	case InProgress:
		return 2
	case Terminating:
		return 3
	case Degraded:
		return 5
	case Failed:
		return 6
	}
	return 4
}

// noStatus is the reason of an object of a custom kind whose status nobody has written.
const noStatus = "no status reported"

// Unreported reports whether the object is Unknown only because it has no status at all: its controller does not run, or
// its kind has none.
func (s Status) Unreported() bool { return s.Status == Unknown && s.Reason == noStatus }

// ForKind settles a status that is Unreported, for whoever knows the kind: one whose API has no status to report is as it
// is, and so Current. An object does not tell that itself.
func (s Status) ForKind(reportsStatus bool) Status {
	if s.Unreported() && !reportsStatus {
		s.Status, s.Reason = Current, ""
	}
	return s
}

// StatusOf judges an object by its own fields: by the rules of kstatus, corrected where they mislead. The default
// polarities hold. The object is only read; Inspect tells more.
func StatusOf(obj *unstructured.Unstructured) Status { return Inspect(obj, nil).Status }

// maxReasonLength is how many characters a reason has at most.
const maxReasonLength = 100

// forbidden begins the message of a refusal (apimachinery's errors.NewForbidden).
var forbidden = regexp.MustCompile(`\b[a-z0-9.-]+(?: "[^"]*")? is forbidden: `)

// TrimForbidden returns a text without the words that an API server begins every refusal with, `pods "web-0" is forbidden: `,
// wherever they stand: what follows them says why.
func TrimForbidden(text string) string { return forbidden.ReplaceAllString(text, "") }

// truncated drops from a reason what every refusal begins with, and cuts a long one, between two words where it can. What is cut is
// then in the message, if it was not already.
func (s Status) truncated() Status {
	full := s.Reason
	s.Reason = cutAtWord(TrimForbidden(full))
	if s.Reason == full {
		return s
	}
	_, detail, found := strings.Cut(full, ": ")
	switch {
	case s.Message == "" || s.Message == full:
		s.Message = full
	case !strings.Contains(s.Message, full) && (!found || !strings.Contains(s.Message, detail)):
		s.Message = full + "; " + s.Message
	}
	return s
}

// cutAtWord cuts a text that is too long, unless that leaves less than half of what there is room for.
func cutAtWord(s string) string {
	if utf8.RuneCountInString(s) <= maxReasonLength {
		return s
	}
	runes := []rune(s)[:maxReasonLength]
	head := string(runes[:maxReasonLength-1])
	if blank := strings.LastIndexByte(string(runes), ' '); blank >= len(head)/2 {
		head = string(runes)[:blank]
	}
	return strings.TrimSpace(head) + "…"
}

// withReason puts a reason before a message, unless that begins with it.
func withReason(reason, message string) string {
	if message == reason || strings.HasPrefix(message, reason+":") {
		return message
	}
	return reason + withSeparator(": ", message)
}
