package inspect

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// mostOfReason is how many characters a reason has at most.
const mostOfReason = 100

// forbidden begins the message of a refusal (apimachinery's errors.NewForbidden).
var forbidden = regexp.MustCompile(`\b[a-z0-9.-]+(?: "[^"]*")? is forbidden: `)

// TrimForbidden returns a text without the words that an API server begins every refusal with, `pods "web-0" is forbidden: `,
// wherever they stand: what follows them says why.
func TrimForbidden(text string) string { return forbidden.ReplaceAllString(text, "") }

// bounded drops from a reason what every refusal begins with, and cuts a long one, between two words where it can. What is cut is
// then in the message, if it was not already.
func (s Status) bounded() Status {
	full := s.Reason
	s.Reason = cutWords(TrimForbidden(full))
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

// cutWords cuts a text that is too long, unless that leaves less than half of what there is room for.
func cutWords(s string) string {
	if utf8.RuneCountInString(s) <= mostOfReason {
		return s
	}
	runes := []rune(s)[:mostOfReason]
	head := string(runes[:mostOfReason-1])
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
	return reason + after(": ", message)
}
