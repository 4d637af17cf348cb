package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
)

// Times says which times of an object Retime moves. A time is a string in the form of RFC 3339, as the API writes
// times.
type Times int

const (
	// NamedTimes are those in fields that have names of times: they end with Time, Timestamp or At, or are one of a few
	// others. So it is with all kinds, custom ones included, in their specs and managed fields too. What people chose
	// stays as it is: labels, annotations, and the data of ConfigMaps and Secrets.
	NamedTimes Times = iota

	// WrittenTimes are those that the API or controllers write, whatever their fields are called: when the object was
	// created and is to be deleted, all in the status, and those of Events, Leases and taints. Those of other specs
	// stay, and those of managed fields, by which the API tells a write that changes nothing but them; and a time of
	// creation or deletion that is null is left out, as it is where a typed client has read the object. So an object
	// that a program reads and writes back differs from the one that it has read only by what the program has changed.
	WrittenTimes
)

// Retime returns an object, which is JSON, with some of its times replaced by what move returns for them, in the form
// that they have: fractions of a second keep their number of digits, and time zones stay. Nothing else changes, and of
// what is not valid JSON nothing must be expected. It reads bytes, as numbers would lose digits otherwise.
func Retime(object []byte, times Times, move func(time.Time) time.Time) []byte {
	r := retimer{data: object, times: times, move: move}
	for i := 0; i >= 0 && i < len(object); {
		i = r.next(i)
	}
	if r.copied == 0 {
		return object
	}
	r.out.Write(object[r.copied:])
	return r.out.Bytes()
}

// RetimeFields is Retime for fields of decoded JSON, which it does not change. Numbers in the result are int64 or
// float64.
func RetimeFields(
	fields map[string]any, times Times, move func(time.Time) time.Time,
) (map[string]any, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encoding an object: %w", err)
	}
	out := map[string]any{}
	if err := utiljson.Unmarshal(Retime(text, times, move), &out); err != nil {
		return nil, fmt.Errorf("decoding an object: %w", err)
	}
	return out, nil
}

// Later returns a function that moves times by a duration, for Retime.
func Later(by time.Duration) func(time.Time) time.Time {
	return func(t time.Time) time.Time { return t.Add(by) }
}

// retimer is a run of Retime.
type retimer struct {
	data  []byte
	times Times
	move  func(time.Time) time.Time

	out    bytes.Buffer
	copied int // up to where data is in out, or is left out

	depth  int
	parent string // the key at depth 1
	moving bool   // the texts that follow, up to the next key, are moved if they are times
	all    int    // up to where all texts are
	kept   bool   // the object at depth 2 has a member that is not left out
}

// next reads what begins at i, and returns the index after it; negative if it does not end.
func (r *retimer) next(i int) int {
	switch r.data[i] {
	case '{', '[':
		r.depth++
	case '}', ']':
		r.depth--
	case '"':
		return r.text(i)
	}
	return i + 1
}

// text reads a string, and if it is a key what need not be looked into of its value.
func (r *retimer) text(i int) int {
	end := rawjson.SkipString(r.data, i)
	if end < 0 {
		return -1
	}
	text := r.data[i+1 : end-1]
	colon := rawjson.SkipBlanks(r.data, end)
	switch isKey := colon < len(r.data) && r.data[colon] == ':'; {
	case !isKey && (r.moving || i < r.all):
		r.moveTime(i+1, text)
	case isKey && i >= r.all:
		return r.member(i, string(text), rawjson.SkipBlanks(r.data, colon+1))
	}
	return end
}

// member reads a member, whose key begins at i and whose value at from, as far as it need not be looked into.
func (r *retimer) member(i int, key string, from int) int {
	which := r.reach(key)
	if r.depth == 1 {
		r.parent, r.kept = key, false
	}
	r.moving = which == direct
	switch which {
	case none:
		from = rawjson.SkipValue(r.data, from)
	case all, allUnlessNull:
		r.all = rawjson.SkipValue(r.data, from)
		if which == allUnlessNull && bytes.HasPrefix(r.data[from:], []byte("null")) {
			r.leaveOut(i, r.all)
			return r.all
		}
	}
	r.kept = r.kept || r.depth == 2
	return from
}

// leaveOut leaves out a member, and the comma before it or, if it is the first one, after it.
func (r *retimer) leaveOut(from, end int) {
	if r.kept {
		from = bytes.LastIndexByte(r.data[:from], ',')
	} else if next := rawjson.SkipBlanks(r.data, end); next < len(r.data) && r.data[next] == ',' {
		end = next + 1
	}
	r.replace(from, end, nil)
}

// moveTime moves the time that a text is, which begins at i, if it is one.
func (r *retimer) moveTime(i int, text []byte) {
	if len(text) < len("2006-01-02T15:04:05Z") || text[4] != '-' || text[10] != 'T' {
		return
	}
	t, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return
	}
	layout := time.RFC3339
	if _, fraction, ok := strings.Cut(string(text), "."); ok {
		digits := len(fraction) - len(strings.TrimLeft(fraction, "0123456789"))
		layout = "2006-01-02T15:04:05." + strings.Repeat("0", digits) + "Z07:00"
	}
	r.replace(i, i+len(text), r.move(t).In(t.Location()).AppendFormat(nil, layout))
}

// replace puts text in the place of some bytes, which are after all that were replaced.
func (r *retimer) replace(from, end int, text []byte) {
	if from < r.copied {
		return // it is not valid
	}
	r.out.Write(r.data[r.copied:from])
	r.out.Write(text)
	r.copied = end
}

// reach is which times in the value of a member are moved.
type reach int

const (
	none          reach = iota
	some                // those in its members, of which each has a reach
	direct              // the value itself, or the entries of a list
	all                 // those at any depth
	allUnlessNull       // the same, and without any value the member is left out
)

// written is the reach of members by WrittenTimes, by their paths. That of others is none.
var written = map[string]reach{
	"metadata": some, "metadata.creationTimestamp": allUnlessNull, "metadata.deletionTimestamp": allUnlessNull,
	"spec": some, "spec.taints": all, "spec.renewTime": all, "spec.acquireTime": all,
	"status": all, "eventTime": all, "firstTimestamp": all, "lastTimestamp": all, "series": all,
}

// reach returns that of the member with a key.
func (r *retimer) reach(key string) reach {
	switch {
	case r.times == WrittenTimes && r.depth == 1:
		return written[key]
	case r.times == WrittenTimes:
		return written[r.parent+"."+key]
	case slices.Contains(chosenFields, key):
		return none
	case isTimeField(key):
		return direct
	}
	return some
}

// timeFields are names of fields with times that end otherwise.
var timeFields = []string{"time", "timeAdded", "notBefore", "notAfter", "deadline", "expiry", "expires"}

// chosenFields are names of fields whose values are chosen by people.
var chosenFields = []string{"labels", "annotations", "matchLabels", "data", "stringData", "binaryData", "fieldsV1"}

func isTimeField(name string) bool {
	return strings.HasSuffix(name, "Time") || strings.HasSuffix(name, "Timestamp") || strings.HasSuffix(name, "At") ||
		slices.Contains(timeFields, name)
}
