package timeline

import (
	"bytes"
	"cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// object returns the entry of a record with an object. Nothing is decoded if the object is not selected.
func (t *Timeline) object(r *replay.Record) *Entry {
	s := t.streams[r.Stream]
	if s == nil {
		return nil
	}
	if r.Type == replay.TypeListItem {
		s.objects++
	} else if r.Relisted {
		s.changes++
	}
	if !t.o.Filter.selectsRecord(r, s) {
		return nil
	}
	t.noteNamespace(r.Namespace)
	e := &Entry{
		Number: r.Number, Time: r.Time, Relisted: r.Relisted, stream: s.Stream,
		Object: &Object{
			APIVersion: schema.GroupVersion{Group: s.Group, Version: s.Version}.String(), Kind: s.Kind,
			Namespace: r.Namespace, Name: r.Name, UID: uidOf(r),
		},
	}
	if s.events {
		return t.event(e, r)
	}
	after, before := t.keep(r)
	return t.change(e, r, s, after, before)
}

// keep replaces the last version of an object. It returns this and the one before, which is nil if there was none.
func (t *Timeline) keep(r *replay.Record) (after, before *version) {
	key := r.Key()
	before = t.objects[key]
	var like *document
	if before != nil {
		like = before.document
	}
	if r.Type == replay.TypeDeleted {
		delete(t.objects, key)
		return &version{uidOf(r), documentOf(r.Object, like)}, before
	}
	after = &version{uidOf(r), documentOf(bytes.Clone(r.Object), like)}
	t.objects[key] = after
	return after, before
}

// event returns the entry of an Event. That an Event is deleted means only that its time is over.
func (t *Timeline) event(e *Entry, r *replay.Record) *Entry {
	if r.Type == replay.TypeDeleted || !t.o.Filter.selectsType(Reported) || !t.since.at(r) ||
		r.Type == replay.TypeListItem && !t.o.Existing {
		return nil
	}
	e.Type = Reported
	event, about, err := readEvent(r)
	if err != nil {
		e.Problem = err.Error()
		return e
	}
	e.Event, e.Object = event, about
	for _, name := range t.o.Filter.KindNames() {
		if isKind(name, about.APIVersion, about.Kind) {
			t.matched[name] = true
		}
	}
	t.note(event.By)
	if !t.o.Filter.selectsEntry(e) {
		return nil
	}
	return e
}

// typeOf returns the type of the entry of an object.
func typeOf(r *replay.Record, before *version) Type {
	switch {
	case r.Type == replay.TypeDeleted:
		return Deleted
	case r.Type == replay.TypeListItem && before == nil:
		return Existing
	case r.Type == replay.TypeAdded && (before == nil || before.uid != uidOf(r)):
		return Added
	}
	return Modified
}

// change returns the entry of an object's change; nil if nothing changed that is shown.
func (t *Timeline) change(e *Entry, r *replay.Record, s *streamState, after, before *version) *Entry {
	e.Type = typeOf(r, before)
	if e.Type == Existing && !t.o.Existing || !t.o.Filter.selectsType(e.Type) || !t.since.at(r) {
		return nil
	}
	e.raw = after.raw
	var old *document
	replaced := before != nil && before.uid != after.uid
	if before != nil && !replaced && e.Type != Existing {
		old = before.document
	}
	if !t.describe(e, r, old, after.document, s) {
		return nil
	}
	e.Change.Replaced = replaced && e.Type != Deleted
	e.Change.Unknown = before == nil && e.Type == Modified
	if t.o.Status != nil && t.o.Status(e) {
		t.setStatus(e)
	}
	if e.Type == Modified && !t.o.AllFields && e.Change.empty() && e.Problem == "" {
		return nil
	}
	if !t.o.Filter.selectsEntry(e) {
		return nil
	}
	return e
}

// describe sets what changed, and who wrote. It returns false if the filter leaves out the change, which is found out
// before anything is decoded, if that is possible.
func (t *Timeline) describe(e *Entry, r *replay.Record, old, after *document, s *streamState) bool {
	if e.Type == Deleted {
		e.Change = numbersIn(after) // the last state; managedFields do not name who deleted it
		t.setWriter(e, r)
		return true
	}
	if old != nil && !t.o.Filter.mayChange(old, after) {
		return false
	}
	writer, certain := writerOf(old, after)
	if e.Type != Existing {
		e.setManager(writer)
	}
	t.setWriter(e, r)
	if old != nil && certain && !t.o.Filter.selectsWriterOf(e) {
		return false
	}
	change, d, err := changeOf(old, after, s, t.o.AllFields)
	e.Change = change
	if err != nil {
		e.Problem = err.Error()
		return true
	}
	if !certain {
		e.setManager(ownerOfChanges(after, d, s.mask()))
		t.note(e.Writer.manager())
	}
	if old == nil && len(t.o.Filter.Fields) > 0 { // the first values of fields that are asked for
		if all, err := differenceOf(documentOf([]byte("{}"), nil), after, false); err == nil {
			e.Change.Fields, _, _ = all.changes(s.mask(), false, false) // it is empty if they cannot be read
		}
	}
	return true
}

// setManager sets the writer by managedFields; nil sets nothing.
func (e *Entry) setManager(w *fields.Writer) {
	switch {
	case w == nil:
	case e.Writer == nil:
		e.Writer = &Writer{Writer: *w}
	default:
		e.Writer.Writer = *w
	}
}

// manager returns the manager; empty for nil.
func (w *Writer) manager() string {
	if w == nil {
		return ""
	}
	return w.Manager
}

// setWriter sets the writer by the trace and the user, where there is one, and notes it.
func (t *Timeline) setWriter(e *Entry, r *replay.Record) {
	user := r.Writer
	w := t.traced.writes.of(e.Object.Namespace, e.Object.Name, r.ResourceVersion)
	if w == nil && e.Type == Deleted {
		w = t.traced.writes.of(e.Object.Namespace, e.Object.Name, deletionOf(r.UID))
	}
	if e.Writer == nil && (w != nil || user != "") {
		e.Writer = &Writer{}
	}
	if w != nil {
		e.Writer.Controller, e.Writer.Reconcile = w.Controller, w.Reconcile
		user = cmp.Or(user, w.User)
	}
	if user != "" {
		e.Writer.User = user
	}
	if e.Writer != nil {
		t.note(e.Writer.User)
		t.note(e.Writer.Manager)
		t.note(e.Writer.Controller)
	}
}

// maxWriterNames bounds the names that Writers returns.
const maxWriterNames = 1000

func (t *Timeline) note(writer string) {
	if writer != "" && len(t.writers) < maxWriterNames {
		t.writers[writer] = true
	}
}

func (t *Timeline) setStatus(e *Entry) {
	obj, err := fullObject(e.raw, e.Object.APIVersion, e.Object.Kind)
	if err != nil {
		e.Problem = err.Error()
		return
	}
	report := inspect.Inspect(obj, &inspect.Options{NoStatus: !e.stream.HasStatus})
	if !e.Time.IsZero() {
		report = report.At(e.Time)
	}
	e.Change.Status = &report.Status
}

// empty reports whether nothing changed that is worth an entry.
func (c *ObjectChange) empty() bool {
	return len(c.Fields)+len(c.Conditions)+len(c.OwnersAdded)+len(c.OwnersRemoved)+len(c.FinalizersAdded)+
		len(c.FinalizersRemoved) == 0 && !c.DeletionRequested && !c.Replaced && !c.Unknown
}
