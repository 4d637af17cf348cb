package replay

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
)

// decoder makes records from what is in segments. It knows the last version of each object.
type decoder struct {
	limits       Limits
	decompressor *zstd.Decoder
	objects      map[uint64]*readObject
	streams      map[uint64]bool
	size         int64 // of objects
	// recycle is set while only the last versions are wanted: then the memory of the version that was replaced last,
	// spare, is that of the next one. It is not used at once, as a record may turn out to be one too far.
	recycle bool
	spare   []byte
}

// readObject is the last version of an object that was read.
type readObject struct {
	stream               uint64
	namespace, name, uid string
	object               []byte
}

// objectCost is what an object needs besides its bytes, about.
const objectCost = 400

func (o *readObject) size() int64 {
	return int64(len(o.object)+len(o.namespace)+len(o.name)+len(o.uid)) + objectCost
}

func newDecoder(l Limits) (*decoder, error) {
	decompressor, err := newDecompressor(&l)
	if err != nil {
		return nil, err
	}
	d := &decoder{limits: l, decompressor: decompressor}
	d.reset()
	return d, nil
}

// reset forgets all objects and streams.
func (d *decoder) reset() {
	d.objects, d.streams, d.size = map[uint64]*readObject{}, map[uint64]bool{}, 0
	d.recycle, d.spare = false, nil
}

// decompress returns the records of a segment, in the buffer if it is large enough.
func (d *decoder) decompress(s *segment, compressed, buffer []byte) ([]byte, error) {
	if crc32.Checksum(compressed, castagnoli()) != s.sum {
		return nil, damaged("wrong checksum of a segment")
	}
	if cap(buffer) < int(s.size) {
		buffer = make([]byte, 0, s.size)
	}
	// The capacity is the limit of what the decoder makes.
	out, err := d.decompressor.DecodeAll(compressed, buffer[:0:s.size])
	if err != nil {
		return nil, damaged("decompressing a segment: %v", err)
	}
	if len(out) != int(s.size) {
		return nil, damaged("segment of %d bytes instead of %d", len(out), s.size)
	}
	return out, nil
}

// cursor yields the records of one segment as they are in it.
type cursor struct {
	segment segment
	rest    []byte
	read    uint32 // how many were read
	time    int64  // of the last one
}

func newCursor(s segment, records []byte) cursor {
	return cursor{segment: s, rest: records, time: s.begin}
}

// next parses the next record; false if there is none. The strings of the record are parts of the segment.
func (c *cursor) next(raw *rawRecord, l *Limits) (bool, error) {
	if len(c.rest) == 0 {
		if c.read != c.segment.count || !c.segment.is(segmentSnapshot) && c.time != c.segment.end {
			return false, damaged("segment with other records than its header says")
		}
		return false, nil
	}
	p := parser{rest: c.rest}
	body := p.bytes()
	if p.err != nil {
		return false, p.err
	}
	if size, limit := int64(len(body)), l.Record+8*int64(l.String); size > limit {
		return false, &LimitError{What: "record", Size: size, Limit: limit}
	}
	previous := c.time
	if c.segment.is(segmentSnapshot) {
		previous = 0
	}
	if err := raw.parse(body, previous); err != nil {
		return false, err
	}
	if raw.time > c.segment.end {
		return false, damaged("record after the end of its segment")
	}
	if !c.segment.is(segmentSnapshot) {
		raw.number = uint64(c.segment.first) + uint64(c.read) //nolint:gosec // G115: positive
	}
	c.rest, c.time = p.rest, raw.time
	c.read++
	return true, nil
}

// next returns the next record, and false if there is none. The record is nil if it is of an unknown type. last gets
// its number and time.
func (d *decoder) next(c *cursor, last *Record) (*Record, bool, error) {
	var raw rawRecord
	more, err := c.next(&raw, &d.limits)
	if err != nil || !more {
		return nil, false, err
	}
	record, err := d.record(&raw)
	if err == nil {
		last.Number, last.Time = clampInt64(raw.number), fromMicro(raw.time)
	}
	return record, true, err
}

