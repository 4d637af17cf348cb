package timeline

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Options are the options of a Timeline. The zero value yields all entries.
type Options struct {
	Filter Filter
	// State is what was known before the first record of the source, if that does not begin with the recording; nil for
	// nothing. It belongs to the Timeline then.
	State *replay.State
	// Since, if it is not zero, is the first moment of which there are entries, and Until the last, which is included.
	// Records before Since are read nevertheless: where a recording can seek, State is faster.
	Since, Until replay.Moment
	// Existing adds an entry for each object of first lists.
	Existing bool
	// AllFields adds fields that change with every write, and entries of changes that have no others: managedFields,
	// resourceVersion, heartbeats.
	AllFields bool
	// Writes are those that ReadAhead has found; they belong to the Timeline then. Without them, an entry does not have
	// the reconcile that wrote if the trace has it later.
	Writes *Writes
	// Status, if it is not nil, chooses the entries whose Change.Status is set. It is called for all with a Change.
	Status func(*Entry) bool
	// Trace, if it is not nil, is called for each event of the trace of a session since Since, before the entry that it
	// makes.
	Trace func(*trace.Event)
}

// Timeline reads entries from a source. It must not be used concurrently.
type Timeline struct {
	source replay.Source
	o      Options

	streams map[int]*streamState
	objects map[replay.Key]*version
	traced  reconciles

	since, until bound
	begun        bool
	ended        error
	last         *replay.Record // without its object; nil before the first
	writers      map[string]bool
	matched      map[string]bool // names of kinds of the filter
	namespace    *string         // of the first object; nil before it
	several      bool            // another one was seen
}

// streamState is what is known about a stream.
type streamState struct {
	*replay.Stream
	events     bool // it is one of Events
	heartbeats bool // see findings.HasHeartbeats
	// selected is true if the kind is one of Filter.Kinds.
	selected bool
	listed   bool // the first list is complete
	objects  int  // of the first list
	changes  int  // of the list that runs
}

// version is the last version of an object.
type version struct {
	uid types.UID
	*document
}

// New returns a Timeline of the records of a source from the next one on: see ReadAhead for what it cannot know.
func New(source replay.Source, o Options) *Timeline {
	t := &Timeline{
		source: source, o: o, streams: map[int]*streamState{}, objects: map[replay.Key]*version{},
		since: bound{Moment: o.Since}, until: bound{Moment: o.Until},
		writers: map[string]bool{}, matched: map[string]bool{},
	}
	if t.traced.writes = o.Writes; o.Writes == nil {
		t.traced.writes = &Writes{}
	}
	if o.State != nil {
		t.begun = true
		for _, s := range o.State.Streams() {
			t.addStream(&s.Stream)
			t.streams[s.Number].listed = s.Listed
		}
		for key, r := range o.State.Objects() {
			if s := t.streams[key.Stream]; s != nil && t.o.Filter.selectsRecord(r, s) {
				t.objects[key] = &version{uidOf(r), documentOf(r.Object, nil)}
			}
		}
	}
	return t
}

// Next returns the next entry. The error is io.EOF after the last one. A recording that was cut off ends with an entry
// of the type Torn.
func (t *Timeline) Next() (*Entry, error) {
	if !t.begun {
		t.begun = true
		header := t.source.Header()
		if begin := (&Entry{Type: Begin, Time: header.Start, Recording: &header}); t.o.Filter.selectsType(Begin) {
			return begin, nil
		}
	}
	for t.ended == nil {
		r, err := t.source.Next()
		if err != nil {
			return t.end(err)
		}
		head := *r
		head.Object = nil
		t.last = &head
		if t.until.after(r) {
			t.ended = io.EOF
			break
		}
		e := t.entry(r)
		if t.since.at(r) && e != nil && t.o.Filter.selectsType(e.Type) {
			return e, nil
		}
	}
	return nil, t.ended
}

// All yields what Next returns up to the last entry, or up to an error, with which it ends.
func (t *Timeline) All() iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for {
			e, err := t.Next()
			if errors.Is(err, io.EOF) || !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// ReadFile yields the entries of a recording in a file: replay.OpenFile, ReadAhead, New and Timeline.All in one call.
// An error, of any of them, comes last.
func ReadFile(path string, o Options) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		file, err := replay.OpenFile(path, replay.ReaderOptions{})
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = file.Close() }() // it was only read
		if err := ReadAhead(file, &o); err != nil {
			yield(nil, err)
			return
		}
		New(file, o).All()(yield)
	}
}

// ReadAhead reads a recording to its end for what the entries need to be complete: it fills Filter.Tree, if that is
// set, and sets Writes. Then it rewinds the recording. That a recording was cut off is no error.
func ReadAhead(recording replay.Recording, o *Options) error {
	if o.Filter.Tree != nil {
		if err := o.Filter.Tree.scan(recording); err != nil && !isTorn(err) {
			return err
		}
		if err := recording.Rewind(); err != nil {
			return err
		}
	}
	var err error
	if o.Writes, err = scanWrites(recording); err != nil && !isTorn(err) {
		return err
	}
	return recording.Rewind()
}

func isTorn(err error) bool {
	torn := (*replay.TornError)(nil)
	return errors.As(err, &torn)
}

