package inspect

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The values of Status.Status. Suspended and Degraded are ours, the others kstatus's.
const (
	Current     = "Current"     // the object is as its spec requests
	InProgress  = "InProgress"  // it is being brought to that state
	Failed      = "Failed"      // it will not reach that state without a change from outside
	Terminating = "Terminating" // it is being deleted
	Unknown     = "Unknown"     // it reports no status, or not in a readable form
	Suspended   = "Suspended"   // it is as its spec requests, and that is paused, suspended or cordoned
	Degraded    = "Degraded"    // it does part of what its spec requests, or reports an error
)

// Status is the state of an object compared with what its spec requests.
type Status struct {
	// Status is one of the values above.
	Status string `json:"status"`
	// Kstatus is the status that kstatus computes, which may differ; empty if kstatus returned an error.
	Kstatus string `json:"kstatus"`
	// Reason explains Status in a few words, for people: "2 of 3 updated pods available", "ImagePullBackOff:
	// nginx:nope". It may be empty, and has at most 100 characters: longer text is cut between two words, as CutText
	// does, and has "…" there.
	Reason string `json:"reason,omitempty"`
	// Message is the full explanation from kstatus or the object, including what was cut from Reason; it may be empty.
	Message string `json:"message,omitempty"`
	// Ready is "ready/wanted" for objects that count replicas, completions or containers, empty for others.
	Ready string `json:"ready,omitempty"`
	// JudgedBy names the rules that determined Status: one of the values below. It is empty for an object that was not
	// read.
	JudgedBy string `json:"judgedBy,omitempty"`
}

// The values of Status.JudgedBy.
const (
	BuiltIn = "BuiltIn" // the rules of this package for the kind
	ArgoCD  = "ArgoCD"  // the health check that Argo CD has for the kind
	Generic = "Generic" // conventions that hold for all kinds, kstatus included
)

// Current reports whether the object is as its spec requests: Current or Suspended.
func (s Status) Current() bool { return s.Status == Current || s.Status == Suspended }

// NotReady reports whether the object is not as its spec requests, or does not report it.
func (s Status) NotReady() bool { return !s.Current() }

// Severity orders objects by how much attention they need: 0 is Current, higher is worse.
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

// noStatus is the reason of a custom resource whose status no controller has written.
const noStatus = "no status reported"

// Unreported reports whether the object is Unknown only because it has no status at all: its controller does not run,
// or its kind has none: see Options.NoStatus.
func (s Status) Unreported() bool { return s.Status == Unknown && s.Reason == noStatus }

// StatusOf returns the status of an object with DefaultPolarities. It is a short form of Inspect.
func StatusOf(obj *unstructured.Unstructured) Status { return Inspect(obj, nil).Status }

// maxReasonLength is the maximum length of a reason, in characters.
const maxReasonLength = 100

// forbidden matches the beginning of the message of a refusal (apimachinery's errors.NewForbidden).
var forbidden = regexp.MustCompile(`\b[a-z0-9.-]+(?: "[^"]*")? is forbidden: `)

// TrimForbidden returns a text without the words with which an API server begins every refusal, `pods "web-0" is
// forbidden: `, wherever they occur: what follows them is the reason.
func TrimForbidden(text string) string { return forbidden.ReplaceAllString(text, "") }

// truncated returns the status with a reason of at most maxReasonLength, without the beginning that all refusals
// share. What is cut is added to the message unless it is already there.
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

// cutAtWord cuts a text that is longer than a reason may be.
func cutAtWord(s string) string { return CutText(s, maxReasonLength, cutTo) }

// CutText shortens a text to a number of characters. What comes last in a chain of errors, after the last colon of the
// first sentence, is the cause: if the text is too long, what is before that is cut, down to a half. cut shortens a
// text at its end to that many characters, the mark of the cut included.
func CutText(s string, most int, cut func(s string, most int) string) string {
	sentence, _, _ := strings.Cut(s, ". ")
	at := strings.LastIndex(sentence, ": ")
	if at < 0 {
		return cut(s, most)
	}
	before, cause := s[:at+2], utf8.RuneCountInString(sentence[at+2:])
	room := most - cause
	if room < most/3 {
		room = most / 2
	}
	if utf8.RuneCountInString(before) <= room {
		return cut(s, most)
	}
	before = cut(before, room)
	return before + cut(s[at+2:], most-utf8.RuneCountInString(before))
}

// cutTo cuts a text to a number of characters, between two words if that keeps at least half of them.
func cutTo(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	runes := []rune(s)[:most]
	head := string(runes[:most-1])
	if blank := strings.LastIndexByte(string(runes), ' '); blank >= len(head)/2 {
		head = string(runes)[:blank]
	}
	return strings.TrimSpace(head) + "…"
}

// withReason returns the message with the reason before it, unless the message already begins with the reason.
func withReason(reason, message string) string {
	if message == reason || strings.HasPrefix(message, reason+":") {
		return message
	}
	return reason + withSeparator(": ", message)
}