// record makes a record of what was parsed. It returns nil for one of an unknown type, which changes nothing. Nothing
// of the record is part of the segment.
func (d *decoder) record(raw *rawRecord) (*Record, error) {
	if raw.typ.String() == "" {
		return nil, nil
	}
	for _, s := range [...][]byte{raw.namespace, raw.name, raw.uid, raw.version, raw.message, raw.json} {
		if len(s) > d.limits.String {
			return nil, &LimitError{What: "string", Size: int64(len(s)), Limit: int64(d.limits.String)}
		}
	}
	r := &Record{
		Number: clampInt64(raw.number), Time: fromMicro(raw.time), Type: raw.typ,
		Stream:   int(min(raw.stream, 1<<31-1)),
		Relisted: raw.fields&fieldRelisted != 0, ResourceVersion: string(raw.version), Message: string(raw.message),
	}
	if raw.typ != TypeStream && raw.stream != 0 && !d.streams[raw.stream] {
		return nil, damaged("record of a stream that is not defined")
	}
	if raw.typ.HasObject() {
		return r, d.object(r, raw)
	}
	if raw.fields&fieldWhole != 0 && len(raw.data) > 0 {
		r.Object = append([]byte(nil), raw.data...)
	}
	switch raw.typ {
	case TypeStream:
		return r, d.stream(r, raw)
	case TypeGap:
		r.Gap = &Gap{}
		if err := json.Unmarshal(raw.json, r.Gap); err != nil {
			return nil, damaged("gap: %v", err)
		}
	case TypeListBegin, TypeListItem, TypeListEnd, TypeAdded, TypeModified, TypeDeleted, TypeBookmark, TypeError,
		TypeTrace, TypeAlive, TypeEnd:
	}
	return r, nil
}

// stream defines a stream.
func (d *decoder) stream(r *Record, raw *rawRecord) error {
	r.NewStream = &Stream{}
	if err := json.Unmarshal(raw.json, r.NewStream); err != nil {
		return damaged("stream: %v", err)
	}
	if r.NewStream.Number != r.Stream || r.Stream <= 0 || d.streams[raw.stream] {
		return damaged("stream with a wrong number")
	}
	if len(d.streams) >= d.limits.Streams {
		return &LimitError{What: "number of streams", Size: int64(len(d.streams)) + 1, Limit: int64(d.limits.Streams)}
	}
	d.streams[raw.stream] = true
	return nil
}

// object sets what a record says about an object, and remembers its last version.
func (d *decoder) object(r *Record, raw *rawRecord) error {
	known := d.objects[raw.id]
	object := known
	switch {
	case raw.stream == 0 || raw.fields&(fieldIdentity|fieldObject) == 0:
		return damaged("record without stream or object")
	case raw.fields&fieldIdentity != 0:
		object = &readObject{
			stream: raw.stream, namespace: string(raw.namespace), name: string(raw.name), uid: string(raw.uid),
		}
		if known != nil {
			object.object = known.object
		}
	case known == nil || known.stream != raw.stream:
		return damaged("object that is not defined")
	}
	bytes, err := d.bytes(raw)
	if err != nil {
		return err
	}
	r.Namespace, r.Name, r.UID, r.Object = object.namespace, object.name, object.uid, bytes
	if known != nil {
		d.size -= known.size()
		if d.recycle && known == object { // else it may be that of another name
			d.spare = known.object
		}
	}
	if r.Type == TypeDeleted {
		delete(d.objects, raw.id)
		return nil
	}
	object.object = bytes
	d.objects[raw.id] = object
	d.size += object.size()
	if d.size > d.limits.State {
		return &LimitError{What: "size of all objects", Size: d.size, Limit: d.limits.State}
	}
	return nil
}

// bytes returns the bytes of the object of a record, in a slice of their own; nil if it has none.
func (d *decoder) bytes(raw *rawRecord) ([]byte, error) {
	switch {
	case raw.fields&fieldDelta != 0:
		base := d.objects[raw.base]
		if base == nil {
			return nil, damaged("delta to an object that is not defined")
		}
		buffer := d.spare
		d.spare = nil
		if size, _ := binary.Uvarint(raw.data); uint64(cap(buffer))/2 > size { // memory that is not counted
			buffer = nil
		}
		return applyDelta(buffer, raw.data, base.object, d.limits.Record)
	case raw.fields&fieldWhole == 0 || len(raw.data) == 0:
		return nil, nil
	case int64(len(raw.data)) > d.limits.Record:
		return nil, &LimitError{What: "object", Size: int64(len(raw.data)), Limit: d.limits.Record}
	default:
		return append([]byte(nil), raw.data...), nil
	}
}
