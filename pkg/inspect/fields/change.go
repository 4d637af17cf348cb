// Package fields is about the fields of one object, of any kind: Changes lists those in which two versions of it
// differ, Owners returns who set one, by managedFields, ByManager who set which, and LastWriter who wrote last.
// ParsePath reads the path of a field as a user writes it, CompletePath completes it, and Overlap compares two.
//
// It knows no cluster, no other object, and nothing of what fields mean: package inspect does. What objects contain is
// not trusted: whatever it is, nothing here panics, and only MaskObjects changes it.
//
// The files: change.go finds differences, and mask.go hides the values in them that must not be shown, those of Secrets
// before all, as secrettext.go does in texts. writer.go reads managedFields, owners.go the fields in them, by the paths
// of path.go, which completion.go completes.
package fields

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Change is one field that differs between two versions of an object. What must not be shown is hidden in it.
type Change struct {
	// Path names the field as kubectl does: status.replicas, spec.template.spec.containers[name=web].image.
	Path string `json:"path"`
	// Old and New are JSON values: nil (absent), bool, int64, float64, string, []any or map[string]any; HiddenValue in
	// the place of what is hidden.
	Old any `json:"old,omitempty"`
	New any `json:"new,omitempty"`
}

// String returns the change as "path: old -> new".
func (c Change) String() string {
	return fmt.Sprintf("%s: %s -> %s", c.Path, valueText(c.Old), valueText(c.New))
}

func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "<none>"
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// bookkeeping are the metadata fields that every write changes and that no user set.
var bookkeeping = []string{"managedFields", "resourceVersion"}

// Changes lists the fields in which two versions of an object differ, sorted by path. Either may be nil: all fields
// of the other then differ. managedFields and resourceVersion are left out. Entries of lists are matched by their
// merge key, if the list has one. Values are compared, and then hidden by the mask. The objects are not changed.
func Changes(old, updated runtime.Object, mask Mask) ([]Change, error) {
	return maskedChanges(old, updated, mask, false)
}

// ChangesWithOrder is Changes with the order of lists whose entries are matched by a merge key: if a list has the same
// entries in another order, that is a change of the list, whose values are the keys.
func ChangesWithOrder(old, updated runtime.Object, mask Mask) ([]Change, error) {
	return maskedChanges(old, updated, mask, true)
}

// CompareValues calls f for each field in which two versions of an object differ, as Changes lists them, with the
// values as they are, also those of Secrets. It is for the few that must compare these: what they show of them is made
// by Mask.Change. A test of the layout knows who calls it.
func CompareValues(old, updated runtime.Object, f func(path string, old, updated any)) error {
	all, err := changes(old, updated, false)
	for _, c := range all {
		f(c.Path, c.Old, c.New)
	}
	return err
}

func maskedChanges(old, updated runtime.Object, mask Mask, order bool) ([]Change, error) {
	out, err := changes(old, updated, order)
	isHidden := mask.of(old, updated)
	for i := range out {
		out[i] = masked(out[i], isHidden)
	}
	return out, err
}

// changes returns the changes with their real values.
func changes(old, updated runtime.Object, order bool) ([]Change, error) {
	old, updated = withoutEqual(old, updated)
	before, err := fields(old)
	if err != nil {
		return nil, err
	}
	after, err := fields(updated)
	if err != nil {
		return nil, err
	}
	c := comparison{order: order}
	c.maps("", before, after)
	sort.SliceStable(c.changes, func(i, j int) bool { return c.changes[i].Path < c.changes[j].Path })
	return c.changes, nil
}

func fields(obj runtime.Object) (map[string]any, error) {
	if isNil(obj) {
		return nil, nil
	}
	var all map[string]any
	if u, ok := obj.(*unstructured.Unstructured); ok {
		all = u.UnstructuredContent()
	} else {
		var err error
		if all, err = runtime.DefaultUnstructuredConverter.ToUnstructured(obj); err != nil {
			return nil, fmt.Errorf("reading the fields of a %T: %w", obj, err)
		}
	}
	return withoutBookkeeping(all), nil
}

// withoutEqual returns typed objects without what both have, such as the spec if only the status differs, and without
// bookkeeping: to convert that takes longer than to compare it. The copies share all else with the objects.
func withoutEqual(old, updated runtime.Object) (runtime.Object, runtime.Object) {
	a, b := shallowCopy(old), shallowCopy(updated)
	if a == nil || b == nil || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return old, updated
	}
	before, after := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range before.NumField() {
		x, y := before.Field(i), after.Field(i)
		if x.CanSet() && reflect.DeepEqual(x.Interface(), y.Interface()) {
			x.SetZero()
			y.SetZero()
		}
	}
	return a, b
}

// shallowCopy returns a copy of a typed object without its bookkeeping; nil if it is none.
func shallowCopy(obj runtime.Object) runtime.Object {
	if isNil(obj) {
		return nil
	}
	old := reflect.ValueOf(obj)
	if _, isOne := obj.(metav1.ObjectMetaAccessor); !isOne || old.Elem().Kind() != reflect.Struct {
		return nil
	}
	shallow := reflect.New(old.Type().Elem())
	shallow.Elem().Set(old.Elem())
	out, _ := reflect.TypeAssert[runtime.Object](shallow)
	if m, isOne := out.(metav1.ObjectMetaAccessor); isOne { // its metadata are a part of its struct
		m.GetObjectMeta().SetManagedFields(nil)
		m.GetObjectMeta().SetResourceVersion("")
	}
	return out
}

