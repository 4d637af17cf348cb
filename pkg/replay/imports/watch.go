package imports

import (
	"bytes"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// watchEvents are documents {"type": …, "object": …}, as `kubectl get -w --output-watch-events -o json` prints them,
// and as `?watch=1` answers them. kubectl prints what it listed before the watch as ADDED, which nothing tells from
// objects that are new.
type watchEvents struct {
	last int // the stream of the event before
}

var eventTypes = map[string]replay.Type{
	"ADDED": replay.TypeAdded, "MODIFIED": replay.TypeModified, "DELETED": replay.TypeDeleted,
	"BOOKMARK": replay.TypeBookmark, "ERROR": replay.TypeError,
}

func (w *watchEvents) add(s *Source, doc *document) error {
	e, err := parseEnvelope(doc)
	if err != nil {
		return err
	}
	var name string
	if err := utiljson.Unmarshal(e.Type, &name); err != nil || !e.isWatchEvent() {
		return doc.errorf("it is no watch event, as those before it are")
	}
	typ, known := eventTypes[name]
	if !known {
		return doc.errorf("unknown type of a watch event: %q", name)
	}
	if typ == replay.TypeError {
		return w.addError(s, doc, e)
	}
	o, err := e.Content.object(e.Object, schema.GroupVersionKind{}, doc.compact)
	if err != nil {
		return doc.errorf("%w", err)
	}
	if typ != replay.TypeBookmark && o.meta.Name == "" {
		return doc.errorf("the object has no name")
	}
	stream := s.streamOf(o, "", time.Time{})
	w.last = stream.Number
	r := &replay.Record{Type: typ, Stream: stream.Number, ResourceVersion: o.meta.ResourceVersion}
	if typ != replay.TypeBookmark {
		r = o.record(typ, stream.Number)
	}
	s.emit(r)
	return nil
}

// addError adds an error event. Its object is a Status, which names no kind that was watched: it is taken to belong to
// the stream of the event before.
func (w *watchEvents) addError(s *Source, doc *document, e *envelope) error {
	var status struct {
		Message string `json:"message"`
	}
	if err := utiljson.Unmarshal(e.Object, &status); err != nil {
		return doc.errorf("parsing the object of an error: %w", err)
	}
	s.emit(&replay.Record{
		Type: replay.TypeError, Stream: w.last, Object: bytes.Clone(e.Object), Message: status.Message,
	})
	return nil
}

func (w *watchEvents) end(*Source, bool) error { return nil }

// record returns a record of an object.
func (o *object) record(typ replay.Type, stream int) *replay.Record {
	return &replay.Record{
		Type: typ, Stream: stream, Namespace: o.meta.Namespace, Name: o.meta.Name, UID: o.meta.UID,
		ResourceVersion: o.meta.ResourceVersion, Object: o.text,
	}
}

// streamOf returns the stream of an object, which is defined by a record if the object is its first, at that time.
// resource is the plural name of the kind, empty if it is not known.
func (s *Source) streamOf(o *object, resource string, at time.Time) *replay.Stream {
	known := len(s.streams.all)
	stream := s.streams.of(o, resource)
	if len(s.streams.all) > known {
		s.emit(&replay.Record{Time: at, Type: replay.TypeStream, Stream: stream.Number, NewStream: stream})
	}
	return stream
}
