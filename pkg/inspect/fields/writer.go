package fields

import (
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Writer is a client that wrote to an object, according to managedFields.
type Writer struct {
	// Manager is the field manager: the name that the client gave, or that the API server derived from its user agent.
	Manager string `json:"manager"`
	// Operation is Apply or Update.
	Operation string `json:"operation,omitempty"`
	// Subresource is "status" or another, empty for the object itself.
	Subresource string `json:"subresource,omitempty"`
	// Time is when it last changed a field that it manages; nil if managedFields do not have it.
	Time *metav1.Time `json:"time,omitempty"`
}

// LastWriter returns the client that wrote to the object last. The times have a resolution of one second: of several
// writers in the same second it returns the one that wrote the status, as controllers write that in response to the
// spec, then one that wrote another subresource, then the first by name. It returns false if there are no
// managedFields, which may have been dropped while reading.
func LastWriter(obj metav1.Object) (Writer, bool) {
	var last Writer
	found := false
	for _, w := range Writers(obj) {
		if !found || w.IsLaterThan(last) {
			last, found = w, true
		}
	}
	return last, found
}

// IsLaterThan reports whether w wrote after other. Within the same second the order is that of LastWriter.
func (w Writer) IsLaterThan(other Writer) bool {
	mine, others := w.when(), other.when()
	switch {
	case !mine.Equal(others):
		return mine.After(others)
	case w.subresourceRank() != other.subresourceRank():
		return w.subresourceRank() > other.subresourceRank()
	case w.Subresource != other.Subresource:
		return w.Subresource < other.Subresource
	}
	return w.Manager < other.Manager
}

// subresourceRank orders writes within the same second: the higher, the more likely the write followed one to the
// spec.
func (w Writer) subresourceRank() int {
	switch w.Subresource {
	case "status":
		return 2
	case "":
		return 0
	}
	return 1
}

func (w Writer) when() time.Time {
	if w.Time == nil {
		return time.Time{}
	}
	return w.Time.Time
}

// Writers returns the clients that wrote to the object, in the order of managedFields. It is nil if there are none.
func Writers(obj metav1.Object) []Writer {
	var out []Writer
	for _, m := range managers(obj) {
		out = append(out, m.Writer)
	}
	return out
}

// LastStatusWriter returns the client that wrote the status last, as LastWriter does; false if none has.
func LastStatusWriter(obj metav1.Object) (Writer, bool) {
	var last Writer
	found := false
	for _, m := range managers(obj) {
		_, status := m.fields.below(step{name: "status"})
		if (m.Subresource == "status" || status) && (!found || m.IsLaterThan(last)) {
			last, found = m.Writer, true
		}
	}
	return last, found
}

// SpecWriters returns the clients that own fields of the spec, in the order of managedFields. One that has created the
// object and owns nothing of its spec any more, as others have set all fields, is not among them.
func SpecWriters(obj metav1.Object) []Writer {
	var out []Writer
	for _, m := range managers(obj) {
		spec, _ := m.fields.below(step{name: "spec"})
		if _, whole := spec["."]; len(spec) > 1 || len(spec) == 1 && !whole {
			out = append(out, m.Writer)
		}
	}
	return out
}

// LastSpecWrite returns when the spec was last written, or what an entry of managedFields does not tell from it; nil if
// managedFields do not have times.
func LastSpecWrite(obj metav1.Object) *metav1.Time {
	var last *metav1.Time
	for _, m := range managers(obj) {
		ofSpec := m.Subresource != "status" && (len(m.fields) == 0 || m.fields["f:spec"] != nil)
		if m.Time != nil && ofSpec && (last == nil || last.Before(m.Time)) {
			last = m.Time
		}
	}
	return last
}

// manager is an entry of managedFields.
type manager struct {
	Writer
	// fields are nil if they cannot be read.
	fields set
}

// managers returns the entries of managedFields. Those of unstructured objects are read field by field:
// GetManagedFields would copy them whole, and log what it cannot decode.
func managers(obj metav1.Object) []manager {
	var out []manager
	u, ok := obj.(*unstructured.Unstructured)
	switch {
	case ok && u == nil || obj == nil:
	case ok:
		metadata, _ := u.Object["metadata"].(map[string]any)
		entries, _ := metadata["managedFields"].([]any)
		for _, entry := range entries {
			if m, ok := entry.(map[string]any); ok {
				out = append(out, managerOf(m))
			}
		}
	default:
		for _, f := range obj.GetManagedFields() {
			m := manager{Writer: Writer{f.Manager, string(f.Operation), f.Subresource, f.Time}}
			if f.FieldsV1 == nil || json.Unmarshal(f.FieldsV1.GetRawBytes(), &m.fields) != nil {
				m.fields = nil
			}
			out = append(out, m)
		}
	}
	return out
}

// managerOf reads an entry of managedFields, in which any field may be missing or of another type.
func managerOf(entry map[string]any) manager {
	text := func(name string) string {
		s, _ := entry[name].(string)
		return s
	}
	m := manager{Writer: Writer{
		Manager: text("manager"), Operation: text("operation"), Subresource: strings.TrimSpace(text("subresource")),
	}}
	if at, err := time.Parse(time.RFC3339, text("time")); err == nil {
		m.Time = &metav1.Time{Time: at}
	}
	m.fields, _ = entry["fieldsV1"].(map[string]any)
	return m
}
