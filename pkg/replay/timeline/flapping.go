package timeline

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// Flapping is a condition or a field whose value alternates: from A to B and back to A, or in a longer cycle.
type Flapping struct {
	Object Object `json:"object"`
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
	Values []FlappingValue `json:"values"`
}

// FlappingValue is a value of a field that alternates.
type FlappingValue struct {
	Value string `json:"value,omitempty"`
	// Count is how often it was written.
	Count int `json:"count"`
	// Writers are the names of those that wrote it, sorted; none if they are not known.
	Writers []string `json:"writers,omitempty"`
}

// leastReturns is how often a value must come back to be reported.
const leastReturns = 2

// The bounds of what is kept of an object.
const (
	maxFlapFields = 500
	maxFlapValues = 32
	maxFlapValue  = 200 // bytes
)

// flaps are the values of fields of all objects that change.
type flaps map[objectKey]*flappingObject

type flappingObject struct {
	Object Object
	fields map[string]*flappingField
}

type flappingField struct {
	changes, returns int
	direct           int    // returns to the value before the last one
	repeated         int    // how often a value followed on one that it had followed on before
	before           string // the value before the current one
	first, last      time.Time
	values           map[string]*flappingWrites
}

// flappingWrites are the writes of a value. The first one that a field had was not written.
type flappingWrites struct {
	count   int
	writers []string        // sorted
	after   map[string]bool // the values before it
}

// ignoredPaths matches fields that follow from others, or that only grow.
var ignoredPaths = regexp.MustCompile(`^metadata\.(generation|resourceVersion|managedFields|creationTimestamp|uid)\b` +
	`|[oO]bservedGeneration$|^status\.conditions\[`)

func (f flaps) add(key objectKey, e *Entry) {
	if e.Type == Deleted {
		if o := f[key]; o != nil {
			o.forget()
		}
		return
	}
	if e.Type != Modified {
		return
	}
	o := f[key]
	if o == nil {
		o = &flappingObject{Object: *e.Object, fields: map[string]*flappingField{}}
		f[key] = o
	}
	for _, c := range e.Change.Conditions {
		if c.From != c.To {
			o.add("status.conditions[type="+c.Type+"]", c.From, c.To, e)
		}
	}
	for _, c := range e.Change.Fields {
		if !ignoredPaths.MatchString(c.Path) && c.New != fields.HiddenValue && (e.Change.Only != "" || !isOrder(c)) {
			o.add(c.Path, flapValue(c.Old), flapValue(c.New), e)
		}
	}
}

// forget drops the fields that did not alternate.
func (o *flappingObject) forget() {
	for path, f := range o.fields {
		if !f.reported(path) {
			delete(o.fields, path)
		}
	}
}

func (o *flappingObject) add(path, old, updated string, e *Entry) {
	f := o.fields[path]
	if f == nil {
		if len(o.fields) == maxFlapFields {
			return
		}
		f = &flappingField{first: e.Time, values: map[string]*flappingWrites{}}
		o.fields[path] = f
	}
	if f.changes == 0 {
		f.values[old] = &flappingWrites{}
	}
	// A time that is removed is none that comes back.
	if v := f.values[updated]; v != nil && (updated != "" || !isTime(old)) {
		f.returns++
		if f.before == updated {
			f.direct++
		}
		if v.after[old] {
			f.repeated++
		}
	}
	f.changes++
	f.before, f.last = old, e.Time
	if v := f.value(updated); v != nil {
		v.count++
		v.writers = addName(v.writers, e.Writer.Name())
		v.after[old] = true
	}
}

// value returns the writes of a value. If there are too many, those are forgotten that were written once.
func (f *flappingField) value(value string) *flappingWrites {
	v := f.values[value]
	if v == nil {
		if len(f.values) == maxFlapValues {
			maps.DeleteFunc(f.values, func(_ string, w *flappingWrites) bool { return w.count <= 1 })
		}
		if len(f.values) == maxFlapValues {
			return nil
		}
		v = &flappingWrites{}
		f.values[value] = v
	}
	if v.after == nil || len(v.after) == maxFlapValues {
		v.after = map[string]bool{}
	}
	return v
}

// reported reports whether the field alternates. Numbers in a status go up and down in any rollout: they count if there
// are several who write them.
func (f *flappingField) reported(path string) bool {
	if f.direct < leastReturns && (f.returns < leastReturns || f.repeated == 0) {
		return false
	}
	if !strings.HasPrefix(path, "status.") || strings.HasPrefix(path, "status.conditions[") || !f.numbers() {
		return true
	}
	writers := map[string]bool{}
	for _, v := range f.values {
		for _, name := range v.writers {
			writers[name] = true
		}
	}
	return len(writers) > 1
}

// numbers reports whether all values are whole numbers, or none.
func (f *flappingField) numbers() bool {
	for value := range f.values {
		if strings.Trim(value, "-0123456789") != "" {
			return false
		}
	}
	return true
}

// flapValue returns a value as text, which is the same for the same value. A long one ends in a hash.
func flapValue(v any) string {
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
	if len(text) > maxFlapValue {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(text)) // it never fails
		text = strings.ToValidUTF8(text[:maxFlapValue-20], "") + "… " + strconv.FormatUint(hash.Sum64(), 36)
	}
	return text
}

// list returns what alternates, the most frequent first.
func (f flaps) list() []Flapping {
	var out []Flapping
	for _, o := range f {
		for path, field := range o.fields {
			if field.reported(path) {
				out = append(out, Flapping{
					Object: o.Object, Field: path, Returns: field.returns, Changes: field.changes,
					First: field.first, Last: field.last, Values: field.list(),
				})
			}
		}
	}
	slices.SortFunc(out, func(a, b Flapping) int {
		return cmp.Or(cmp.Compare(b.Returns, a.Returns), a.Object.compare(&b.Object), cmp.Compare(a.Field, b.Field))
	})
	out, _ = cut(out)
	return out
}

func (f *flappingField) list() []FlappingValue {
	var out []FlappingValue
	for value, writes := range f.values {
		if writes.count > 0 {
			out = append(out, FlappingValue{Value: value, Count: writes.count, Writers: writes.writers})
		}
	}
	slices.SortFunc(out, func(a, b FlappingValue) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	return out
}
