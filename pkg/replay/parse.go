package replay

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MomentError is the error for text that names no moment.
type MomentError struct {
	Text string
	// Reason says what is wrong with it; empty if it has none of the forms of moments.
	Reason string
	// Records is the number of the last record, and First and Last are the times of the recording, zero if it has none.
	Records     int64
	First, Last time.Time
}

// Error implements error. It says what is allowed, and what the recording has.
func (e *MomentError) Error() string {
	reason := e.Reason
	if reason == "" {
		reason = "it must be start, end, #n or a resource version"
		if !e.First.IsZero() {
			reason = "it must be start, end, #n, a resource version, a time (10:04:05, 2006-01-02 10:04:05 or " +
				"RFC 3339, in UTC), +90s after the first record, or -2m before the last"
		}
	}
	out := fmt.Sprintf("parsing the moment %q: %s; the recording has ", e.Text, reason)
	switch {
	case e.Records == 0:
		return out + "no records"
	case e.First.IsZero():
		return out + fmt.Sprintf("#1 to #%d and no times", e.Records)
	default:
		return out + fmt.Sprintf("#1 to #%d, %s to %s", e.Records, formatTime(e.First), formatTime(e.Last))
	}
}

// ParseMoment returns the moment that the text names in a recording:
//
//	start, end                     the first lists are complete; the last record
//	#120                           record 120
//	48123                          the first list, event or bookmark with this resource version or a newer one
//	2026-11-27T10:04:05.123Z       a time, in RFC 3339
//	2026-11-27 10:04:05.123        a time, in UTC
//	10:04:05.123                   a time on the first day of the recording, or on the first one after it that has it
//	+1m30s                         after the first record
//	-2m                            before the last record
//
// A time that is written without the smaller units includes all of the last one that is written: 10:04:05 goes until
// 10:04:05.999999, as people name what they see in a list of rounded times. The error is a *MomentError, or a
// *OutsideError if the recording has no such number or time. Whether it has a resource version is known after Seek.
func ParseMoment(text string, info Info) (Moment, error) { return parseMoment(text, info, true) }

// ParseSince is ParseMoment for the beginning of a part of a recording: of a time that is written without the smaller
// units, it is the first moment, 10:04:05.000000.
func ParseSince(text string, info Info) (Moment, error) { return parseMoment(text, info, false) }

// parseMoment parses a moment. With whole, a time includes all of the last unit that is written.
func parseMoment(text string, info Info, whole bool) (Moment, error) {
	bad := func(reason string) error {
		return &MomentError{Text: text, Reason: reason, Records: info.Records, First: info.First, Last: info.Last}
	}
	text = strings.TrimSpace(text)
	number, isNumber := strings.CutPrefix(text, "#")
	switch {
	case text == "start":
		return Moment{Start: true}, nil
	case text == "end":
		return Moment{}, nil
	case isNumber:
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 1 {
			return Moment{}, bad("# must be followed by the number of a record")
		}
		return info.within(Moment{Number: n})
	case digits(text):
		if len(text) > 64 {
			return Moment{}, bad("it is too long for a resource version")
		}
		return Moment{ResourceVersion: text}, nil
	}
	at, unit, ok := parseTime(text, &info)
	switch {
	case !ok:
		return Moment{}, bad("")
	case info.First.IsZero():
		return Moment{}, bad("there are no times: use #n, the number of a record")
	}
	// The last record may be within the unit.
	if end := at.Add(unit - time.Microsecond); whole && unit > 0 && !at.After(info.Last) {
		at = end
		if end.After(info.Last) {
			at = info.Last
		}
	}
	return info.within(Moment{Time: at})
}

// within returns the moment if it is in the recording.
func (i *Info) within(m Moment) (Moment, error) {
	if !i.contains(m) {
		return Moment{}, i.outside(m, "")
	}
	return m, nil
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// parseTime returns the time that the text names, and the smallest unit that is written, 0 for an exact time.
func parseTime(text string, info *Info) (at time.Time, unit time.Duration, ok bool) {
	if strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		d, err := time.ParseDuration(text)
		if err != nil {
			return time.Time{}, 0, false
		}
		if d < 0 || text[0] == '-' {
			return info.Last.Add(d), 0, true
		}
		return info.First.Add(d), 0, true
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), unitOf(text, time.Second), true
		}
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, time.Minute, true
		}
	}
	unit = unitOf(text, time.Second)
	at, err := time.Parse(time.TimeOnly, text)
	if err != nil {
		unit = time.Minute
		at, err = time.Parse("15:04", text)
	}
	if err != nil {
		return time.Time{}, 0, false
	}
	first := info.First.UTC()
	day := time.Date(first.Year(), first.Month(), first.Day(), 0, 0, 0, 0, time.UTC)
	at = day.Add(at.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)))
	// A recording that goes past midnight has the times before its first one on the next day.
	if next := at.AddDate(0, 0, 1); at.Add(unit-time.Microsecond).Before(first) && !next.After(info.Last) {
		at = next
	}
	return at, unit, true
}

// unitOf returns the unit of the last digit of a time's fraction, at least a microsecond, or that of a time without
// one.
func unitOf(text string, whole time.Duration) time.Duration {
	_, fraction, ok := strings.Cut(text, ".")
	if !ok {
		return whole
	}
	for _, c := range fraction {
		if c < '0' || c > '9' || whole <= time.Microsecond {
			break
		}
		whole /= 10
	}
	return max(whole, time.Microsecond)
}
