package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sort"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Sink takes records, in the order in which they arrived.
type Sink interface {
	// Write adds a record, and sets its Number and its Time as they will be read. It does not keep the record.
	Write(*Record) error
}

// WriterOptions are the options of a Writer. The zero value has the defaults.
type WriterOptions struct {
	// Limits are those of what is written. A Reader with other limits than these may refuse it.
	Limits Limits
	// SegmentSize is after how many bytes of records a segment ends without Flush: 1 MB by default.
	SegmentSize int
	// SnapshotEvery is after how many bytes of records the state is written again, so that reading can begin there: 4
	// MB by default. It is more if the state is larger, which bounds snapshots to half of the recording.
	SnapshotEvery int
}

// Stats are figures of a Writer.
type Stats struct {
	// Records is the number of records, and Events that of the watch events among them.
	Records, Events int64
	// Objects is the number of objects that are not deleted.
	Objects int
	// Written is the number of bytes written, and Uncompressed that of the objects in them as the server sent them.
	Written, Uncompressed int64
	// Unflushed is the number of records that are not in the file yet.
	Unflushed int64
}

// Writer writes a recording. Its methods may be called concurrently: Write from one goroutine, and Flush from another
// one that has a ticker, such as every half second. The order of records is that of the calls of Write. After an error
// of the underlying writer, all methods return it.
type Writer struct {
	limits        Limits
	segmentSize   int
	snapshotEvery int64
	compressor    *zstd.Encoder
	decompressor  *zstd.Decoder

	mu      sync.Mutex
	w       io.Writer
	err     error
	stats   Stats
	last    int64 // time of the last record
	ended   bool  // TypeEnd was written
	closed  bool
	streams map[int]*writtenStream
	objects map[Key]*writtenObject
	nextID  uint64

	open     segment // the segment that records are added to
	records  []byte  // its records
	segments []segment
	// sinceSnapshot is how many bytes of records were written since the last snapshot, which had snapshotSize.
	sinceSnapshot, snapshotSize int64

	differ                         differ
	delta, made, body, frame, base []byte // buffers
}

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

// NewWriter returns a Writer that appends to w, which must be empty, and writes the header. It does not close w.
func NewWriter(w io.Writer, h Header, o WriterOptions) (*Writer, error) {
	compressor, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, err
	}
	setDefault(&o.SegmentSize, 1<<20)
	setDefault(&o.SnapshotEvery, 4<<20)
	decompressor, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	out := &Writer{
		limits: o.Limits.withDefaults(), segmentSize: o.SegmentSize, snapshotEvery: int64(o.SnapshotEvery),
		compressor: compressor, decompressor: decompressor, w: w,
		streams: map[int]*writtenStream{}, objects: map[Key]*writtenObject{},
	}
	h.Version = FormatVersion
	head, err := appendHeader(nil, &h)
	if err != nil {
		return nil, fmt.Errorf("encoding the header: %w", err)
	}
	return out, out.write(head)
}

// write writes to the underlying writer.
func (w *Writer) write(b []byte) error {
	if w.err != nil {
		return w.err
	}
	n, err := w.w.Write(b)
	w.stats.Written += int64(n)
	if err != nil {
		w.err = fmt.Errorf("writing the recording: %w", err)
	}
	return w.err
}

// Write implements Sink. It refuses records of unknown types or streams, and such as are over the limits: they are not
// written, and the next ones can be. A time before that of the last record is raised to it. The record is in the file
// after the next Flush.
func (w *Writer) Write(r *Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case w.closed || w.ended:
		return errors.New("writing a record: the recording has ended")
	}
	if err := w.check(r); err != nil {
		return fmt.Errorf("writing a record: %w", err)
	}
	if len(w.records) == 0 && w.sinceSnapshot > max(w.snapshotEvery, w.snapshotSize) {
		if err := w.snapshot(); err != nil {
			return err
		}
	}
	return w.add(r)
}

