package findings

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"maps"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// Alternation is a condition or a field whose value alternates: from A to B and back to A, or in a longer cycle.
type Alternation struct {
	// Field is its path.
	Field string `json:"field"`
	// Returns counts how often it came back to a value that it had before: A, B, A, B is two, and A, B, C, A, B is,
	// too.
	Returns int `json:"returns"`
	// Changes counts its changes.
	Changes int `json:"changes"`
	// First and Last are the times of its first and last change. Absent if there are no times.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Values are those that it had, the most frequent first, with who wrote them; the last 32 if it had more. A value
	// is absent if it was removed.
	Values []AlternatingValue `json:"values"`
}

// AlternatingValue is a value of a field that alternates.
type AlternatingValue struct {
	Value string `json:"value,omitempty"`
	// Count is how often it was written.
	Count int `json:"count"`
	// Writers are the names of those that wrote it, sorted; none if they are not known.
	Writers []string `json:"writers,omitempty"`
}

// Flapping is an Alternation of an object.
type Flapping struct {
	Object Object `json:"object"`
	Alternation
}

// writers returns the names of all that wrote a value, sorted.
func (a *Alternation) writers() []string {
	var out []string
	for _, v := range a.Values {
		for _, name := range v.Writers {
			out = AddName(out, name)
		}
	}
	return out
}

// leastReturns is how often a value must come back to alternate.
const leastReturns = 2

// The bounds of what is kept of an object.
const (
	maxFields = 500
	maxValues = 32
	maxValue  = 200 // bytes
)

// alternating are the values of the fields of an object that change. The zero value is empty.
type alternating map[string]*alternatingField

type alternatingField struct {
	changes, returns int
	direct           int    // returns to the value before the last one
	repeated         int    // how often a value followed on one that it had followed on before
	before, current  string // the last two values
	writer           string // of the current one; empty if it is not known
	first, last      time.Time
	values           map[string]*valueWrites // nil before the second change: most fields change once
	quick            series                  // returns, at short intervals
	contested        series                  // returns by another writer than the one before it
}

// The longest times between two returns in a row: what comes back by a back-off takes longer than loopGap.
const (
	loopGap  = 5 * time.Second
	fightGap = time.Hour
)

// valueWrites are the writes of a value. The first one that a field had was not written.
type valueWrites struct {
	count   int
	writers []string        // sorted
	after   map[string]bool // the values before it
}

// ignoredPaths matches fields that follow from others, or that only grow. Of conditions the status counts.
var ignoredPaths = regexp.MustCompile(`^metadata\.(generation|resourceVersion|managedFields|creationTimestamp|uid)\b` +
	`|[oO]bservedGeneration$|^status\.conditions\[`)

// conditionStatus matches the status of a condition.
var conditionStatus = regexp.MustCompile(`^(status\.conditions\[type=[^\]]+\])\.status$`)

// add adds the changes of one write, and returns the paths of those fields that came back to a value.
func (a alternating) add(changes []fields.Change, only Only, writer string, at time.Time) (returned []string) {
	for _, c := range changes {
		path := c.Path
		if m := conditionStatus.FindStringSubmatch(path); m != nil {
			path = m[1]
		} else if ignoredPaths.MatchString(path) || only == "" && IsOrder(c) {
			continue
		}
		if c.New != fields.HiddenValue && a.change(path, textOf(c.Old), textOf(c.New), writer, at) {
			returned = append(returned, path)
		}
	}
	return returned
}

