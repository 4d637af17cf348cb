package imports

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// objects are objects one after the other, as `kubectl get -w -o json` prints them. An object is added when it is first
// seen, and modified when it has another resourceVersion. A deletion looks like a change: nothing tells them apart. An
// object that has another uid than before was deleted in between.
type objects struct {
	known map[replay.Key]*replay.Record
}

func newObjects() *objects { return &objects{known: map[replay.Key]*replay.Record{}} }

func (f *objects) add(s *Source, doc *document) error {
	e, err := parseEnvelope(doc)
	if err != nil {
		return err
	}
	texts, kind, err := e.contents(doc)
	if err != nil {
		return err
	}
	for _, text := range texts {
		o, err := s.parseNamed(doc, text, kind)
		if err != nil {
			return err
		}
		if err := o.complete(false, nil); err != nil {
			return err
		}
		f.addObject(s, o)
	}
	return nil
}

// parseNamed parses an object of a document, which must have a name.
func (s *Source) parseNamed(doc *document, text []byte, kind schema.GroupVersionKind) (*object, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	o, err := parseObject(text, kind)
	if err != nil {
		return nil, doc.errorf("%w", err)
	}
	if o.meta.Name == "" {
		return nil, doc.errorf("the %s has no name", o.gvk.Kind)
	}
	return o, nil
}

func (f *objects) addObject(s *Source, o *object) {
	stream := s.streamOf(o, "", time.Time{}).Number
	before := f.known[o.key(stream)]
	r := o.record(replay.TypeAdded, stream)
	switch {
	case before == nil:
	case before.UID != r.UID:
		gone := before.Clone()
		gone.Type, gone.Relisted = replay.TypeDeleted, true
		s.emit(gone)
	case before.ResourceVersion == r.ResourceVersion:
		return
	default:
		r.Type = replay.TypeModified
	}
	f.known[o.key(stream)] = r
	s.emit(r)
}

func (f *objects) end(*Source, bool) error { return nil }

// contents returns the objects of a document: those of a list, or the document itself. The kind is that of a list's
// items which do not have one; empty for other lists.
func (e *envelope) contents(doc *document) ([][]byte, schema.GroupVersionKind, error) {
	var kind schema.GroupVersionKind
	if !e.isList() {
		return [][]byte{doc.text}, kind, nil
	}
	items, err := e.items()
	if err != nil {
		return nil, kind, doc.errorf("parsing the items of the %s: %w", e.Kind, err)
	}
	if e.Kind != "List" {
		version, err := schema.ParseGroupVersion(e.APIVersion)
		if err != nil {
			return nil, kind, doc.errorf("parsing the %s: %w", e.Kind, err)
		}
		kind = version.WithKind(e.Kind[:len(e.Kind)-len("List")])
	}
	return items, kind, nil
}
