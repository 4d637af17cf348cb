package timeline

import (
	"bytes"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// difference are the parts of two versions of an object that differ, decoded. Lists are there as a whole.
type difference struct{ before, after map[string]any }

// maxSplit bounds how deeply versions are split before they are decoded: what is deeper is small, or hostile.
const maxSplit = 8

// differenceOf returns the parts in which two versions of an object differ, as JSON. Without all, managedFields and
// resourceVersion are left out. Most of an object is the same in both, byte for byte, and is not decoded: that, and not
// to decode managedFields, is most of the work saved.
func differenceOf(before, after []byte, all bool) (difference, error) {
	var skip []string
	if !all {
		skip = unseen
	}
	old, updated, err := split(before, after, 0, skip)
	if err != nil {
		return difference{}, err
	}
	var out difference
	out.before, _ = old.(map[string]any)
	out.after, _ = updated.(map[string]any)
	return out, nil
}

// split returns what differs in two JSON values; nil for both if nothing does. Either may be nil: absent.
func split(before, after []byte, depth int, skip []string) (old, updated any, err error) {
	if bytes.Equal(before, after) {
		return nil, nil, nil
	}
	olds, news := membersOf(before), membersOf(after)
	if olds == nil || news == nil || depth >= maxSplit {
		if old, err = decode(before); err != nil {
			return nil, nil, err
		}
		updated, err = decode(after)
		return old, updated, err
	}
	a, b := map[string]any{}, map[string]any{}
	err = pairs(olds, news, func(key string, x, y []byte) error {
		if depth == 1 && slices.Contains(skip, key) {
			return nil
		}
		below := skip
		if depth == 0 && key != "metadata" {
			below = nil
		}
		v, w, err := split(x, y, depth+1, below)
		if err != nil {
			return fmt.Errorf("reading %q: %w", key, err)
		}
		if v != nil {
			a[key] = v
		}
		if w != nil {
			b[key] = w
		}
		return nil
	})
	if len(a) == 0 && len(b) == 0 {
		return nil, nil, err
	}
	return a, b, err
}

// pairs calls f for each key of two objects, with nil for what is missing in one of them.
func pairs(before, after []member, f func(key string, old, updated []byte) error) error {
	rest := map[string][]byte{} // of before
	for i, m := range before {
		if i < len(after) && after[i].key == m.key {
			if err := f(m.key, m.value, after[i].value); err != nil {
				return err
			}
			continue
		}
		rest[m.key] = m.value
	}
	for i, m := range after {
		if i < len(before) && before[i].key == m.key {
			continue
		}
		old := rest[m.key]
		delete(rest, m.key)
		if err := f(m.key, old, m.value); err != nil {
			return err
		}
	}
	for key, old := range rest {
		if err := f(key, old, nil); err != nil {
			return err
		}
	}
	return nil
}

// decode decodes a JSON value; nil for nil. Whole numbers are int64.
func decode(raw []byte) (any, error) {
	if raw == nil {
		return nil, nil
	}
	var out any
	if err := utiljson.Unmarshal(raw, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// changes lists the fields that differ.
func (d difference) changes(all bool) ([]inspect.Change, error) {
	changes, err := inspect.Changes(asObject(d.before), asObject(d.after))
	if err != nil || !all {
		return withoutNoise(changes), err
	}
	for _, name := range unseen {
		old, _, _ := unstructured.NestedFieldNoCopy(d.before, "metadata", name)
		updated, _, _ := unstructured.NestedFieldNoCopy(d.after, "metadata", name)
		if old != nil || updated != nil {
			changes = append(changes, inspect.Change{Path: "metadata." + name, Old: old, New: updated})
		}
	}
	return changes, nil
}

// asObject returns fields as an object; a map that is nil has none.
func asObject(fields map[string]any) *unstructured.Unstructured {
	if fields == nil {
		fields = map[string]any{}
	}
	return &unstructured.Unstructured{Object: fields}
}
