package replay

import (
	"maps"
	"slices"
)

// snapshot writes all streams and objects, so that reading can begin after it. Only between segments.
func (w *Writer) snapshot() error {
	p := &snapshotWriter{w: w, flags: segmentSnapshotBegin}
	numbers := slices.Sorted(maps.Keys(w.streams))
	for _, number := range numbers {
		p.add(&rawRecord{
			typ: TypeStream, stream: uint64(number), //nolint:gosec // G115: positive
			fields: fieldPayload, json: w.streams[number].json,
		})
	}
	byKey := func(a, b *writtenObject) int { return a.record.Key().Compare(b.record.Key()) }
	for _, object := range slices.SortedFunc(maps.Values(w.objects), byKey) {
		if err := p.addObject(object); err != nil {
			return err
		}
	}
	for _, number := range numbers {
		s := w.streams[number]
		raw := rawRecord{typ: TypeBookmark, stream: uint64(number)} //nolint:gosec // G115: positive
		if s.listed {
			raw.typ = TypeListEnd
		}
		if s.version != "" {
			raw.fields, raw.version = fieldVersion, []byte(s.version)
		}
		if s.listed || s.version != "" {
			p.add(&raw)
		}
	}
	p.end(segmentSnapshotEnd)
	w.sinceSnapshot, w.snapshotSize = 0, p.size
	return p.err
}

// snapshotWriter writes the segments of a snapshot. Its memory is that of one segment.
type snapshotWriter struct {
	w       *Writer
	records []byte
	count   uint32
	flags   uint16
	size    int64
	err     error
	// previous is the object before, with its bytes: the base of the next one. It is nil at first.
	previous    *writtenObject
	base, bytes []byte
	packed      []byte // buffer
}

func (p *snapshotWriter) addObject(object *writtenObject) error {
	r := &object.record
	var err error
	if p.bytes, err = p.w.unpack(p.bytes, object); err != nil {
		return err
	}
	if p.previous != nil && p.previous.record.Stream != r.Stream {
		p.previous = nil
	}
	raw := rawRecord{
		typ: r.Type, stream: uint64(r.Stream), time: micro(r.Time), //nolint:gosec // G115: positive
		fields: fieldIdentity | fieldPosition, id: object.id, number: uint64(r.Number), //nolint:gosec // G115: positive
		namespace: []byte(r.Namespace), name: []byte(r.Name), uid: []byte(r.UID),
	}
	raw.annotate(r)
	if p.previous == nil {
		p.w.encodeBytes(&raw, p.bytes, 0, nil)
	} else {
		p.w.encodeBytes(&raw, p.bytes, p.previous.id, p.base)
	}
	p.add(&raw)
	if !object.changed && !object.packed && len(p.bytes) >= minPacked {
		p.packed = p.w.compressor.EncodeAll(p.bytes, p.packed[:0])
		object.pack(p.packed, true)
	}
	object.changed = false
	if len(p.bytes) > 0 {
		p.previous = object
		p.base, p.bytes = p.bytes, p.base
	}
	return nil
}

func (p *snapshotWriter) add(raw *rawRecord) {
	p.w.body = raw.append(p.w.body[:0], 0)
	p.records = appendBytes(p.records, p.w.body)
	p.count++
	if len(p.records) >= p.w.segmentSize {
		p.end(0)
	}
}

// end writes a segment of the snapshot.
func (p *snapshotWriter) end(flags uint16) {
	w := p.w
	s := segment{
		flags: p.flags | flags | segmentSnapshot, count: p.count, first: w.stats.Records, begin: w.last, end: w.last,
	}
	if err := w.writeSegment(s, p.records); err != nil && p.err == nil {
		p.err = err
	}
	p.size += int64(len(p.records))
	p.flags, p.count, p.records = 0, 0, p.records[:0]
}
