package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
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
		if n := snapshot.VersionNumber(r.ResourceVersion); n != 0 {
			s.version = max(s.version, n)
		} else {
			s.flags |= segmentVersions
		}
	}
}

// encode sets all of raw but its time.
func (w *Writer) encode(raw *rawRecord, r *Record) error {
	raw.annotate(r)
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

// minPacked is the size of objects that are worth compressing.
const minPacked = 256

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
