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
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// event is a recorded event of an object.
type event struct {
	record *replay.Record
	stream *replay.Stream
	// order is the resource version by which events of different streams are put in order.
	order uint64
	// position is where the event is among those of the recording, in this order.
	position int
	// verb is what the event did; empty if it shows no write.
	verb Verb
	// effect is set if a controller that is compared made the change; nil for inputs. Effects have the content that the
	// controller wrote, and what it changed.
	effect  *effect
	content untyped.Map
	changes []fields.Change
	hiding  *hiding
	// generated is true for the creation of an object whose name the API may have made.
	generated bool
	// refused is set for a write that the API has refused. It changes no object.
	refused *refusal
	// compared is set if the event is the recorded side of a Difference.
	compared bool
	// keys are the keys of a program that the object of the event belongs to; nil in runs of controllers.
	keys []string
	// played is set once the event is delivered; made once a controller has made the write in the run, before that is
	// played; otherChoice if the controller deleted another object, which was as good.
	played, made, otherChoice bool
}

// String describes the event in tests.
func (e *event) String() string {
	if e == nil {
		return "none"
	}
	by := "input"
	if e.effect != nil {
		by = string(e.verb) + " of " + e.effect.controller + " " + e.effect.key
	}
	if e.refused != nil {
		by = "refused " + by
	}
	return fmt.Sprintf("#%d %s %s %s, %s", e.record.Number, e.record.Type, e.stream.Resource, e.record.Name, by)
}

func (e *event) isDeletion() bool { return e.record.Type == replay.TypeDeleted }

// id is the object of an event in the form of a trace.
func (e *event) id() trace.Object {
	return trace.Object{
		Group: e.stream.Group, Version: e.stream.Version, Resource: e.stream.Resource, Kind: e.stream.Kind,
		Namespace: e.record.Namespace, Name: e.record.Name, UID: e.record.UID,
	}
}

// recorded is a part of a recording in memory.
type recorded struct {
	streams []*replay.StreamState
	// objects are those at the beginning.
	objects []*event
	events  []*event
	// start and end are the times of the recording; zero if there are no times.
	start, end time.Time
	writes     *tracedWrites
	result     *Result // the counts that are known after reading
	hiding     *hiding
	// first are the versions of the objects at the beginning, and of those that a later list has shown first.
	first map[objectID]uint64
	// keysOf returns event.keys for an event and its object. It may be nil.
	keysOf func(*event, untyped.Map) []string
}

// MaxBytes bounds the objects of the events that a run keeps in memory.
const MaxBytes = 1 << 30

// TooLargeError is the error for a recording with more than MaxBytes of objects after the moment where a run begins.
type TooLargeError struct{ Bytes int64 }

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the events to compare have more than %d MB of objects", e.Bytes>>20)
}

// ErrNoEvents is the error for a recording with nothing to compare.
var ErrNoEvents = errors.New("the recording has no changes of what these controllers write")

// load reads the events after a moment of the resources that are wanted.
func load(
	ctx context.Context, recording replay.Recording, from replay.Moment, wanted func(schema.GroupResource) bool,
) (*recorded, error) {
	state, err := recording.Seek(from)
	if err != nil {
		return nil, err
	}
	out := &recorded{start: state.Time, writes: newTracedWrites(), result: &Result{}}
	streams := map[int]*replay.Stream{}
	for _, stream := range state.Streams() {
		streams[stream.Number] = &stream.Stream
		out.streams = append(out.streams, stream)
	}
	for key, record := range state.Objects() {
		if stream := streams[key.Stream]; stream != nil && wanted(stream.GroupResource()) {
			out.objects = append(out.objects, &event{record: record, stream: stream})
		}
	}
	if err := out.read(ctx, recording, streams, wanted); err != nil {
		return nil, err
	}
	if out.start.IsZero() && len(out.events) > 0 {
		out.start = out.events[0].record.Time
	}
	out.hiding = newHiding(recording.Header(), out.streams)
	out.sort()
	return out, nil
}

// read reads the records after the state.
func (l *recorded) read(
	ctx context.Context, recording replay.Recording, streams map[int]*replay.Stream,
	wanted func(schema.GroupResource) bool,
) error {
	size := int64(0)
	for ctx.Err() == nil {
		r, err := recording.Next()
		switch torn := (*replay.TornError)(nil); {
		case errors.Is(err, io.EOF), errors.As(err, &torn):
			return nil // what is there can be compared
		case err != nil:
			return err
		}
		if r.Time.After(l.end) && r.Type != replay.TypeTrace {
			l.end = r.Time
		}
		switch {
		case r.Type == replay.TypeStream && r.NewStream != nil:
			stream := *r.NewStream
			streams[r.Stream] = &stream
			l.streams = append(l.streams, &replay.StreamState{Stream: stream})
		case r.Type == replay.TypeGap:
			l.result.Gaps++
		case r.Type == replay.TypeTrace:
			l.writes.add(r)
		case r.Type.HasObject():
			stream := streams[r.Stream]
			if stream == nil || !wanted(stream.GroupResource()) {
				continue
			}
			if size += int64(len(r.Object)); size > MaxBytes {
				return &TooLargeError{Bytes: MaxBytes}
			}
			l.events = append(l.events, &event{record: r.Clone(), stream: stream})
		}
	}
	return ctx.Err()
}

