package replay

import (
	"fmt"
	"strings"
)

// writtenStream is what the Writer knows of a stream.
type writtenStream struct {
	number  int
	json    []byte
	listed  bool
	version string
	// fresh is the object that was last defined, and byPrefix the one of each prefix of names: their last versions are
	// likely to resemble new objects.
	fresh    *writtenObject
	byPrefix map[string]*writtenObject
}

// writtenObject is the last version of an object, as it was written.
type writtenObject struct {
	id     uint64
	record Record // without Object
	// object are its bytes, compressed if packed: what did not change between two snapshots is unlikely to change soon,
	// and most objects of a large cluster are such.
	object  []byte
	packed  bool
	changed bool // since the last snapshot
	deleted bool
}

// similar returns an object that is likely to resemble a new one of the name; nil if there is none.
func (s *writtenStream) similar(name string) *writtenObject {
	if object := s.byPrefix[prefix(name)]; object != nil {
		return object
	}
	if s.fresh != nil && !s.fresh.deleted {
		return s.fresh
	}
	return nil
}

// prefix returns what the names of objects have in common that one owner has made.
func prefix(name string) string { return name[:strings.LastIndexAny(name, "-.")+1] }

// know makes the record that was written the last version of its object.
func (w *Writer) know(r *Record, raw *rawRecord) {
	if r.Type == TypeStream {
		w.streams[r.Stream] = &writtenStream{number: r.Stream, json: raw.json, byPrefix: map[string]*writtenObject{}}
		return
	}
	s := w.streams[r.Stream]
	if s == nil {
		return
	}
	s.listed = s.listed || r.Type == TypeListEnd
	if r.hasVersion() {
		s.version = r.ResourceVersion
	}
	if !r.Type.HasObject() {
		return
	}
	key := r.Key()
	object := w.objects[key]
	if r.Type == TypeDeleted {
		if object != nil {
			s.forget(object)
			delete(w.objects, key)
		}
		w.stats.Objects = len(w.objects)
		return
	}
	if object == nil {
		object = &writtenObject{id: raw.id}
		w.objects[key] = object
		s.fresh = object
		s.byPrefix[prefix(r.Name)] = object
	}
	object.record = *r
	object.record.Object = nil
	object.pack(r.Object, false)
	object.changed = true
	w.stats.Objects = len(w.objects)
}

// pack sets the bytes of an object, and keeps its memory if it fits.
func (o *writtenObject) pack(b []byte, packed bool) {
	if cap(o.object) < len(b) || cap(o.object) > 2*len(b) {
		o.object = make([]byte, 0, len(b))
	}
	o.object, o.packed = append(o.object[:0], b...), packed
}

// unpack returns a copy of the bytes of an object, in the buffer if that is large enough.
func (w *Writer) unpack(buffer []byte, object *writtenObject) ([]byte, error) {
	if !object.packed {
		return append(buffer[:0], object.object...), nil
	}
	out, err := w.decompressor.DecodeAll(object.object, buffer[:0])
	if err != nil {
		return nil, fmt.Errorf("decompressing the last version of %q: %w", object.record.Name, err)
	}
	return out, nil
}

// forget makes the object no base of new ones.
func (s *writtenStream) forget(object *writtenObject) {
	object.deleted = true
	if p := prefix(object.record.Name); s.byPrefix[p] == object {
		delete(s.byPrefix, p)
	}
}
