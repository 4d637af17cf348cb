package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Accepted is how a recording has to change for a program to be the same as in it.
type Accepted struct {
	// Changed, Added and Removed count the writes that differ, that were not recorded, and that were not made.
	Changed, Added, Removed int

	objects  map[int64][]byte // the object of a record, by its number; nil if the record goes
	inserted []insertion      // in their order
}

// insertion is a record that was not recorded.
type insertion struct {
	after  int64  // the number of the record that it follows
	base   uint64 // the newest version before it
	record *replay.Record
}

// IsEmpty reports whether the recording may stay as it is.
func (a *Accepted) IsEmpty() bool { return len(a.objects) == 0 && len(a.inserted) == 0 }

// Accept plays the recording to a program as RunProgram does, but takes each write that differs for the right one: what
// was recorded of it gives way, and so do later events of the same object and of what it owns.
//
// The program is not recorded anew: the events of others would have to be fitted to its writes in the same way, and
// writes that are the same would get other uids, versions and times, so that no one could review what has changed.
func Accept(ctx context.Context, recording replay.Recording, p Program, o ProgramOptions) (*Accepted, error) {
	accepted := &Accepted{objects: map[int64][]byte{}}
	_, err := runProgram(ctx, recording, p, o, accepted)
	return accepted, err
}

// Write writes the recording with the changes to sink, from its beginning. Versions after an added write are higher
// than they were. A recording that was cut off is written as far as it goes.
func (a *Accepted) Write(recording replay.Recording, sink replay.Sink) error {
	if err := recording.Rewind(); err != nil {
		return err
	}
	inserted := a.inserted
	for {
		r, err := recording.Next()
		if torn := (*replay.TornError)(nil); errors.Is(err, io.EOF) || errors.As(err, &torn) {
			return nil
		} else if err != nil {
			return err
		}
		number := r.Number // Write changes that of its copy
		if err := a.writeRecord(sink, r.Clone()); err != nil {
			return err
		}
		for ; len(inserted) > 0 && inserted[0].after <= number; inserted = inserted[1:] {
			if err := sink.Write(inserted[0].record.Clone()); err != nil {
				return err
			}
		}
	}
}

// writeRecord writes a record of the recording, if it stays.
func (a *Accepted) writeRecord(sink replay.Sink, r *replay.Record) error {
	object, changed := a.objects[r.Number]
	if changed && object == nil {
		return nil
	}
	if changed {
		r.Object = object
	}
	version := a.version(r.ResourceVersion)
	if r.Type.HasObject() && version != r.ResourceVersion {
		var err error
		if r.Object, err = withVersion(r.Object, version); err != nil {
			return fmt.Errorf("changing record %d: %w", r.Number, err)
		}
	}
	r.ResourceVersion = version
	return sink.Write(r)
}

// version returns a recorded version as it is with the insertions.
func (a *Accepted) version(text string) string {
	version := snapshot.VersionNumber(text)
	if version == 0 {
		return text
	}
	higher := uint64(0)
	for i := range a.inserted {
		if a.inserted[i].base < version {
			higher++
		}
	}
	return strconv.FormatUint(version+higher, 10)
}

func withVersion(object []byte, version string) ([]byte, error) {
	obj, err := parse(object)
	if err != nil {
		return nil, err
	}
	setMetadata(obj, "resourceVersion", version)
	return json.Marshal(obj)
}

