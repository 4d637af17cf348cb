package timeline

import (
	"bytes"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
)

// document is a version of an object that was split into its parts, which are not decoded.
type document struct {
	raw []byte
	// members are those of the object, metadata those of its metadata; nil if it is none.
	members, metadata []rawjson.Member
	// managers are the entries of managedFields.
	managers []managedEntry
}

// documentOf splits an object. It keeps raw. like is another version of the object, of which this one has much; nil if
// there is none.
func documentOf(raw []byte, like *document) *document {
	d := &document{raw: raw}
	if like == nil {
		like = &document{}
	}
	d.members, _ = rawjson.Split(raw, 0, like.members, func(key string, at int) (end int) {
		if key != "metadata" || at >= len(raw) || raw[at] != '{' {
			return 0
		}
		d.metadata, end = rawjson.Split(raw, at, like.metadata, func(key string, at int) (end int) {
			if key == "managedFields" {
				d.managers, end = splitManaged(raw, at, like.managers)
			}
			return end
		})
		return end
	})
	if d.members == nil {
		d.metadata, d.managers = nil, nil
	}
	return d
}

// at returns the member with that name; nil if there is none.
func (d *document) at(name string) []byte { return find(d.members, name) }

// meta returns a field of the metadata; nil if there is none.
func (d *document) meta(name string) []byte { return find(d.metadata, name) }

func find(members []rawjson.Member, name string) []byte {
	for i := range members {
		if members[i].Key == name {
			return members[i].Value
		}
	}
	return nil
}

// difference are the parts of two versions of an object that differ, decoded. Lists are there as a whole.
type difference struct{ before, after map[string]any }

// maxSplit bounds how deeply versions are split before they are decoded: what is deeper is small, or hostile.
const maxSplit = 8

// differenceOf returns the parts in which two versions of an object differ. Without all, managedFields and
// resourceVersion are left out. Most of an object is the same in both, byte for byte, and is not decoded: that, and not
// to decode managedFields, is most of the work saved.
func differenceOf(before, after *document, all bool) (difference, error) {
	if before.members == nil || after.members == nil {
		old, err := decodeObject(before.raw)
		if err != nil {
			return difference{}, err
		}
		updated, err := decodeObject(after.raw)
		return difference{old, updated}, err
	}
	out := difference{map[string]any{}, map[string]any{}}
	err := pairs(before.members, after.members, func(key string, x, y []byte) error {
		if bytes.Equal(x, y) {
			return nil
		}
		var old, updated any
		var err error
		if key == "metadata" && before.metadata != nil && after.metadata != nil {
			var skip []string
			if !all {
				skip = unseen
			}
			old, updated, err = splitMembers(before.metadata, after.metadata, 1, skip)
		} else {
			old, updated, err = split(x, y, 1)
		}
		if err != nil {
			return fmt.Errorf("reading %q: %w", key, err)
		}
		out.set(key, old, updated)
		return nil
	})
	return out, err
}

// set sets what differs in a member, if anything does.
func (d *difference) set(key string, old, updated any) {
	if old != nil {
		d.before[key] = old
	}
	if updated != nil {
		d.after[key] = updated
	}
}

func decodeObject(raw []byte) (map[string]any, error) {
	out, err := decode(raw)
	fields, _ := out.(map[string]any)
	return fields, err
}

// split returns what differs in two JSON values; nil for both if nothing does. Either may be nil: absent.
func split(before, after []byte, depth int) (old, updated any, err error) {
	if bytes.Equal(before, after) {
		return nil, nil, nil
	}
	if depth < maxSplit {
		if olds, news := rawjson.Members(before), rawjson.Members(after); olds != nil && news != nil {
			return splitMembers(olds, news, depth, nil)
		}
	}
	if old, err = decode(before); err != nil {
		return nil, nil, err
	}
	updated, err = decode(after)
	return old, updated, err
}

// splitMembers is split for the members of two objects, without those of skip.
func splitMembers(before, after []rawjson.Member, depth int, skip []string) (old, updated any, err error) {
	out := difference{map[string]any{}, map[string]any{}}
	err = pairs(before, after, func(key string, x, y []byte) error {
		if slices.Contains(skip, key) {
			return nil
		}
		v, w, err := split(x, y, depth+1)
		if err != nil {
			return fmt.Errorf("reading %q: %w", key, err)
		}
		out.set(key, v, w)
		return nil
	})
	if len(out.before) == 0 && len(out.after) == 0 {
		return nil, nil, err
	}
	return out.before, out.after, err
}

// pairs calls f for each key of two objects, with nil for what is missing in one of them.
func pairs(before, after []rawjson.Member, f func(key string, old, updated []byte) error) error {
	var rest map[string][]byte // of before; nil if the keys are in the same order, as they mostly are
	for i, m := range before {
		if i < len(after) && after[i].Key == m.Key {
			if err := f(m.Key, m.Value, after[i].Value); err != nil {
				return err
			}
			continue
		}
		if rest == nil {
			rest = map[string][]byte{}
		}
		rest[m.Key] = m.Value
	}
	for i, m := range after {
		if i < len(before) && before[i].Key == m.Key {
			continue
		}
		old := rest[m.Key]
		delete(rest, m.Key)
		if err := f(m.Key, old, m.Value); err != nil {
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

// changes lists the fields that differ. Without all, those are left out that heartbeats change, as withoutNoise does,
// and the order of lists whose entries have keys, unless nothing else differs: then only says so.
func (d difference) changes(mask fields.Mask, all, heartbeats bool) (
	changes []fields.Change, only findings.Only, err error,
) {
	changes, err = fields.ChangesWithOrder(asObject(d.before), asObject(d.after), mask)
	only = findings.OnlyOf(changes)
	if err != nil || !all {
		if only != findings.OnlyOrder && only != findings.OnlyOrderAndTimes {
			changes = slices.DeleteFunc(changes, findings.IsOrder)
		}
		return withoutNoise(changes, heartbeats), only, err
	}
	for _, name := range unseen {
		old, _, _ := unstructured.NestedFieldNoCopy(d.before, "metadata", name)
		updated, _, _ := unstructured.NestedFieldNoCopy(d.after, "metadata", name)
		if old != nil || updated != nil {
			changes = append(changes, mask.Change("metadata."+name, old, updated))
		}
	}
	return changes, only, nil
}

// asObject returns fields as an object; a map that is nil has none.
func asObject(fields map[string]any) *unstructured.Unstructured {
	if fields == nil {
		fields = map[string]any{}
	}
	return &unstructured.Unstructured{Object: fields}
}