// sort puts the events in the order in which they were written: they arrived by a watch for each stream, of which one
// may be late, and so may the first list of one. What a relist has shown stays where it is, and so does a deletion with
// the version of before: audit logs do not have that of the deletion.
func (l *recorded) sort() {
	newest := uint64(0)
	last := map[objectID]uint64{}
	for _, ev := range l.objects {
		last[ev.objectID()] = snapshot.VersionNumber(ev.record.ResourceVersion)
	}
	for _, ev := range l.events {
		version := snapshot.VersionNumber(ev.record.ResourceVersion)
		before, known := last[ev.objectID()]
		if version == 0 || ev.record.Relisted || ev.record.Type == replay.TypeListItem && known ||
			ev.isDeletion() && version <= before {
			version = newest
		}
		ev.order, last[ev.objectID()] = version, version
		newest = max(newest, version)
	}
	l.order()
}

func (l *recorded) order() {
	slices.SortStableFunc(l.events, func(a, b *event) int { return cmp.Compare(a.order, b.order) })
	l.number()
}

func (l *recorded) number() {
	for i, ev := range l.events {
		ev.position = i
	}
}

// postpone moves inputs, and what follows on their objects, after the effects that a run has found to be different, if
// by the trace the caches of the recorded controller may have been behind: one has a watch for each kind. It reports
// whether there were any.
func (l *recorded) postpone() bool {
	moved := false
	for _, different := range slices.Clone(l.events) {
		if !different.compared || !different.effect.isTraced {
			continue
		}
		at := slices.Index(l.events, different)
		var before, late []*event
		isLate := map[objectID]bool{}
		for _, ev := range l.events[:at] {
			id := ev.objectID()
			isLate[id] = isLate[id] || ev.effect == nil && id.resource != different.objectID().resource &&
				l.writes.isLate(ev, different.effect.started)
			if isLate[id] {
				late = append(late, ev)
			} else {
				before = append(before, ev)
			}
		}
		if len(late) == 0 {
			continue
		}
		moved = true
		end := len(before)
		for end > 0 && before[end-1].effect != nil && before[end-1].effect.started.After(different.effect.started) {
			end-- // made by a reconcile that began later, it may know what is late
		}
		l.events = slices.Concat(before[:end], []*event{different}, late, before[end:], l.events[at+1:])
	}
	l.number()
	return moved
}

// reset makes all events those of another run.
func (l *recorded) reset() {
	for _, ev := range l.events {
		ev.played, ev.made, ev.otherChoice, ev.compared = false, false, false, false
	}
}

// addRefusals adds the writes of controllers that were refused, each after the newest event that was known then.
func (l *recorded) addRefusals(compared []string) {
	for _, ev := range l.writes.refusals {
		if slices.Contains(compared, ev.effect.controller) {
			l.events = append(l.events, ev)
		}
	}
	l.order()
	l.nameRefused()
}

// nameRefused gives all objects that were refused, and whose names began alike, the name of the first: those names are
// generated for each try, and are in what is said of the refusal in a status.
func (l *recorded) nameRefused() {
	first := map[string]string{} // by prefix
	var names []string
	for _, ev := range l.writes.refusals {
		name := ev.refused.generatedName()
		if name == "" {
			continue
		}
		if first[ev.refused.prefix] == "" {
			first[ev.refused.prefix] = name
		}
		names = append(names, name, first[ev.refused.prefix])
	}
	if len(names) == 0 {
		return
	}
	replacer := strings.NewReplacer(names...)
	for _, ev := range slices.Concat(l.objects, l.events) {
		if ev.refused != nil {
			ev.refused.message = replacer.Replace(ev.refused.message)
			continue
		}
		ev.record = ev.record.Clone() // that of an object at the beginning is the recording's
		ev.record.Object = []byte(replacer.Replace(string(ev.record.Object)))
	}
}

// index are the objects that are known while events are read one after the other.
type index map[schema.GroupResource]map[string]untyped.Map

var _ known = index{}

func (x index) set(ev *event, obj untyped.Map) {
	resource := ev.stream.GroupResource()
	if x[resource] == nil {
		x[resource] = map[string]untyped.Map{}
	}
	key := joinKey(ev.record.Namespace, ev.record.Name)
	if obj == nil {
		delete(x[resource], key)
		return
	}
	x[resource][key] = obj
}

// find implements known.
func (x index) find(resource schema.GroupResource, namespace, name string) untyped.Map {
	return x[resource][joinKey(namespace, name)]
}

// list implements known. The order is not defined.
func (x index) list(resource schema.GroupResource, namespace string) []untyped.Map {
	var out []untyped.Map
	for _, obj := range x[resource] {
		if obj.Text("metadata", "namespace") == namespace {
			out = append(out, obj)
		}
	}
	return out
}

// attributor returns who made a change, which is that of an event.
type attributor func(state known, ev *event, c *change) (verdict, effect)

