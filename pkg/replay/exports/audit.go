package exports

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// auditWriter writes an audit log. A recording has what requests changed, not the requests: verb, user and subresource
// are inferred from the change and from managed fields. A deletion names no manager.
type auditWriter struct {
	w     io.Writer
	state *replay.State // before the record that is added
	last  time.Time
	count int64
	items map[int][]json.RawMessage // of lists that are not complete, by stream
}

func newAuditWriter(w io.Writer, state *replay.State) *auditWriter {
	return &auditWriter{w: w, state: state, items: map[int][]json.RawMessage{}}
}

func (a *auditWriter) add(r *replay.Record, stream *replay.Stream) error {
	switch r.Type {
	case replay.TypeListBegin:
		a.items[r.Stream] = []json.RawMessage{}
		return nil
	case replay.TypeListEnd:
		return a.addList(r, stream)
	case replay.TypeListItem, replay.TypeAdded, replay.TypeModified, replay.TypeDeleted:
	default:
		return nil
	}
	object, err := objectOf(r, stream)
	if err != nil {
		return err
	}
	if r.Type == replay.TypeDeleted {
		release(object)
	}
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("writing record %d: %w", r.Number, err)
	}
	if r.Type == replay.TypeListItem {
		a.items[r.Stream] = append(a.items[r.Stream], text)
		return nil
	}
	return a.addChange(r, stream, text)
}

// addList adds a request for a list, with the objects of the first list; later lists have changes instead.
func (a *auditWriter) addList(r *replay.Record, stream *replay.Stream) error {
	items := a.items[r.Stream]
	delete(a.items, r.Stream)
	if s := a.state.Stream(r.Stream); s == nil || s.Listed {
		return nil
	}
	list := map[string]any{
		"apiVersion": stream.GVK().GroupVersion().String(), "kind": stream.Kind + "List", "items": items,
		"metadata": map[string]any{"resourceVersion": r.ResourceVersion},
	}
	answer, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("writing record %d: %w", r.Number, err)
	}
	e := a.entry(r, stream, "list")
	e.ObjectRef.Namespace = stream.Namespace
	e.RequestURI = uri(stream, stream.Namespace, "")
	e.ResponseObject = &runtime.Unknown{Raw: answer}
	return a.write(e)
}

// addChange adds the request that a change was made by.
func (a *auditWriter) addChange(r *replay.Record, stream *replay.Stream, object []byte) error {
	after := metadataOf(r.Object)
	if r.Type == replay.TypeModified && isDeleting(after) && !isHeld(after) {
		return nil // the request that marked it so has deleted it too: the deletion is the next event
	}
	var before *metav1.ObjectMeta
	if known := a.state.Object(r.Key()); known != nil {
		before = metadataOf(known.Object)
	}
	write := lastWrite(before, after)
	e := a.entry(r, stream, "update")
	e.ObjectRef.Namespace, e.ObjectRef.Name, e.ObjectRef.UID = r.Namespace, r.Name, types.UID(r.UID)
	e.ObjectRef.ResourceVersion = r.ResourceVersion
	e.ResponseObject = &runtime.Unknown{Raw: object}
	name := r.Name
	switch {
	case r.Type == replay.TypeDeleted, before != nil && !isDeleting(before) && isDeleting(after):
		e.Verb, write = "delete", nil
	case r.Type == replay.TypeAdded:
		e.Verb, e.ResponseStatus.Code = "create", http.StatusCreated
		if write == nil || write.Operation != metav1.ManagedFieldsOperationApply {
			name = ""
			break
		}
		fallthrough
	case write != nil && write.Operation == metav1.ManagedFieldsOperationApply:
		e.Verb = "patch"
	}
	e.RequestURI = uri(stream, r.Namespace, name)
	if write != nil {
		e.User.Username, e.UserAgent = write.Manager, write.Manager
		if write.Subresource != "" && r.Type == replay.TypeModified {
			e.ObjectRef.Subresource = write.Subresource
			e.RequestURI += "/" + write.Subresource
		}
	}
	if r.Writer != "" {
		e.User.Username = r.Writer
	}
	if r.Time.IsZero() { // the next best time, if it does not run back
		a.at(e, timeOf(write), after.CreationTimestamp.Time)
	}
	return a.write(e)
}

func isDeleting(m *metav1.ObjectMeta) bool { return m.DeletionTimestamp != nil }

// isHeld reports whether the metadata of an object say that it stays after it was marked for deletion.
func isHeld(m *metav1.ObjectMeta) bool {
	return len(m.Finalizers) > 0 || m.DeletionGracePeriodSeconds != nil && *m.DeletionGracePeriodSeconds > 0
}

// release removes from the last state of an object what it waited for: a watch event of the deletion still has it, the
// answer to the request that ended the wait has not.
func release(object map[string]any) {
	removeAt(object, "metadata", "finalizers")
	if meta := mapAt(object, "metadata"); meta["deletionGracePeriodSeconds"] != nil {
		meta["deletionGracePeriodSeconds"] = int64(0)
	}
}

// entry returns an entry that is complete but for what is special to a verb.
func (a *auditWriter) entry(r *replay.Record, stream *replay.Stream, verb string) *auditv1.Event {
	a.count++
	e := &auditv1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "audit.k8s.io/v1", Kind: "Event"},
		Level:    auditv1.LevelRequestResponse, Stage: auditv1.StageResponseComplete, Verb: verb,
		// A number in the form of a uid: two exports of a recording are the same.
		AuditID:        types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", a.count)),
		ResponseStatus: &metav1.Status{Code: http.StatusOK},
		ObjectRef: &auditv1.ObjectReference{
			Resource: stream.Resource, APIGroup: stream.Group, APIVersion: stream.Version,
		},
	}
	a.at(e, r.Time)
	return e
}

// at sets the time of an entry to the first of the times that is not zero, and not before the entry before it.
func (a *auditWriter) at(e *auditv1.Event, times ...time.Time) {
	for _, t := range times {
		if !t.IsZero() {
			if t.After(a.last) {
				a.last = t
			}
			break
		}
	}
	e.StageTimestamp = metav1.NewMicroTime(a.last)
	e.RequestReceivedTimestamp = e.StageTimestamp
}

// uri returns the path of a collection, or of an object if name is not empty.
func uri(stream *replay.Stream, namespace, name string) string {
	path := "/apis/" + stream.Group + "/" + stream.Version
	if stream.Group == "" {
		path = "/api/" + stream.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + stream.Resource
	if name != "" {
		path += "/" + name
	}
	return path
}

// write writes an entry.
func (a *auditWriter) write(e *auditv1.Event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing an audit log: %w", err)
	}
	_, err = a.w.Write(append(text, '\n'))
	return err
}