// withoutBookkeeping copies the two maps that it leaves something out of: the object may be shared.
func withoutBookkeeping(all map[string]any) map[string]any {
	out := make(map[string]any, len(all))
	for k, v := range all {
		if k != "apiVersion" && k != "kind" { // a typed object of an informer has lost them
			out[k] = v
		}
	}
	if metadata, ok := all["metadata"].(map[string]any); ok {
		kept := make(map[string]any, len(metadata))
		for k, v := range metadata {
			if !slices.Contains(bookkeeping, k) {
				kept[k] = v
			}
		}
		out["metadata"] = kept
	}
	return out
}

// comparison collects changes.
type comparison struct {
	changes []Change
	order   bool // whether the order of lists with merge keys is compared
}

// values appends the changes between two JSON values at a path. Maps and lists with merge keys are compared entry by
// entry, other values as a whole.
func (c *comparison) values(path string, old, updated any) {
	if reflect.DeepEqual(old, updated) {
		return
	}
	oldMap, oldIsMap := old.(map[string]any)
	newMap, newIsMap := updated.(map[string]any)
	if (oldIsMap || old == nil) && (newIsMap || updated == nil) {
		c.maps(path, oldMap, newMap)
		return
	}
	oldList, oldIsList := old.([]any)
	newList, newIsList := updated.([]any)
	if (oldIsList || old == nil) && (newIsList || updated == nil) && c.lists(path, oldList, newList) {
		return
	}
	if len(oldList) == 1 && len(newList) == 1 && areMaps(oldList[0], newList[0]) {
		c.values(path+"[0]", oldList[0], newList[0])
		return
	}
	c.changes = append(c.changes, Change{Path: path, Old: old, New: updated})
}

func (c *comparison) maps(path string, old, updated map[string]any) {
	for k, v := range old {
		c.values(join(path, k), v, updated[k])
	}
	for k, v := range updated {
		if _, both := old[k]; !both {
			c.values(join(path, k), nil, v)
		}
	}
}

func join(path, field string) string {
	switch {
	case strings.ContainsAny(field, "./[]"):
		return path + "[" + field + "]"
	case path == "":
		return field
	}
	return path + "." + field
}

func areMaps(a, b any) bool {
	_, ok := a.(map[string]any)
	_, both := b.(map[string]any)
	return ok && both
}

// mergeKeys are the fields that the API's lists are merged by, in the order in which they are tried, and then
// addresses, by which the endpoints of an EndpointSlice differ.
var mergeKeys = []string{"type", "name", "uid", "containerPort", "port", "ip", "key", "addresses"}

// lists compares lists whose entries have a merge key, and reports whether they have one.
func (c *comparison) lists(path string, old, updated []any) bool {
	for _, key := range mergeKeys {
		before, ok := byKey(old, key)
		if !ok {
			continue
		}
		after, ok := byKey(updated, key)
		if !ok {
			continue
		}
		for id, v := range before {
			c.values(path+"["+key+"="+id+"]", v, after[id])
		}
		for id, v := range after {
			if _, both := before[id]; !both {
				c.values(path+"["+key+"="+id+"]", nil, v)
			}
		}
		if c.order && len(old) == len(updated) {
			c.keys(path, keysOf(old, key), keysOf(updated, key))
		}
		return true
	}
	return false
}

// keys appends a change if the same keys come in another order.
func (c *comparison) keys(path string, old, updated []any) {
	known := make(map[any]bool, len(old))
	for _, id := range old {
		known[id] = true
	}
	if slices.Equal(old, updated) || slices.ContainsFunc(updated, func(id any) bool { return !known[id] }) {
		return
	}
	c.changes = append(c.changes, Change{Path: path, Old: old, New: updated})
}

// keysOf returns the keys of the entries of a list, of which each has one.
func keysOf(list []any, key string) []any {
	out := make([]any, len(list))
	for i, entry := range list {
		m, _ := entry.(map[string]any)
		text, _ := keyText(m[key])
		out[i] = text
	}
	return out
}

// byKey returns a list's entries by that key, and reports whether each entry has a unique one.
func byKey(list []any, key string) (map[string]any, bool) {
	out := make(map[string]any, len(list))
	for _, entry := range list {
		m, ok := entry.(map[string]any)
		if !ok {
			return nil, false
		}
		id, ok := keyText(m[key])
		if _, twice := out[id]; twice || !ok {
			return nil, false
		}
		out[id] = entry
	}
	return out, true
}

// keyText returns a merge key as text: of a list, its first entry.
func keyText(v any) (string, bool) {
	switch v := v.(type) {
	case nil, map[string]any:
		return "", false
	case []any:
		if len(v) == 0 {
			return "", false
		}
		first, ok := v[0].(string)
		return first, ok
	}
	return fmt.Sprint(v), true
}