// attribute finds out which events are effects. Objects that cannot be read are an error: nothing after them would be
// right.
func (l *recorded) attribute(who attributor) error {
	state := index{}
	l.first = map[objectID]uint64{}
	for _, ev := range l.objects {
		l.first[ev.objectID()] = snapshot.VersionNumber(ev.record.ResourceVersion)
		obj, err := parse(ev.record.Object)
		if err != nil {
			return fmt.Errorf("reading record %d: %w", ev.record.Number, err)
		}
		state.set(ev, obj)
		l.setKeys(ev, obj)
	}
	for _, ev := range l.events {
		if ev.refused != nil {
			continue
		}
		if err := l.attributeEvent(who, state, ev); err != nil {
			return fmt.Errorf("reading record %d: %w", ev.record.Number, err)
		}
	}
	return nil
}

func (l *recorded) attributeEvent(who attributor, state index, ev *event) error {
	obj, err := parse(ev.record.Object)
	if err != nil {
		return err
	}
	l.setKeys(ev, obj)
	resource := ev.stream.GroupResource()
	before, after := state.find(resource, ev.record.Namespace, ev.record.Name), obj
	if before != nil && obj.Text("metadata", "uid") != before.Text("metadata", "uid") {
		before = nil // it was deleted and made again, and nothing showed the deletion
	}
	if ev.isDeletion() {
		after = nil
		if before == nil {
			before = obj
		}
	}
	c := newChange(l.hiding.mask(resource), ev.record.Namespace, ev.record.Name, before, after)
	ev.verb = c.verb
	defer state.set(ev, after)
	if ev.record.Relisted || ev.record.Type == replay.TypeListItem {
		if before == nil {
			l.first[ev.objectID()] = snapshot.VersionNumber(ev.record.ResourceVersion)
		}
		l.result.Relisted++
		return nil
	}
	switch by, made := who(state, ev, c); by {
	case isEffect:
		made.before = slices.ContainsFunc(made.causes, l.isFromBefore)
		ev.effect, ev.verb, ev.hiding = &made, c.verb, l.hiding
		ev.changes = c.changes()
		ev.generated = c.verb == VerbCreate && isGenerated(obj)
		ev.content = contentOf(withDefaults(c.written(), ev.stream), c.verb)
	case isUnattributed:
		l.result.Unattributed++
	case isInput:
	}
	return nil
}

// isFromBefore reports whether a cause is a version of an object from before the first one that the recording has.
func (l *recorded) isFromBefore(c trace.Cause) bool {
	if c.Watch == nil {
		return false
	}
	id := objectID{resourceOf(&c.Watch.Object), c.Watch.Namespace, c.Watch.Name}
	return snapshot.VersionNumber(c.Watch.ResourceVersion) < l.first[id]
}

func (l *recorded) setKeys(ev *event, obj untyped.Map) {
	if l.keysOf != nil {
		ev.keys = l.keysOf(ev, obj)
	}
}

// withDefaults returns an object with the defaults of its kind, which manifests and old versions of the API leave out.
func withDefaults(obj untyped.Map, stream *replay.Stream) untyped.Map {
	whole := maps.Clone(obj)
	whole["apiVersion"], whole["kind"] = stream.GVK().GroupVersion().String(), stream.Kind
	data, err := json.Marshal(whole)
	if err != nil {
		return obj
	}
	out, err := decode(data)
	if err != nil {
		return obj // a kind that this version does not know is compared as it is
	}
	return out
}

// controllersOf returns who of the controllers made a change, by their short names: by the trace or an audit log
// for what they have, else by attribute.
func (l *recorded) controllersOf(compared []string) attributor {
	return func(state known, ev *event, c *change) (verdict, effect) { return l.who(compared, state, ev, c) }
}

func (l *recorded) who(compared []string, state known, ev *event, c *change) (verdict, effect) {
	if c.verb == "" {
		return isInput, effect{}
	}
	write := l.writes.write(ev)
	if write != nil && !write.unknown {
		made := l.writes.effect(write.effect)
		if !slices.Contains(compared, made.controller) || isAddressOfNode(c) {
			return isInput, effect{}
		}
		if !made.isTraced && made.key == "" {
			made.key = keyOf(made.controller, state, c)
		}
		return isEffect, *made
	}
	if write == nil && l.writes.audited[c.resource].has(ev.record.Time) {
		return isInput, effect{}
	}
	untraced := slices.DeleteFunc(slices.Clone(compared), func(name string) bool { return l.writes.traced[name] })
	return attribute(untraced, upcoming{state, l, ev}, c)
}

// upcoming is what is known at an event, and what comes after it.
type upcoming struct {
	known
	of *recorded
	at *event
}

// next implements foreseeing.
func (u upcoming) next(resource schema.GroupResource, namespace, name string) untyped.Map {
	for _, ev := range u.of.events[u.at.position+1:] {
		if ev.refused == nil && ev.objectID() == (objectID{resource, namespace, name}) {
			obj, err := parse(ev.record.Object)
			if err != nil {
				return nil // attribute says so when it comes to the event
			}
			return obj
		}
	}
	return nil
}