// check reports why a record cannot be written.
func (w *Writer) check(r *Record) error {
	l := &w.limits
	if r.Type.String() == "" {
		return fmt.Errorf("unknown type %d", r.Type)
	}
	if n := int64(len(r.Object)); n > l.Record {
		return &LimitError{What: "object", Size: n, Limit: l.Record}
	}
	for _, s := range []string{r.Namespace, r.Name, r.UID, r.ResourceVersion, r.Message} {
		if len(s) > l.String {
			return &LimitError{What: "string", Size: int64(len(s)), Limit: int64(l.String)}
		}
	}
	known := w.streams[r.Stream] != nil
	switch {
	case r.Type == TypeStream && (r.NewStream == nil || r.NewStream.Number != r.Stream || r.Stream <= 0):
		return fmt.Errorf("stream %d without its definition", r.Stream)
	case r.Type == TypeStream && known:
		return fmt.Errorf("stream %d is defined already", r.Stream)
	case r.Type == TypeStream && len(w.streams) >= l.Streams:
		return &LimitError{What: "number of streams", Size: int64(len(w.streams)) + 1, Limit: int64(l.Streams)}
	case r.Type == TypeGap && r.Gap == nil:
		return errors.New("gap without its description")
	case r.Type != TypeStream && !known && (r.Stream != 0 || r.Type.HasObject()):
		return fmt.Errorf("stream %d is not defined", r.Stream)
	case r.Type.HasObject() && r.Name == "":
		return errors.New("object without a name")
	}
	return nil
}

// add adds a record that was checked to the open segment, and ends it if it is large enough.
func (w *Writer) add(r *Record) error {
	raw := rawRecord{typ: r.Type, stream: uint64(r.Stream)} //nolint:gosec // G115: not negative, see check
	if err := w.encode(&raw, r); err != nil {
		return err
	}
	raw.time = max(micro(r.Time), w.last)
	r.Time = fromMicro(raw.time)
	w.last = raw.time
	w.stats.Records++
	w.stats.Uncompressed += int64(len(r.Object))
	r.Number = w.stats.Records

	s := &w.open
	if s.count == 0 {
		*s = segment{first: r.Number, begin: raw.time, end: raw.time}
	}
	w.body = raw.append(w.body[:0], s.end)
	w.records = appendBytes(w.records, w.body)
	s.count++
	s.end = raw.time
	w.describe(s, r)
	w.know(r, &raw)
	w.stats.Unflushed = int64(s.count)
	if len(w.records) >= w.segmentSize {
		return w.flush()
	}
	return nil
}

// describe adds to the header of a segment what it says about a record.
func (w *Writer) describe(s *segment, r *Record) {
	switch {
	case r.Type.isEvent():
		s.events++
		w.stats.Events++
	case r.Type == TypeStream || r.Type == TypeGap:
		s.flags |= segmentInfo
	case r.Type == TypeEnd:
		s.flags |= segmentEnd
		w.ended = true
	}
	if r.hasVersion() {
		if n, ok := numericVersion(r.ResourceVersion); ok {
			s.version = max(s.version, n)
		} else {
			s.flags |= segmentVersions
		}
	}
}

// encode sets all of raw but its time.
func (w *Writer) encode(raw *rawRecord, r *Record) error {
	if r.Relisted {
		raw.fields |= fieldRelisted
	}
	if r.ResourceVersion != "" {
		raw.fields |= fieldVersion
		raw.version = []byte(r.ResourceVersion)
	}
	if r.Message != "" {
		raw.fields |= fieldMessage
		raw.message = []byte(r.Message)
	}
	var payload any
	switch r.Type {
	case TypeStream:
		payload = r.NewStream
	case TypeGap:
		payload = r.Gap
	case TypeListItem, TypeAdded, TypeModified, TypeDeleted:
		return w.encodeObject(raw, r)
	case TypeListBegin, TypeListEnd, TypeBookmark, TypeError, TypeTrace, TypeAlive, TypeEnd:
		if len(r.Object) > 0 {
			raw.fields |= fieldWhole
			raw.data = r.Object
		}
		return nil
	}
	var err error
	raw.json, err = json.Marshal(payload)
	if err == nil && len(raw.json) > w.limits.String {
		err = &LimitError{What: "stream or gap", Size: int64(len(raw.json)), Limit: int64(w.limits.String)}
	}
	if err != nil {
		return fmt.Errorf("encoding a record: %w", err)
	}
	raw.fields |= fieldPayload
	return nil
}

