package fields

import (
	"maps"
	"slices"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Ownership is how much of a field a manager owns.
type Ownership string

// The values of Ownership.
const (
	// OwnsField means that it owns the field itself.
	OwnsField Ownership = "Field"
	// OwnsPart means that it owns only fields below.
	OwnsPart Ownership = "Part"
	// OwnsContaining means that it owns a field above that is always written as a whole, such as a list without keys.
	OwnsContaining Ownership = "Containing"
)

// FieldOwner is a manager that owns a field, or a part of it, according to managedFields. Time is when it last changed
// any field that it manages, which need not be this one: managedFields have no other.
type FieldOwner struct {
	Writer
	// Owns is how much of the field it owns.
	Owns Ownership `json:"owns"`
	// Fields are the paths that it owns: the field itself, the fields below it, or the one above it; sorted.
	Fields []string `json:"fields"`
}

// Value is the value of a field and who owns it.
type Value struct {
	// Path is the path of the field, in the form that ParsePath takes.
	Path string
	// Value is a JSON value: nil (null), bool, int64, float64, string, []any or map[string]any. It belongs to the
	// object.
	Value any
	// Owners are sorted by how much they own, and then the last writer first. They are empty if managedFields do not
	// have the field: a default of the API server, or managedFields were removed.
	Owners []FieldOwner
}

// ConflictsWith returns the owners that a server-side apply of another value by a manager conflicts with, and that it
// takes the field from if it is forced. An apply does not set a status, which is a subresource: nil for one.
func (v Value) ConflictsWith(manager string) []FieldOwner {
	if v.Path == "status" || strings.HasPrefix(v.Path, "status.") {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.Owners), func(o FieldOwner) bool {
		return o.Manager == manager && o.Operation == string(metav1.ManagedFieldsOperationApply) && o.Subresource == ""
	})
}

// Owners returns the value of a field, and the managers that own it according to managedFields. If several own the
// whole field, they agree on its value: a manager that sets another value becomes its only owner, unless it was refused
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts). The error is a *PathError if the
// object does not have the field. The object is not changed; Owners may be called concurrently.
func Owners(obj *unstructured.Unstructured, path Path) (Value, error) {
	at, err := path.find(obj)
	if err != nil {
		return Value{}, err
	}
	out := Value{Path: path.String(), Value: at.value}
	for _, m := range managers(obj) {
		if m.fields == nil {
			continue
		}
		if owns, paths := m.fields.owned(at.steps, path); owns != "" {
			out.Owners = append(out.Owners, FieldOwner{m.Writer, owns, paths})
		}
	}
	isContaining := func(o FieldOwner) bool { return o.Owns == OwnsContaining }
	if slices.ContainsFunc(out.Owners, func(o FieldOwner) bool { return !isContaining(o) }) {
		// What is above is not written as a whole, then: such an owner has made it, and no more.
		out.Owners = slices.DeleteFunc(out.Owners, isContaining)
	}
	sort.SliceStable(out.Owners, func(i, j int) bool { return compareOwners(out.Owners[i], out.Owners[j]) < 0 })
	return out, nil
}

// compareOwners orders owners by how much they own, then the last writer first.
func compareOwners(a, b FieldOwner) int {
	order := []Ownership{OwnsField, OwnsContaining, OwnsPart}
	switch {
	case a.Owns != b.Owns:
		return slices.Index(order, a.Owns) - slices.Index(order, b.Owns)
	case a.IsLaterThan(b.Writer):
		return -1
	case b.IsLaterThan(a.Writer):
		return 1
	}
	return 0
}

// OwnedFields are all fields of an object that a manager owns.
type OwnedFields struct {
	Writer
	// Fields are the paths of the fields, in the form that ParsePath takes; sorted. A map or an entry of a list is
	// only among them if the manager owns it as a whole, or beside what is in it.
	Fields []string
}

