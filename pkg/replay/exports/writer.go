package exports

import (
	"bytes"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// metadata is the metadata of an object, of which only that is parsed.
type metadata struct {
	metav1.ObjectMeta `json:"metadata"`
}

// metadataOf returns the metadata of an object; empty if it cannot be parsed.
func metadataOf(object []byte) *metav1.ObjectMeta {
	var m metadata
	if err := utiljson.Unmarshal(object, &m); err != nil {
		return &metav1.ObjectMeta{}
	}
	return &m.ObjectMeta
}

// lastWrite returns the entry of managed fields that the newer of two versions has and the older has not, of several
// the newest. before is nil for a new object. It is nil if none tells.
func lastWrite(before, after *metav1.ObjectMeta) *metav1.ManagedFieldsEntry {
	var last *metav1.ManagedFieldsEntry
	for i := range after.ManagedFields {
		e := &after.ManagedFields[i]
		if before != nil && isIn(e, before.ManagedFields) {
			continue
		}
		if last == nil || !timeOf(e).Before(timeOf(last)) {
			last = e
		}
	}
	return last
}

func isIn(e *metav1.ManagedFieldsEntry, entries []metav1.ManagedFieldsEntry) bool {
	for i := range entries {
		o := &entries[i]
		if e.Manager == o.Manager && e.Operation == o.Operation && e.Subresource == o.Subresource &&
			timeOf(e).Equal(timeOf(o)) && bytes.Equal(rawFields(e), rawFields(o)) {
			return true
		}
	}
	return false
}

func rawFields(e *metav1.ManagedFieldsEntry) []byte {
	if e.FieldsV1 == nil {
		return nil
	}
	return e.FieldsV1.GetRawBytes()
}

// timeOf returns the time of an entry of managed fields; the zero time if it has none.
func timeOf(e *metav1.ManagedFieldsEntry) time.Time {
	if e == nil || e.Time == nil {
		return time.Time{}
	}
	return e.Time.Time
}