// encodeObject sets what identifies an object and its bytes, as a delta if that is shorter.
func (w *Writer) encodeObject(raw *rawRecord, r *Record) error {
	object := w.objects[r.Key()]
	if object == nil {
		w.nextID++
		raw.id = w.nextID
	} else {
		raw.id = object.id
	}
	if object == nil || object.record.UID != r.UID {
		raw.fields |= fieldIdentity
		raw.namespace, raw.name, raw.uid = []byte(r.Namespace), []byte(r.Name), []byte(r.UID)
	} else {
		raw.fields |= fieldObject
	}
	base := object
	if base == nil || len(base.object) == 0 {
		base = w.streams[r.Stream].similar(r.Name)
	}
	if base == nil {
		w.encodeBytes(raw, r.Object, 0, nil)
		return nil
	}
	bytes := base.object
	if base.packed {
		var err error
		if w.base, err = w.unpack(w.base, base); err != nil {
			return err
		}
		bytes = w.base
	}
	w.encodeBytes(raw, r.Object, base.id, bytes)
	return nil
}

// encodeBytes sets the bytes of an object, as a delta to those of another one if that is shorter; base may be empty.
func (w *Writer) encodeBytes(raw *rawRecord, object []byte, id uint64, base []byte) {
	if len(object) == 0 {
		return
	}
	raw.fields |= fieldWhole
	raw.data = object
	if len(base) == 0 {
		return
	}
	w.delta = w.differ.appendDelta(w.delta[:0], base, object)
	if len(w.delta) >= len(object) {
		return
	}
	// A delta that does not make what it should would lose the object for good: so it is tried before.
	made, err := applyDelta(w.made, w.delta, base, w.limits.Record)
	if err != nil || !bytes.Equal(made, object) {
		return
	}
	w.made = made
	raw.fields = raw.fields&^fieldWhole | fieldDelta
	raw.base, raw.data = id, w.delta
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

// Flush ends the open segment: all that was written is readable in the file afterwards. It does nothing if nothing was
// written since the last Flush.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

func (w *Writer) flush() error {
	if w.err != nil || len(w.records) == 0 {
		return w.err
	}
	err := w.writeSegment(w.open, w.records)
	w.sinceSnapshot += int64(len(w.records))
	w.records = w.records[:0]
	w.open = segment{}
	w.stats.Unflushed = 0
	return err
}

// writeSegment compresses records and writes them with their header.
func (w *Writer) writeSegment(s segment, records []byte) error {
	s.offset, s.head = w.stats.Written, frameHead+segmentHead
	out := append(w.frame[:0], make([]byte, s.head)...)
	out = w.compressor.EncodeAll(records, out)
	s.size, s.compressed = uint32(len(records)), uint32(len(out))-uint32(s.head) //nolint:gosec // G115: below 4 GB
	s.sum = crc32.Checksum(out[s.head:], castagnoli())
	s.append(out[:0])
	w.frame = out
	w.segments = append(w.segments, s)
	return w.write(out)
}

// snapshot writes all streams and objects, so that reading can begin after it. Only between segments.
func (w *Writer) snapshot() error {
	p := &snapshotWriter{w: w, flags: segmentSnapshotBegin}
	numbers := make([]int, 0, len(w.streams))
	for number := range w.streams {
		numbers = append(numbers, number)
	}
	sort.Ints(numbers)
	for _, number := range numbers {
		p.add(&rawRecord{
			typ: TypeStream, stream: uint64(number), //nolint:gosec // G115: positive
			fields: fieldPayload, json: w.streams[number].json,
		})
	}
	objects := make([]*writtenObject, 0, len(w.objects))
	for _, object := range w.objects {
		objects = append(objects, object)
	}
	sort.Slice(objects, func(i, j int) bool {
		return objects[i].record.Key().Compare(objects[j].record.Key()) < 0
	})
	for _, object := range objects {
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

// minPacked is the size of objects that are worth compressing.
const minPacked = 256

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
	if r.Relisted {
		raw.fields |= fieldRelisted
	}
	if r.ResourceVersion != "" {
		raw.fields |= fieldVersion
		raw.version = []byte(r.ResourceVersion)
	}
	if r.Message != "" {
		raw.fields |= fieldMessage
		raw.message = []byte(r.Message)
	}
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

// Stats returns the figures of what was written so far.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// Close writes the end of the recording, if no TypeEnd was written, and the index. It does not close the underlying
// writer. Calls after the first one do nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.err
	}
	w.closed = true
	if w.err == nil && !w.ended {
		if err := w.add(&Record{Type: TypeEnd}); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	return w.write(appendIndex(nil, w.segments, w.stats.Written))
}
