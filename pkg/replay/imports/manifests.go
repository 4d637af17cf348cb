package imports

import (
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// maxCollected bounds the objects of a form that is complete at its end only.
const maxCollected = 1 << 30

// manifests are lists and manifests: one state, which is known as a whole at the end of the input. The objects of each
// kind become its first list. Where an object is there more than once, as where lists were appended to a file again and
// again, the later versions are changes.
type manifests struct {
	objects
	collected []*object
	size      int64
	// versions are the resourceVersions of lists of one kind.
	versions map[string]string
}

func newManifests() *manifests {
	return &manifests{objects: *newObjects(), versions: map[string]string{}}
}

func (f *manifests) add(s *Source, doc *document) error {
	e, err := parseEnvelope(doc)
	if err != nil {
		return err
	}
	texts, kind, err := e.contents(doc)
	if err != nil {
		return err
	}
	if e.Metadata.ResourceVersion != "" && e.isList() {
		f.versions[kind.String()] = e.Metadata.ResourceVersion
	}
	for _, text := range texts {
		o, err := s.parseNamed(doc, text, kind)
		if err != nil {
			return err
		}
		if f.size += int64(len(o.text)); f.size > maxCollected {
			return doc.errorf("the objects have more than %d MB", maxCollected>>20)
		}
		f.collected = append(f.collected, o)
	}
	return nil
}

func (f *manifests) end(s *Source, complete bool) error {
	for _, o := range f.collected {
		s.streams.define(o)
	}
	owners := ownersOf(f.collected)
	var order []*replay.Stream
	first, later := map[int][]*object{}, []*object(nil)
	for _, o := range f.collected {
		stream := s.streams.of(o, "")
		if err := o.complete(stream.Namespaced, owners); err != nil {
			return err
		}
		if first[stream.Number] == nil {
			order = append(order, stream)
		}
		if k := o.key(stream.Number); f.known[k] == nil {
			f.known[k] = o.record(replay.TypeListItem, stream.Number)
			first[stream.Number] = append(first[stream.Number], o)
		} else {
			later = append(later, o)
		}
	}
	for _, stream := range order {
		s.emit(&replay.Record{Type: replay.TypeStream, Stream: stream.Number, NewStream: stream})
		s.emit(&replay.Record{Type: replay.TypeListBegin, Stream: stream.Number})
		for _, o := range first[stream.Number] {
			s.emit(o.record(replay.TypeListItem, stream.Number))
		}
		if complete {
			s.emit(&replay.Record{
				Type: replay.TypeListEnd, Stream: stream.Number, ResourceVersion: f.versions[stream.GVK().String()],
			})
		}
	}
	for _, o := range later {
		f.addObject(s, o)
	}
	return nil
}
