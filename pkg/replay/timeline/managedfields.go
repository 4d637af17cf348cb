package timeline

import (
	"bytes"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
)

// managedEntry is an entry of managedFields.
type managedEntry struct {
	raw    []byte
	writer *fields.Writer
	// fieldsV1, most of the entry, is raw[from:to].
	from, to int
}

// splitManaged splits the value of managedFields that begins at i, and returns the index after it; no entries and 0 if
// it is not as an API server writes it. What is the same in like, the entries of another version, is taken from there.
func splitManaged(raw []byte, i int, like []managedEntry) (entries []managedEntry, end int) {
	if i >= len(raw) || raw[i] != '[' {
		return nil, 0
	}
	out := make([]managedEntry, 0, len(like))
	for i = rawjson.SkipBlanks(raw, i+1); i < len(raw) && raw[i] != ']'; {
		var other managedEntry
		if n := len(out); n < len(like) {
			other = like[n]
		}
		e, end := nextManaged(raw, i, other)
		if end <= i {
			return nil, 0
		}
		out = append(out, e)
		if i = rawjson.SkipBlanks(raw, end); i < len(raw) && raw[i] == ',' {
			i = rawjson.SkipBlanks(raw, i+1)
		}
	}
	if i >= len(raw) {
		return nil, 0
	}
	return out, i + 1
}

// nextManaged reads the entry that begins at i, and returns the index after it; not above i if it does not end.
func nextManaged(raw []byte, i int, other managedEntry) (managedEntry, int) {
	if end := i + len(other.raw); end > i+1 && raw[i] == '{' && bytes.HasPrefix(raw[i:], other.raw) {
		return managedEntry{raw[i:end:end], other.writer, other.from, other.to}, end
	}
	var out managedEntry
	members, end := rawjson.Split(raw, i, nil, func(key string, at int) int {
		if key != "fieldsV1" {
			return 0
		}
		end := rawjson.SkipLike(raw, at, other.raw[other.from:other.to])
		out.from, out.to = at-i, end-i
		return end
	})
	if members == nil {
		if end = rawjson.SkipValue(raw, i); end <= i {
			return out, end
		}
		out.from, out.to = 0, 0
	}
	out.raw, out.writer = raw[i:end:end], writerIn(members)
	return out, end
}

// writerOf returns the manager that wrote the newer of two versions of an object, by managedFields: the one whose entry
// is new or has another time. before is nil for a new object: then it is the first that wrote. It is nil if
// managedFields do not tell. certain is false if it can only be told by what changed: see ownerOfChanges.
func writerOf(before, after *document) (writer *fields.Writer, certain bool) {
	entries := after.managers
	if before == nil {
		return firstWriter(entries), true
	}
	old := before.managers
	var changed []*fields.Writer
	for i := range entries {
		e := &entries[i]
		same := func(o managedEntry) bool { return o.writer == e.writer || bytes.Equal(o.raw, e.raw) }
		if slices.ContainsFunc(old, same) {
			continue
		}
		kept := false // an entry that lost fields to another manager keeps its time
		for i := range old {
			kept = kept || sameWrite(old[i].writer, e.writer)
		}
		if !kept {
			changed = append(changed, e.writer)
		}
	}
	if len(changed) == 0 {
		return nil, len(entries) == 0
	}
	return lastOf(changed), true
}

// firstWriter returns the manager that wrote first; of several in one second one that wrote no subresource.
func firstWriter(entries []managedEntry) *fields.Writer {
	var first *fields.Writer
	for i := range entries {
		w := entries[i].writer
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

// lastOf returns the writer that fields.LastWriter would.
func lastOf(writers []*fields.Writer) *fields.Writer {
	if len(writers) == 1 {
		return writers[0]
	}
	entries := make([]any, 0, len(writers))
	for _, w := range writers {
		entry := map[string]any{"manager": w.Manager, "operation": w.Operation, "subresource": w.Subresource}
		if w.Time != nil {
			entry["time"] = w.Time.UTC().Format(time.RFC3339)
		}
		entries = append(entries, entry)
	}
	last, ok := fields.LastWriter(asObject(map[string]any{"metadata": map[string]any{"managedFields": entries}}))
	if !ok {
		return nil
	}
	return &last
}

// ownerOfChanges returns the manager that owns fields that have changed: of several the last that wrote. It is nil if
// values were only removed, which nobody owns. Times have a resolution of one second: what a manager writes twice in
// one second does not change its entry.
func ownerOfChanges(after *document, d difference, mask fields.Mask) *fields.Writer {
	raw := after.meta("managedFields")
	var managers []any
	if raw == nil || json.Unmarshal(raw, &managers) != nil {
		return nil
	}
	changes, _, err := d.changes(mask, false, false)
	if err != nil {
		return nil
	}
	object := map[string]any{} // d.after may be nil
	maps.Copy(object, d.after)
	metadata := map[string]any{"managedFields": managers}
	if m, ok := d.after["metadata"].(map[string]any); ok {
		maps.Copy(metadata, m)
	}
	object["metadata"] = metadata
	u := &unstructured.Unstructured{Object: object}
	var owners []*fields.Writer
	for _, c := range changes[:min(len(changes), maxOwnedChanges)] {
		path, err := fields.ParsePath(c.Path)
		if err != nil || c.New == nil {
			continue
		}
		value, err := fields.Owners(u, path)
		if err != nil {
			continue
		}
		for i := range value.Owners {
			if value.Owners[i].Owns != fields.OwnsPart {
				owners = append(owners, &value.Owners[i].Writer)
			}
		}
	}
	return lastOf(owners)
}

// maxOwnedChanges bounds the changes whose owners are looked up: a write is of one manager.
const maxOwnedChanges = 8

// writerIn returns the manager that an entry of managedFields names.
func writerIn(entry []rawjson.Member) *fields.Writer {
	w := &fields.Writer{}
	for _, m := range entry {
		switch m.Key {
		case "manager":
			w.Manager = rawjson.Text(m.Value)
		case "operation":
			w.Operation = rawjson.Text(m.Value)
		case "subresource":
			w.Subresource = rawjson.Text(m.Value)
		case "time":
			if t, err := time.Parse(time.RFC3339, rawjson.Text(m.Value)); err == nil {
				w.Time = &metav1.Time{Time: t}
			}
		}
	}
	return w
}

// sameWrite reports whether two entries are of the same write of the same manager.
func sameWrite(a, b *fields.Writer) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource &&
		when(a).Equal(when(b))
}

func when(w *fields.Writer) time.Time {
	if w.Time == nil {
		return time.Time{}
	}
	return w.Time.Time
}
