package replay

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// ReaderOptions are the options of a Reader. The zero value has the defaults.
type ReaderOptions struct {
	Limits Limits
	// NoIndex makes the Reader go through all segments instead of reading the index.
	NoIndex bool
}

// Reader reads a recording in a file. Its records stay valid, and their Objects too. Its memory is that of the objects
// that are known at a moment and of one segment. It may not be used concurrently; several Readers of one file may.
type Reader struct {
	r        io.ReaderAt
	size     int64
	limits   Limits
	header   Header
	segments []segment
	torn     *TornError // what follows the segments; nil after a TypeEnd
	info     *Info      // nil until it is asked for

	decoder *decoder
	next    int // index of the segment that is read next
	cursor  cursor
	pending *Record // was read, and is returned by Next again
	err     error   // what Next returns from now on
	last    Record  // number and time of the last record that was read, of an unknown type too

	compressed, records []byte // buffers
}

var _ Recording = (*Reader)(nil)

// Open returns a Reader for a recording of size bytes. The error is a *NotRecordingError if it is none, a *VersionError
// if it is too new, and a *TornError if it ends in its header. A recording that is cut off later is opened: the
// *TornError comes from Next after the last record, and is in Info.
func Open(r io.ReaderAt, size int64, o ReaderOptions) (*Reader, error) {
	out := &Reader{r: r, size: size, limits: o.Limits.withDefaults()}
	header, first, err := readHeader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, fmt.Errorf("opening the recording: %w", err)
	}
	out.header = header
	if out.decoder, err = newDecoder(out.limits); err != nil {
		return nil, fmt.Errorf("opening the recording: %w", err)
	}
	if !o.NoIndex {
		out.segments = out.indexed(first)
	}
	if out.segments == nil {
		if err := out.scan(first); err != nil {
			return nil, fmt.Errorf("opening the recording: %w", err)
		}
	}
	return out, out.Rewind()
}

// indexed returns the segments that the index has, if there is one and its last entry is true.
func (r *Reader) indexed(first int64) []segment {
	segments := readIndex(r.r, r.size, first, &r.limits)
	if len(segments) == 0 || r.check(&segments[len(segments)-1]) != nil {
		return nil
	}
	return segments
}

// check reports whether a segment's header in the file is the one that the index had.
func (r *Reader) check(s *segment) error {
	head := make([]byte, s.head)
	if err := readAt(r.r, head, s.offset); err != nil {
		return err
	}
	return r.checkHead(s, head)
}

func (r *Reader) checkHead(s *segment, head []byte) error {
	le := binary.LittleEndian
	if le.Uint32(head) != skippable || int64(le.Uint32(head[4:])) != s.head-frameHead {
		return damaged("index that does not fit the recording")
	}
	found, err := parseSegment(head[frameHead:], s.offset, &r.limits)
	if err != nil {
		return err
	}
	if found != *s {
		return damaged("index that does not fit the recording")
	}
	return nil
}

// scan goes from segment to segment until the end of the recording, or of what can be read of it. The error is one of
// reading the file.
func (r *Reader) scan(first int64) error {
	chain := segmentChain{next: first}
	head := make([]byte, frameHead+segmentHead)
	at := first
	for !chain.ended {
		s, next, err := r.scanFrame(at, head)
		if err == nil && s.head != 0 {
			err = chain.add(s)
		}
		if err == nil {
			at = next
			continue
		}
		if !isContent(err) {
			return err
		}
		r.torn = &TornError{Records: chain.last, Last: fromMicro(chain.end), Offset: at, Err: err}
		break
	}
	r.segments = chain.segments
	return nil
}

// scanFrame reads the segment header at an offset, and returns where the next frame begins. The head of the segment is
// 0 if the frame is of a kind that is not known.
func (r *Reader) scanFrame(at int64, head []byte) (segment, int64, error) {
	n := int(min(int64(len(head)), r.size-at))
	if n < frameHead {
		return segment{}, 0, io.ErrUnexpectedEOF
	}
	if err := readAt(r.r, head[:n], at); err != nil {
		return segment{}, 0, err
	}
	payload, err := skippableLength(head)
	if err != nil {
		return segment{}, 0, err
	}
	end := at + frameHead + payload
	if end > r.size {
		return segment{}, 0, io.ErrUnexpectedEOF
	}
	if payload < 4 || string(head[frameHead:frameHead+4]) != tagSegment {
		return segment{}, end, nil
	}
	if payload > maxSegmentHead {
		return segment{}, 0, damaged("segment header of %d bytes", payload)
	}
	full := head[frameHead:]
	if payload != int64(len(full)) {
		full = make([]byte, payload)
		if err := readAt(r.r, full, at+frameHead); err != nil {
			return segment{}, 0, err
		}
	}
	s, err := parseSegment(full, at, &r.limits)
	if err != nil {
		return segment{}, 0, err
	}
	if at+s.length() > r.size {
		return segment{}, 0, io.ErrUnexpectedEOF
	}
	return s, at + s.length(), nil
}

// skippableLength returns the length of what is in the skippable frame that begins with head.
func skippableLength(head []byte) (int64, error) {
	if magic := binary.LittleEndian.Uint32(head); magic&^0xF != skippable {
		return 0, damaged("no frame begins here")
	}
	return int64(binary.LittleEndian.Uint32(head[4:])), nil
}

