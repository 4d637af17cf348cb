package inspect

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is what a component has reported about an object, once or several times.
type Event struct {
	// Type is Normal or Warning.
	Type string
	// Reason is one word, Message is for people.
	Reason  string
	Message string
	// Count is how often it was reported, at least 1.
	Count int32
	// First and Last are when it was reported first and last; either may be zero if the component does not set it.
	First metav1.Time
	Last  metav1.Time
	// By is the component; it may be empty.
	By string
}

// events are the Events of an object, the last first.
type events []Event

// with returns the last Event with one of the reasons whose message contains a text; false if there is none.
func (all events) with(text string, reasons ...string) (Event, bool) {
	for _, e := range all {
		if slices.Contains(reasons, e.Reason) && strings.Contains(e.Message, text) {
			return e, true
		}
	}
	return Event{}, false
}

// RecentEvents returns those of the Events that may tell about the present: not older than an hour, for which an API
// server keeps them unless it is set otherwise, or of an unknown time. It does not change all; all are recent if now is
// zero.
func RecentEvents(all []Event, now time.Time) []Event {
	return slices.DeleteFunc(slices.Clone(all), func(e Event) bool {
		return !now.IsZero() && !e.Last.IsZero() && now.Sub(e.Last.Time) > time.Hour
	})
}

// evidence returns the Event as evidence.
func (e Event) evidence() Evidence {
	out := Evidence{Source: FromEvent, Name: e.Reason, Text: e.text(), Count: e.Count, By: e.By}
	if !e.Last.IsZero() {
		out.Time = &e.Last
	}
	return out
}

// text returns the message without what client-go adds to combined Events (tools/record/events_cache.go) and
// controllers to those about pods (pkg/controller/controller_utils.go), and without what all refusals share.
func (e Event) text() string {
	message := strings.TrimPrefix(e.Message, "(combined from similar events): ")
	message = strings.TrimPrefix(message, "Error creating: ")
	return strings.TrimSpace(TrimForbidden(message))
}