// change adds a change of one field, and reports whether it came back to a value.
func (a alternating) change(path, old, updated, writer string, at time.Time) (returned bool) {
	f := a[path]
	if f == nil {
		if len(a) == maxFields {
			return false
		}
		a[path] = &alternatingField{changes: 1, before: old, current: updated, writer: writer, first: at, last: at}
		return false
	}
	if f.current == updated { // another informer has shown it
		return false
	}
	if f.values == nil {
		f.values = map[string]*valueWrites{f.before: {}}
		f.write(f.current, f.before, f.writer)
	}
	// A time that is removed is none that comes back.
	if v := f.values[updated]; v != nil && (updated != "" || !isTime(old)) {
		returned = true
		f.returns++
		f.quick.add(at, loopGap)
		if writer != "" && f.writer != "" && writer != f.writer {
			f.contested.add(at, fightGap)
		}
		if f.before == updated {
			f.direct++
		}
		if v.after[old] {
			f.repeated++
		}
	}
	f.changes++
	f.before, f.current, f.writer, f.last = old, updated, writer, at
	f.write(updated, old, writer)
	return returned
}

// write counts a write of a value.
func (f *alternatingField) write(value, before, writer string) {
	if v := f.value(value); v != nil {
		v.count++
		v.writers = AddName(v.writers, writer)
		v.after[before] = true
	}
}

// value returns the writes of a value. If there are too many, those are forgotten that were written once.
func (f *alternatingField) value(value string) *valueWrites {
	v := f.values[value]
	if v == nil {
		if len(f.values) == maxValues {
			maps.DeleteFunc(f.values, func(_ string, w *valueWrites) bool { return w.count <= 1 })
		}
		if len(f.values) == maxValues {
			return nil
		}
		v = &valueWrites{}
		f.values[value] = v
	}
	if v.after == nil || len(v.after) == maxValues {
		v.after = map[string]bool{}
	}
	return v
}

// forget drops the fields that do not alternate.
func (a alternating) forget() {
	maps.DeleteFunc(a, func(path string, f *alternatingField) bool { return !f.alternates(path) })
}

// alternates reports whether the field does. Numbers in a status go up and down in any rollout: they count if there are
// several who write them.
func (f *alternatingField) alternates(path string) bool {
	if f.direct < leastReturns && (f.returns < leastReturns || f.repeated == 0) {
		return false
	}
	if !f.countsInStatus(path) {
		return true
	}
	a := f.alternation(path)
	return len(a.writers()) > 1
}

// number matches a number or a quantity, or none. Addresses and versions are neither.
var number = regexp.MustCompile(`^(-?[0-9]+(\.[0-9]+)?[a-zA-Z]{0,2})?$`)

// countsInStatus reports whether the field is one of a status that has only numbers: they go up and down while pods
// come and go, whoever counts them.
func (f *alternatingField) countsInStatus(path string) bool {
	if !strings.HasPrefix(path, "status.") {
		return false
	}
	for value := range f.values {
		if !number.MatchString(value) {
			return false
		}
	}
	return true
}

// textOf returns a value as text, which is the same for the same value. A long one ends in a hash.
func textOf(v any) string {
	text, ok := v.(string)
	if v == nil {
		return ""
	}
	if !ok {
		raw, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		text = string(raw)
	}
	if len(text) > maxValue {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(text)) // it never fails
		text = strings.ToValidUTF8(text[:maxValue-20], "") + "… " + strconv.FormatUint(hash.Sum64(), 36)
	}
	return text
}

// list returns what alternates, the most frequent first.
func (a alternating) list() []Alternation {
	var out []Alternation
	for path, f := range a {
		if f.alternates(path) {
			out = append(out, f.alternation(path))
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		return cmp.Or(cmp.Compare(b.Returns, a.Returns), cmp.Compare(a.Field, b.Field)) < 0
	})
	return out
}

func (f *alternatingField) alternation(path string) Alternation {
	out := Alternation{Field: path, Returns: f.returns, Changes: f.changes, First: f.first, Last: f.last}
	for value, writes := range f.values {
		if writes.count > 0 {
			out.Values = append(out.Values,
				AlternatingValue{Value: value, Count: writes.count, Writers: writes.writers})
		}
	}
	sort.Slice(out.Values, func(i, j int) bool {
		a, b := &out.Values[i], &out.Values[j]
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) < 0
	})
	return out
}