func setMetadata(obj untyped.Map, name string, value any) {
	metadata, _ := obj["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata[name] = value
	if value == nil {
		delete(metadata, name)
	}
	obj["metadata"] = metadata
}

// acceptor makes a recording what a program does. Its methods are called with run.mu held. Objects in it have recorded
// times.
type acceptor struct {
	*programRun
	out     *Accepted
	objects map[objectID]*acceptedObject
	gone    map[string]bool // uids of objects that are not made any more

	// number, version and time are the highest of the events that were played.
	number  int64
	version uint64
	time    time.Time
}

// acceptedObject is an object that may be another than it was.
type acceptedObject struct {
	recorded, actual []byte // nil if it is not there; the same until something differs
	differs          bool
}

func newAcceptor(r *programRun, out *Accepted) *acceptor {
	a := &acceptor{
		programRun: r, out: out, objects: map[objectID]*acceptedObject{}, gone: map[string]bool{}, time: r.loaded.start,
	}
	if len(r.loaded.events) > 0 {
		a.number = r.loaded.events[0].record.Number - 1
	}
	for _, ev := range r.loaded.objects {
		a.objects[ev.objectID()] = &acceptedObject{recorded: ev.record.Object, actual: ev.record.Object}
	}
	return a
}

func (a *acceptor) object(id objectID) *acceptedObject {
	if a.objects[id] == nil {
		a.objects[id] = &acceptedObject{}
	}
	return a.objects[id]
}

// rebase makes an event that is about to be played what it is after what was accepted. It reports false if there is no
// such event any more.
func (a *acceptor) rebase(ev *event) (bool, error) {
	o, after := a.object(ev.objectID()), ev.record.Object
	a.number, a.version = max(a.number, ev.record.Number), max(a.version, ev.order)
	a.time = later(a.time, ev.record.Time)
	if ev.isDeletion() {
		after = nil
	}
	defer func() { o.recorded = after }()
	if o.recorded == nil && a.isOwnerGone(ev.record.Object) {
		a.gone[ev.record.UID] = true
	}
	switch {
	case a.gone[ev.record.UID]:
		a.out.objects[ev.record.Number] = nil
		return false, nil
	case !o.differs:
		o.actual = after
		return true, nil
	case o.actual == nil || after == nil && isDeletingJSON(o.recorded) && !isDeletingJSON(o.actual):
		a.out.objects[ev.record.Number] = nil // it is gone already, or is not being deleted
		return false, nil
	}
	before := o.recorded
	if before == nil {
		before = []byte("{}")
	}
	changed, err := rebased(before, ev.record.Object, o.actual)
	if err != nil {
		return false, fmt.Errorf("changing record %d: %w", ev.record.Number, err)
	}
	a.replace(ev, changed)
	o.actual = changed
	if ev.isDeletion() {
		o.actual, o.differs = nil, false
	}
	return true, nil
}

// rebased returns actual with the changes from before to after.
func rebased(before, after, actual []byte) ([]byte, error) {
	patch, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(actual, patch)
}

func isDeletingJSON(object []byte) bool {
	obj, err := parse(object)
	return err == nil && isDeleting(obj)
}

// isOwnerGone reports whether an owner of the object is not made any more.
func (a *acceptor) isOwnerGone(object []byte) bool {
	obj, err := parse(object)
	return err == nil && slices.ContainsFunc(obj.Maps("metadata", "ownerReferences"), func(owner untyped.Map) bool {
		return a.gone[owner.Text("uid")]
	})
}

// replace gives an event another object.
func (a *acceptor) replace(ev *event, object []byte) {
	ev.record = ev.record.Clone()
	ev.record.Object = object
	a.out.objects[ev.record.Number] = object
}

// missing accepts that a recorded write is not made.
func (a *acceptor) missing(ev *event) {
	a.note("accept that %s is missing", ev)
	a.out.Removed++
	a.out.objects[ev.record.Number] = nil
	object := a.run.object(ev.objectID())
	ev.played = true
	object.coming = slices.DeleteFunc(object.coming, func(one *event) bool { return one == ev })
	o := a.object(ev.objectID())
	o.differs = true
	if ev.verb == VerbCreate {
		a.gone[ev.record.UID] = true
	}
	if o.recorded = ev.record.Object; ev.isDeletion() {
		o.recorded = nil
	}
}

// other accepts a write in the place of a recorded one of the same object, or, if ev is nil, one that was not recorded.
func (a *acceptor) other(w *write, ev *event) answer {
	a.note("accept %s %s %s in the place of %s", w.verb, w.object.Resource, w.object.Name, ev)
	if ev != nil && ev.objectID() == w.objectID() && w.verb != VerbDelete {
		return a.changed(w, ev)
	}
	return a.added(w)
}

// changed accepts another content of a recorded write.
func (a *acceptor) changed(w *write, ev *event) answer {
	original := ev.record.Object
	out := a.accept(w, ev, false) // plays the event, with the events of the object before it
	if out.refused != "" {
		return out
	}
	recorded, err := parse(ev.record.Object)
	if err != nil {
		return forbidden(err.Error())
	}
	object, err := a.encoded(w, mergedWrite(a.recordedTimes(w.after), recorded, w.verb))
	if err != nil {
		return a.failed(err)
	}
	a.out.Changed++
	a.replace(ev, object)
	o := a.object(ev.objectID())
	o.recorded, o.actual, o.differs = original, object, true
	// The API has the object as it was recorded: the one that was accepted comes over it.
	if err := a.send(ev); err != nil {
		return forbidden(err.Error())
	}
	return out
}

// mergedWrite returns an object that a write of a program made, with the metadata and the other part that were
// recorded.
func mergedWrite(made, recorded untyped.Map, verb Verb) untyped.Map {
	if verb == VerbUpdateStatus {
		out := maps.Clone(recorded)
		out["status"] = made["status"]
		return out
	}
	out := maps.Clone(made)
	for _, name := range slices.Concat(volatile, naming) {
		setMetadata(out, name, recorded.At("metadata", name))
	}
	for _, name := range []string{"status", "apiVersion", "kind"} {
		if out[name] = recorded[name]; out[name] == nil {
			delete(out, name)
		}
	}
	return out
}

// added accepts a write that was not recorded.
func (a *acceptor) added(w *write) answer {
	stream := a.streams[w.objectID().resource]
	if stream == nil {
		return answer{pass: true} // of a kind that is not in the recording
	}
	obj := a.recordedTimes(w.after)
	name := w.object.Name
	if name == "" {
		name = obj.Text("metadata", "name")
	}
	id := objectID{w.objectID().resource, w.object.Namespace, name}
	o := a.object(id)
	record := &replay.Record{
		Type: replay.TypeModified, Stream: stream.Number, Namespace: w.object.Namespace, Name: name,
		Time: a.time,
	}
	switch w.verb {
	case VerbCreate:
		record.Type = replay.TypeAdded
		setMetadata(obj, "uid", uidOf(id, len(a.out.inserted)))
	case VerbDelete:
		record.Type = replay.TypeDeleted
		obj, _ = parse(o.actual) // it is there, or the API had refused to delete it
	case VerbUpdate, VerbUpdateStatus:
		actual, err := parse(o.actual)
		if err != nil {
			return forbidden(err.Error())
		}
		obj = mergedWrite(obj, actual, w.verb)
	}
	record.UID = obj.Text("metadata", "uid")
	record.ResourceVersion = strconv.FormatUint(a.version+uint64(len(a.out.inserted))+1, 10)
	setMetadata(obj, "resourceVersion", record.ResourceVersion)
	object, err := a.encoded(w, obj)
	if err != nil {
		return a.failed(err)
	}
	record.Object = object
	a.out.Added++
	a.out.inserted = append(a.out.inserted, insertion{after: a.number, base: a.version, record: record})
	if o.actual, o.differs = object, true; record.Type == replay.TypeDeleted {
		o.actual = nil
		a.gone[record.UID] = true
	}
	if err := a.send(&event{record: record, stream: stream}); err != nil {
		return forbidden(err.Error())
	}
	if w.verb == VerbDelete {
		return answer{}
	}
	return answer{name: name}
}

// encoded returns an object that a write made as the recording may have it.
func (a *acceptor) encoded(w *write, obj untyped.Map) ([]byte, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encoding %s %q: %w", w.object.Resource, w.object.Name, err)
	}
	return a.hiding.redact(w.objectID().resource, data)
}

// failed ends the run with an error.
func (a *acceptor) failed(err error) answer {
	a.err = cmp.Or(a.err, err)
	return forbidden(err.Error())
}

// send has the API send an event with the version after its newest.
func (a *acceptor) send(ev *event) error {
	data, obj, err := a.shifted(ev)
	if err != nil {
		return err
	}
	if a.run.object(ev.objectID()).current = obj; ev.isDeletion() {
		a.run.object(ev.objectID()).current = nil
	}
	sent := *ev
	sent.record = ev.record.Clone()
	sent.record.ResourceVersion = ""
	return a.deliver(&sent, data)
}

// uidOf returns a uid for an object that was not recorded: the same each time.
func uidOf(id objectID, n int) string {
	return uuid.NewSHA1(uuid.Nil, fmt.Appendf(nil, "%v %d", id, n)).String()
}

// recordedTimes returns an object with times of the recording in the place of those of the run.
func (a *acceptor) recordedTimes(obj untyped.Map) untyped.Map {
	offset := a.timeline.marks[len(a.timeline.marks)-1].offset
	moved, err := snapshot.RetimeFields(obj, snapshot.WrittenTimes, snapshot.Later(-offset))
	if err != nil {
		return obj
	}
	return moved
}
