package inspect

import (
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
	for _, w := range writers(obj) {
		if !found || w.isLaterThan(last) {
			last, found = w, true
		}
	}
	return last, found
}

// isLaterThan reports whether w wrote after other. Within the same second the order is arbitrary but stable.
func (w Writer) isLaterThan(other Writer) bool {
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

// lastSpecWrite returns when the spec was last written, or what an entry of managedFields does not tell from it; nil if
// managedFields do not have times.
func lastSpecWrite(obj *unstructured.Unstructured) *metav1.Time {
	var last *metav1.Time
	for _, f := range values(obj.Object).maps("metadata", "managedFields") {
		when, _ := f.time("time")
		fields := f.sub("fieldsV1")
		ofSpec := strings.TrimSpace(f.text("subresource")) != "status" && (len(fields) == 0 || fields["f:spec"] != nil)
		if when == nil || !ofSpec {
			continue
		}
		if last == nil || last.Before(when) {
			last = when
		}
	}
	return last
}

// writers returns the entries of managedFields. Those of unstructured objects are read field by field:
// GetManagedFields would copy them whole, and log what it cannot decode.
func writers(obj metav1.Object) []Writer {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return typedWriters(obj)
	}
	var out []Writer
	for _, f := range values(u.Object).maps("metadata", "managedFields") {
		when, _ := f.time("time")
		subresource := strings.TrimSpace(f.text("subresource"))
		out = append(out, Writer{f.text("manager"), f.text("operation"), subresource, when})
	}
	return out
}

func typedWriters(obj metav1.Object) []Writer {
	if obj == nil {
		return nil
	}
	var out []Writer
	for _, f := range obj.GetManagedFields() {
		out = append(out, Writer{f.Manager, string(f.Operation), f.Subresource, f.Time})
	}
	return out
}
