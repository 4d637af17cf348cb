package compare

import (
	"encoding/json"
	"time"
)

// timeline turns recorded times into times of the run. They pass as they were recorded while a controller waits for a
// timer; what else there is to wait for is skipped. Then later times have another offset, and what was recorded in
// between comes to lie at one moment: the order of times stays.
type timeline struct {
	marks []mark
}

// mark begins a part of the timeline.
type mark struct {
	from   time.Time     // recorded
	offset time.Duration // to be added to recorded times, in whole seconds: the API writes no parts of them
	least  time.Time     // the result is not before it: the end of the part before
}

// newTimeline returns one in which start is now.
func newTimeline(start, now time.Time) *timeline {
	return &timeline{marks: []mark{{offset: wholeOffset(start, now)}}}
}

// wholeOffset returns the offset by which recorded comes to lie at now, or less than a second before.
func wholeOffset(recorded, now time.Time) time.Duration {
	d := now.Sub(recorded)
	whole := d.Truncate(time.Second)
	if whole > d { // d is below zero
		whole -= time.Second
	}
	return whole
}

// at returns the time of the run for a recorded one.
func (t *timeline) at(recorded time.Time) time.Time {
	i := len(t.marks) - 1
	for i > 0 && !recorded.After(t.marks[i].from) {
		i--
	}
	out := recorded.Add(t.marks[i].offset)
	if out.Before(t.marks[i].least) {
		return t.marks[i].least
	}
	return out
}

// move makes what was recorded after last, and up to recorded, lie so that recorded is now. It does nothing if that is
// so already.
func (t *timeline) move(last, recorded, now time.Time) {
	offset := wholeOffset(recorded, now)
	if offset == t.marks[len(t.marks)-1].offset || !recorded.After(last) {
		return
	}
	t.marks = append(t.marks, mark{from: last, offset: offset, least: t.at(last)})
}

// shift returns an object with its times moved: those of its metadata and status, and where else the API or controllers
// write times. Those in annotations and templates stay: they are what somebody has written.
func (t *timeline) shift(data []byte) ([]byte, error) { return shiftWith(data, t.at) }

// shiftWith returns an object with what a function returns for each of these times.
func shiftWith(data []byte, move func(time.Time) time.Time) ([]byte, error) {
	t := mover(move)
	obj, err := parse(data)
	if err != nil {
		return nil, err
	}
	if metadata, ok := obj["metadata"].(map[string]any); ok {
		for _, name := range []string{"creationTimestamp", "deletionTimestamp"} {
			metadata[name] = t.value(metadata[name])
			if metadata[name] == nil {
				delete(metadata, name)
			}
		}
	}
	for _, name := range []string{"status", "eventTime", "firstTimestamp", "lastTimestamp", "series"} {
		if v, ok := obj[name]; ok {
			obj[name] = t.value(v)
		}
	}
	if spec, ok := obj["spec"].(map[string]any); ok {
		for _, name := range []string{"taints", "renewTime", "acquireTime"} {
			if v, ok := spec[name]; ok {
				spec[name] = t.value(v)
			}
		}
	}
	return json.Marshal(obj)
}

// mover moves times.
type mover func(time.Time) time.Time

// value returns a value with all times in it moved. It changes maps and lists in place.
func (t mover) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			v[name] = t.value(value)
		}
	case []any:
		for i, entry := range v {
			v[i] = t.value(entry)
		}
	case string:
		if isTime(v) {
			return t.text(v)
		}
	}
	return v
}

// text moves a time, and keeps how precise it is.
func (t mover) text(text string) string {
	when, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	moved := t(when).UTC()
	layout := "2006-01-02T15:04:05Z"
	switch len(text) {
	case len("2006-01-02T15:04:05.000000Z"):
		layout = "2006-01-02T15:04:05.000000Z"
	case len("2006-01-02T15:04:05Z"):
	default:
		layout = time.RFC3339Nano
	}
	return moved.Format(layout)
}
