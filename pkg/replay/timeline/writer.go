package timeline

import (
	"bytes"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// managedBy returns the entries of managedFields of an object, not decoded.
func managedBy(raw []byte) [][]byte { return elementsOf(valueAt(raw, "metadata", "managedFields")) }

// writerOf returns the manager that wrote the newer of two versions of an object, by managedFields: the one whose entry
// is new or has another time. before is nil for a new object: then it is the first that wrote. It is nil if
// managedFields do not tell.
func writerOf(before, after []byte, d difference) *inspect.Writer {
	entries := managedBy(after)
	if before == nil {
		return firstWriter(entries)
	}
	old := managedBy(before)
	var changed []*inspect.Writer
	for _, e := range entries {
		if slices.ContainsFunc(old, func(o []byte) bool { return bytes.Equal(o, e) }) {
			continue
		}
		w := decodeWriter(e)
		// An entry that lost fields to another manager keeps its time.
		if !slices.ContainsFunc(old, func(o []byte) bool { return sameWrite(decodeWriter(o), w) }) {
			changed = append(changed, w)
		}
	}
	if len(changed) == 0 {
		// Times have a resolution of one second: the same manager wrote before in this second.
		return ownerOfChanges(after, d)
	}
	return lastOf(changed)
}

// firstWriter returns the manager that wrote first; of several in one second one that wrote no subresource.
func firstWriter(entries [][]byte) *inspect.Writer {
	var first *inspect.Writer
	for _, e := range entries {
		w := decodeWriter(e)
		n := 0
		if first != nil {
			n = when(w).Compare(when(first))
		}
		if first == nil || n < 0 || n == 0 && w.Subresource < first.Subresource {
			first = w
		}
	}
	return first
}

// lastOf returns the writer that inspect.LastWriter would.
func lastOf(writers []*inspect.Writer) *inspect.Writer {
	fields := make([]any, 0, len(writers))
	for _, w := range writers {
		entry := map[string]any{"manager": w.Manager, "operation": w.Operation, "subresource": w.Subresource}
		if w.Time != nil {
			entry["time"] = w.Time.UTC().Format(time.RFC3339)
		}
		fields = append(fields, entry)
	}
	last, ok := inspect.LastWriter(asObject(map[string]any{"metadata": map[string]any{"managedFields": fields}}))
	if !ok {
		return nil
	}
	return &last
}

// ownerOfChanges returns the manager that owns fields that have changed: of several the last that wrote. It is nil if
// values were only removed, which nobody owns.
func ownerOfChanges(after []byte, d difference) *inspect.Writer {
	raw := valueAt(after, "metadata", "managedFields")
	var fields []any
	if raw == nil || json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	changes, err := d.changes(false)
	if err != nil {
		return nil
	}
	object := map[string]any{}
	for key, value := range d.after {
		object[key] = value
	}
	metadata := map[string]any{"managedFields": fields}
	if m, ok := d.after["metadata"].(map[string]any); ok {
		for key, value := range m {
			metadata[key] = value
		}
	}
	object["metadata"] = metadata
	u := &unstructured.Unstructured{Object: object}
	var owners []*inspect.Writer
	for _, c := range changes[:min(len(changes), maxOwnedChanges)] {
		path, err := inspect.ParseFieldPath(c.Path)
		if err != nil || c.New == nil {
			continue
		}
		value, err := inspect.FieldOwners(u, path)
		if err != nil {
			continue
		}
		for i := range value.Owners {
			if value.Owners[i].Owns != inspect.OwnsPart {
				owners = append(owners, &value.Owners[i].Writer)
			}
		}
	}
	return lastOf(owners)
}

// maxOwnedChanges bounds the changes whose owners are looked up: a write is of one manager.
const maxOwnedChanges = 8

// decodeWriter returns the manager of an entry of managedFields.
func decodeWriter(entry []byte) *inspect.Writer {
	w := &inspect.Writer{
		Manager: textOf(valueOf(entry, "manager")), Operation: textOf(valueOf(entry, "operation")),
		Subresource: textOf(valueOf(entry, "subresource")),
	}
	if t, err := time.Parse(time.RFC3339, textOf(valueOf(entry, "time"))); err == nil {
		w.Time = &metav1.Time{Time: t}
	}
	return w
}

// sameWrite reports whether two entries are of the same write of the same manager.
func sameWrite(a, b *inspect.Writer) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource &&
		when(a).Equal(when(b))
}

func when(w *inspect.Writer) time.Time {
	if w.Time == nil {
		return time.Time{}
	}
	return w.Time.Time
}