// end returns the entry of a torn end, or the error of the source.
func (t *Timeline) end(err error) (*Entry, error) {
	t.ended = err
	torn := (*replay.TornError)(nil)
	if !errors.As(err, &torn) || !t.o.Filter.selectsType(Torn) {
		return nil, err
	}
	e := &Entry{Type: Torn, Message: torn.Error()}
	if t.last != nil {
		e.Time = t.last.Time
	}
	return e, nil
}

// Last returns the last record that was read, without its object; nil if there was none.
func (t *Timeline) Last() *replay.Record { return t.last }

// SinceReached reports whether a record was at Options.Since or after it.
func (t *Timeline) SinceReached() bool { return t.since.reached || t.since.isZero() }

// Writers returns the names of those that wrote, sorted: of all whose changes the rest of the filter selects. It is for
// suggestions, and has at most a thousand.
func (t *Timeline) Writers() []string {
	return slices.Sorted(maps.Keys(t.writers))
}

// SeveralNamespaces reports whether objects of several namespaces were selected so far. Objects that are in none do not
// count.
func (t *Timeline) SeveralNamespaces() bool { return t.several }

// noteNamespace notes the namespace of an object that is selected.
func (t *Timeline) noteNamespace(namespace string) {
	switch {
	case namespace == "":
	case t.namespace == nil:
		t.namespace = &namespace
	case *t.namespace != namespace:
		t.several = true
	}
}

// UnknownKinds returns the names of kinds of the filter that are those of no stream so far, nor of an object of an
// Event.
func (t *Timeline) UnknownKinds() []string {
	return slices.DeleteFunc(t.o.Filter.KindNames(), func(name string) bool { return t.matched[name] })
}

// Streams returns the streams so far, in the order of their numbers.
func (t *Timeline) Streams() []replay.Stream {
	var out []replay.Stream
	for _, s := range t.streams {
		out = append(out, *s.Stream)
	}
	slices.SortFunc(out, func(a, b replay.Stream) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

func newStreamState(s *replay.Stream, filter *Filter) *streamState {
	return &streamState{
		Stream: s, events: isEventStream(s),
		heartbeats: findings.HasHeartbeats(schema.GroupKind{Group: s.Group, Kind: s.Kind}),
		selected:   slices.ContainsFunc(filter.Kinds, func(k string) bool { return matchesKind(k, s) }),
	}
}

// mask returns what must not be shown of the stream's objects, of which differences are only parts.
func (s *streamState) mask() fields.Mask {
	return fields.Mask{Kind: s.GVK().GroupKind(), Resource: s.GroupResource()}
}

func (t *Timeline) addStream(s *replay.Stream) {
	for _, name := range t.o.Filter.KindNames() {
		if matchesKind(name, s) {
			t.matched[name] = true
		}
	}
	t.streams[s.Number] = newStreamState(s, &t.o.Filter)
}

// entry returns the entry of a record; nil if there is none, or if it is not selected.
func (t *Timeline) entry(r *replay.Record) *Entry {
	switch r.Type {
	case replay.TypeStream:
		if r.NewStream != nil {
			t.addStream(r.NewStream)
		}
	case replay.TypeListBegin:
		if s := t.streams[r.Stream]; s != nil {
			s.changes = 0
		}
	case replay.TypeListItem, replay.TypeAdded, replay.TypeModified, replay.TypeDeleted:
		return t.object(r)
	case replay.TypeListEnd:
		return t.listEnd(r)
	case replay.TypeError:
		return t.about(r, Failed)
	case replay.TypeGap:
		e := t.about(r, Gap)
		if e != nil {
			e.Gap = r.Gap
		}
		return e
	case replay.TypeTrace:
		return t.trace(r)
	case replay.TypeEnd:
		return t.about(r, End)
	case replay.TypeBookmark, replay.TypeAlive:
	}
	return nil
}

// about returns an entry of a record that is about a stream or about all; nil if its kind is not selected.
func (t *Timeline) about(r *replay.Record, kind Type) *Entry {
	e := &Entry{Number: r.Number, Time: r.Time, Type: kind, Message: r.Message}
	if s := t.streams[r.Stream]; s != nil {
		if len(t.o.Filter.Kinds) > 0 && !s.selected {
			return nil
		}
		e.Resource = s.GroupResource().String()
	}
	return e
}

func (t *Timeline) listEnd(r *replay.Record) *Entry {
	s := t.streams[r.Stream]
	if s == nil {
		return nil
	}
	list := &List{First: !s.listed, ResourceVersion: r.ResourceVersion}
	if s.listed {
		list.Changes = s.changes
	} else {
		list.Objects = s.objects
	}
	s.listed = true
	e := t.about(r, Listed)
	if e == nil || t.o.Filter.narrowsKinds() {
		return nil // the numbers are of all objects
	}
	e.List = list
	return e
}

func (t *Timeline) trace(r *replay.Record) *Entry {
	var e trace.Event
	var done *Reconcile
	err := json.Unmarshal(r.Object, &e)
	if err == nil {
		if t.o.Trace != nil && t.since.at(r) {
			t.o.Trace(&e)
		}
		done = t.traced.take(&e)
	}
	switch {
	case err != nil && t.o.Filter.Narrow():
		return nil
	case err != nil:
		return &Entry{Number: r.Number, Time: r.Time, Type: Reconciled, Problem: err.Error()}
	case done == nil || !t.o.Filter.selectsReconcile(done):
		return nil
	}
	return &Entry{Number: r.Number, Time: r.Time, Type: Reconciled, Reconcile: done}
}