// ByManager returns the fields of an object by the manager that owns them, in the order of managedFields. What
// managedFields have that no path can be made of is left out. It is nil if there are no managedFields.
func ByManager(obj metav1.Object) []OwnedFields { return OfManagers(obj, nil) }

// OfManagers is ByManager of those managers that are wanted: the paths of the others, which are most of the
// work, are not made. A wanted that is nil wants all.
func OfManagers(obj metav1.Object, wanted func(Writer) bool) []OwnedFields {
	var out []OwnedFields
	for _, m := range managers(obj) {
		if m.fields == nil || wanted != nil && !wanted(m.Writer) {
			continue
		}
		owned := OwnedFields{Writer: m.Writer}
		m.fields.each(nil, func(path Path) { owned.Fields = append(owned.Fields, path.String()) })
		slices.Sort(owned.Fields)
		out = append(out, owned)
	}
	return out
}

// Owned returns the fields of the object that a manager owns according to managedFields. Of an object as it was
// created, that is what the request had: what admission has added belongs to no manager. It is nil without
// managedFields. Its values are shared with the object.
func Owned(obj *unstructured.Unstructured) map[string]any {
	var sets []set
	for _, m := range managers(obj) {
		if m.fields != nil {
			sets = append(sets, m.fields)
		}
	}
	if len(sets) == 0 {
		return nil
	}
	out, _ := ownedOf(obj.Object, sets).(map[string]any)
	return out
}

// ownedOf returns the part of a value that is in one of the sets.
func ownedOf(value any, sets []set) any {
	if slices.ContainsFunc(sets, func(s set) bool { return len(s) == 0 }) {
		return value
	}
	below := func(next step) (found []set) {
		for _, s := range sets {
			if set, ok := s.below(next); ok {
				found = append(found, set)
			}
		}
		return found
	}
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, v := range value {
			if found := below(step{name: name}); found != nil {
				out[name] = ownedOf(v, found)
			}
		}
		return out
	case []any:
		out := []any{}
		for i, entry := range value {
			if found := below(step{list: true, entry: entry, index: i}); found != nil {
				out = append(out, ownedOf(entry, found))
			}
		}
		return out
	}
	return value
}

// set is a set of fields as fieldsV1 has it: maps of keys, of which an empty one, or the key ".", marks a member.
type set map[string]any

// isMember reports whether the field that has this set below it is a member itself.
func (s set) isMember() bool {
	_, dot := s["."]
	return dot || len(s) == 0
}

// owned returns how much of the field at the end of the steps is in the set, and which paths. The path has as many
// elements as there are steps.
func (s set) owned(steps []step, path Path) (Ownership, []string) {
	for i, next := range steps {
		below, ok := s.below(next)
		switch {
		case !ok:
			return "", nil
		case len(below) == 0 && i < len(steps)-1:
			return OwnsContaining, []string{path[:i+1].String()}
		}
		s = below
	}
	var fields []string
	s.each(path, func(p Path) { fields = append(fields, p.String()) })
	slices.Sort(fields)
	switch {
	case len(s) == 0 || len(s) == 1 && s.isMember():
		return OwnsField, []string{path.String()}
	case len(fields) == 0:
		return "", nil
	}
	return OwnsPart, fields
}

// below returns the set of what is below a step; false if nothing of it is in the set.
func (s set) below(next step) (set, bool) {
	if !next.list {
		found, ok := s[fieldPrefix+next.name].(map[string]any)
		return found, ok
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if found, ok := s[key].(map[string]any); ok && next.matchesKey(key) {
			return found, true
		}
	}
	return nil, false
}

// each calls do with the path of every member, in no particular order. The path is only valid during the call.
func (s set) each(prefix Path, do func(Path)) {
	if len(prefix) > 0 && s.isMember() {
		do(prefix)
	}
	for key, found := range s {
		below, isMap := found.(map[string]any)
		if e, ok := elementOfKey(key); ok && isMap {
			set(below).each(append(slices.Clip(prefix), e), do)
		}
	}
}
