package timeline

import (
	"bytes"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// managedEntry is an entry of managedFields.
type managedEntry struct {
	raw []byte
	// writer is decoded when it is needed: see decoded.
	writer *inspect.Writer
}

func (e *managedEntry) decoded() *inspect.Writer {
	if e.writer == nil {
		e.writer = decodeWriter(e.raw)
	}
	return e.writer
}

// managed returns the entries of managedFields. They are split once.
func (d *document) managed() []managedEntry {
	if d.managers == nil {
		for _, raw := range elementsOf(d.meta("managedFields")) {
			d.managers = append(d.managers, managedEntry{raw: raw})
		}
	}
	return d.managers
}

// writerOf returns the manager that wrote the newer of two versions of an object, by managedFields: the one whose entry
// is new or has another time. before is nil for a new object: then it is the first that wrote. It is nil if
// managedFields do not tell. certain is false if it can only be told by what changed: see ownerOfChanges.
func writerOf(before, after *document) (writer *inspect.Writer, certain bool) {
	entries := after.managed()
	if before == nil {
		return firstWriter(entries), true
	}
	old := before.managed()
	var changed []*inspect.Writer
	for i := range entries {
		e := &entries[i]
		if same := slices.IndexFunc(old, func(o managedEntry) bool { return bytes.Equal(o.raw, e.raw) }); same >= 0 {
			e.writer = old[same].writer // maybe nil
			continue
		}
		w := e.decoded()
		kept := false // an entry that lost fields to another manager keeps its time
		for i := range old {
			kept = kept || sameWrite(old[i].decoded(), w)
		}
		if !kept {
			changed = append(changed, w)
		}
	}
	if len(changed) == 0 {
		return nil, len(entries) == 0
	}
	return lastOf(changed), true
}

// firstWriter returns the manager that wrote first; of several in one second one that wrote no subresource.
func firstWriter(entries []managedEntry) *inspect.Writer {
	var first *inspect.Writer
	for i := range entries {
		w := entries[i].decoded()
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
	if len(writers) == 1 {
		return writers[0]
	}
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
// values were only removed, which nobody owns. Times have a resolution of one second: what a manager writes twice in
// one second does not change its entry.
func ownerOfChanges(after *document, d difference) *inspect.Writer {
	raw := after.meta("managedFields")
	var fields []any
	if raw == nil || json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	changes, err := d.changes(false)
	if err != nil {
		return nil
	}
	object := map[string]any{} // d.after may be nil
	maps.Copy(object, d.after)
	metadata := map[string]any{"managedFields": fields}
	if m, ok := d.after["metadata"].(map[string]any); ok {
		maps.Copy(metadata, m)
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
	w := &inspect.Writer{}
	for _, m := range membersOf(entry) {
		switch m.key {
		case "manager":
			w.Manager = textOf(m.value)
		case "operation":
			w.Operation = textOf(m.value)
		case "subresource":
			w.Subresource = textOf(m.value)
		case "time":
			if t, err := time.Parse(time.RFC3339, textOf(m.value)); err == nil {
				w.Time = &metav1.Time{Time: t}
			}
		}
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