// isContent reports whether an error is one of the content of a recording, not of reading it.
func isContent(err error) bool {
	var limit *LimitError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errDamaged) || errors.As(err, &limit)
}

// Header implements Source.
func (r *Reader) Header() Header { return r.header }

// Rewind implements Recording.
func (r *Reader) Rewind() error {
	r.decoder.reset()
	r.next, r.cursor, r.pending, r.err = 0, cursor{}, nil, nil
	r.last = Record{}
	return nil
}

// Next implements Source. Its error is a *TornError too if the recording is damaged. The record stays valid.
func (r *Reader) Next() (*Record, error) {
	if record := r.pending; record != nil {
		r.pending = nil
		return record, nil
	}
	for r.err == nil {
		record, err := r.step()
		if err != nil {
			r.err = r.stopped(err)
		} else if record != nil {
			return record, nil
		}
	}
	return nil, r.err
}

// step returns the next record, or nil if it is of an unknown type or a segment was read instead.
func (r *Reader) step() (*Record, error) {
	if record, more, err := r.decoder.next(&r.cursor, &r.last); more || err != nil {
		return record, err
	}
	for r.next < len(r.segments) && r.segments[r.next].is(segmentSnapshot) {
		r.next++
	}
	if r.next == len(r.segments) {
		if r.torn != nil {
			return nil, r.torn
		}
		return nil, io.EOF
	}
	r.next++
	return nil, r.load(r.next - 1)
}

// stopped returns what Next returns because of an error.
func (r *Reader) stopped(err error) error {
	var torn *TornError
	if errors.Is(err, io.EOF) || errors.As(err, &torn) {
		return err
	}
	offset := r.size
	if r.next > 0 {
		offset = r.segments[r.next-1].offset
	}
	return &TornError{Records: r.last.Number, Last: r.last.Time, Offset: offset, Err: err}
}

// load makes the cursor yield the records of a segment.
func (r *Reader) load(i int) error {
	s := &r.segments[i]
	r.cursor = cursor{}
	if n := int(s.length()); cap(r.compressed) < n {
		r.compressed = make([]byte, n)
	}
	r.compressed = r.compressed[:s.length()]
	if err := readAt(r.r, r.compressed, s.offset); err != nil {
		return err
	}
	if err := r.checkHead(s, r.compressed[:s.head]); err != nil {
		return err
	}
	records, err := r.decoder.decompress(s, r.compressed[s.head:], r.records)
	if err != nil {
		return err
	}
	r.records = records
	r.cursor = newCursor(*s, records)
	return nil
}

// Info implements Recording.
func (r *Reader) Info() (Info, error) {
	if r.info != nil {
		return *r.info, nil
	}
	info := Info{Header: r.header, Torn: r.torn}
	decoder, err := newDecoder(r.limits)
	if err != nil {
		return Info{}, err
	}
	for i := range r.segments {
		s := &r.segments[i]
		if s.is(segmentSnapshot) {
			continue
		}
		if info.Records == 0 {
			info.First = fromMicro(s.begin)
		}
		info.Records, info.Last = s.last(), fromMicro(s.end)
		info.Events += int64(s.events)
		if !s.is(segmentInfo) {
			continue
		}
		if err := r.describe(&info, s, decoder); err != nil {
			return Info{}, fmt.Errorf("reading the segment at byte %d: %w", s.offset, err)
		}
	}
	slices.SortStableFunc(info.Streams, func(a, b Stream) int { return cmp.Compare(a.Number, b.Number) })
	r.info = &info
	return info, nil
}

// describe adds the streams and gaps of a segment.
func (r *Reader) describe(info *Info, s *segment, d *decoder) error {
	frame := make([]byte, s.length())
	if err := readAt(r.r, frame, s.offset); err != nil {
		return err
	}
	if err := r.checkHead(s, frame[:s.head]); err != nil {
		return err
	}
	records, err := d.decompress(s, frame[s.head:], nil)
	if err != nil {
		return err
	}
	c := newCursor(*s, records)
	var raw rawRecord
	for {
		more, err := c.next(&raw, &r.limits)
		if err != nil || !more {
			return err
		}
		if raw.typ != TypeStream && raw.typ != TypeGap {
			continue
		}
		record, err := d.record(&raw)
		if err != nil {
			return err
		}
		info.add(record)
		if len(info.Gaps) > r.limits.Gaps {
			return &LimitError{What: "number of gaps", Size: int64(len(info.Gaps)), Limit: int64(r.limits.Gaps)}
		}
	}
}

// File is a Reader of a file that it has opened.
type File struct {
	*Reader
	file *os.File
}

// OpenFile opens the recording in a file, which must be a regular one: see Open for the errors. The caller closes it.
func OpenFile(path string, o ReaderOptions) (*File, error) {
	file, err := os.Open(path) //nolint:gosec // G304: the path is what the caller asks for
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("opening %q: not a regular file", path)
	}
	if err == nil {
		var reader *Reader
		if reader, err = Open(file, info.Size(), o); err == nil {
			return &File{Reader: reader, file: file}, nil
		}
		err = fmt.Errorf("opening %q: %w", path, errors.Unwrap(err))
	}
	return nil, errors.Join(err, file.Close())
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }
