package replay

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A recording is a sequence of zstd frames. Those with records are zstd's own, all else is in skippable frames, which
// begin with skippable and their length: a file header, a segment header before each frame of records, and the index.
// All numbers are little endian.

const (
	// magic is what a recording begins with, after the head of its first skippable frame.
	magic     = "kubectl-reconcile recording\n"
	skippable = 0x184D2A50
	// frameHead is the size of what a skippable frame begins with.
	frameHead = 8
	// tagSegment and tagIndex tell what a skippable frame has. Frames with other tags are skipped.
	tagSegment = "krsg"
	tagIndex   = "krix"
	// segmentHead is the size of a segment header of this version. Those of later versions may be longer.
	segmentHead = 64
	// maxSegmentHead is the size of the longest segment header that is accepted.
	maxSegmentHead = 1024
	// maxHeader is the size of the longest file header that is accepted.
	maxHeader = 1 << 20
)

// The flags of a segment. Their numbers are part of the format.
const (
	// segmentSnapshot is set if the segment has no records but objects and streams as they were after record first.
	segmentSnapshot uint16 = 1 << iota
	// segmentSnapshotBegin and segmentSnapshotEnd are set for the first and the last of the segments of one snapshot.
	segmentSnapshotBegin
	segmentSnapshotEnd
	// segmentInfo is set if there are records of TypeStream or TypeGap.
	segmentInfo
	// segmentVersions is set if there are resource versions that do not fit in 64 bits, or are no numbers.
	segmentVersions
	// segmentEnd is set if there is a TypeEnd.
	segmentEnd
)

// segment is the header of a segment, and where it is.
type segment struct {
	offset int64 // of the skippable frame with the header
	head   int64 // length of that frame
	flags  uint16
	// compressed is the length of the frame with records, which follows, sum its CRC-32C, and size that of the records.
	compressed, size, sum uint32
	// count is the number of records, and events how many of them are watch events of objects.
	count, events uint32
	// first is the number of the first record, of a snapshot that of the last record before it.
	first int64
	// begin and end are the times of the first and the last record, in microseconds since 1970; 0 if there are none.
	begin, end int64
	// version is the newest resource version of lists, events and bookmarks; 0 if there is none.
	version uint64
}

// last returns the number of the last record.
func (s *segment) last() int64 { return s.first + int64(s.count) - 1 }

// is reports whether one of the flags is set.
func (s *segment) is(flags uint16) bool { return s.flags&flags != 0 }

// length returns the length of header and records in the file.
func (s *segment) length() int64 { return s.head + int64(s.compressed) }

// append appends the header, with the skippable frame around it.
func (s *segment) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, skippable)
	dst = binary.LittleEndian.AppendUint32(dst, segmentHead)
	return s.appendPayload(dst)
}

func (s *segment) appendPayload(dst []byte) []byte {
	le, start := binary.LittleEndian, len(dst)
	dst = append(dst, tagSegment...)
	dst = le.AppendUint16(dst, FormatVersion)
	dst = le.AppendUint16(dst, s.flags)
	for _, n := range []uint32{s.compressed, s.size, s.sum, s.count, s.events} {
		dst = le.AppendUint32(dst, n)
	}
	//nolint:gosec // G115: kept as they are, and checked by parse
	for _, n := range []uint64{uint64(s.first), uint64(s.begin), uint64(s.end), s.version} {
		dst = le.AppendUint64(dst, n)
	}
	return le.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli()))
}

// parseSegment parses the payload of the skippable frame at an offset. It checks all that can be without the records.
func parseSegment(payload []byte, offset int64, l *Limits) (segment, error) {
	le := binary.LittleEndian
	if len(payload) < segmentHead || len(payload) > maxSegmentHead || string(payload[:4]) != tagSegment {
		return segment{}, damaged("not a segment header")
	}
	body := len(payload) - 4
	if crc32.Checksum(payload[:body], castagnoli()) != le.Uint32(payload[body:]) {
		return segment{}, damaged("wrong checksum of a segment header")
	}
	s := segment{
		offset: offset, head: frameHead + int64(len(payload)), flags: le.Uint16(payload[6:]),
		compressed: le.Uint32(payload[8:]), size: le.Uint32(payload[12:]), sum: le.Uint32(payload[16:]),
		count: le.Uint32(payload[20:]), events: le.Uint32(payload[24:]), version: le.Uint64(payload[52:]),
	}
	s.first = int64(le.Uint64(payload[28:])) //nolint:gosec // G115: checked below
	s.begin = int64(le.Uint64(payload[36:])) //nolint:gosec // G115: checked below
	s.end = int64(le.Uint64(payload[44:]))   //nolint:gosec // G115: checked below
	switch {
	case s.first < 0 || s.first > math.MaxInt64/2 || s.begin < 0 || s.end < s.begin || s.events > s.count:
		return segment{}, damaged("impossible numbers in a segment header")
	case !s.is(segmentSnapshot) && (s.first == 0 || s.count == 0 || s.is(segmentSnapshotBegin|segmentSnapshotEnd)):
		return segment{}, damaged("segment without records")
	case int64(s.size) > l.Segment:
		return segment{}, &LimitError{What: "segment", Size: int64(s.size), Limit: l.Segment}
	case int64(s.compressed) > l.Segment+l.Segment/8+1024: // what cannot be compressed becomes a little longer
		return segment{}, &LimitError{What: "compressed segment", Size: int64(s.compressed), Limit: l.Segment}
	}
	return s, nil
}

// castagnoli returns the table of CRC-32C, which the package hash/crc32 makes once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// appendHeader appends the file header, with the skippable frame around it.
func appendHeader(dst []byte, h *Header) ([]byte, error) {
	le := binary.LittleEndian
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	size := len(magic) + 4 + len(text) + 4
	if size > maxHeader {
		return nil, &LimitError{What: "header", Size: int64(size), Limit: maxHeader}
	}
	dst = le.AppendUint32(le.AppendUint32(dst, skippable), uint32(size))
	start := len(dst)
	dst = append(dst, magic...)
	dst = append(le.AppendUint32(dst, FormatVersion), text...)
	return le.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli())), nil
}

// readHeader reads the file header, and returns how long it is in the file.
func readHeader(r io.Reader) (Header, int64, error) {
	le := binary.LittleEndian
	begin := make([]byte, frameHead+len(magic)+4)
	n, err := io.ReadFull(r, begin)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return Header{}, 0, &NotRecordingError{Looks: "empty"}
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return Header{}, 0, err
	case !beginsRecording(begin[:n]):
		return Header{}, 0, &NotRecordingError{Looks: looksLike(begin[:n])}
	case err != nil:
		return Header{}, 0, &TornError{Err: io.ErrUnexpectedEOF}
	}
	if version := le.Uint32(begin[len(begin)-4:]); version > FormatVersion {
		return Header{}, 0, &VersionError{Version: int(version), Supported: FormatVersion}
	}
	size := int64(le.Uint32(begin[4:]))
	if size > maxHeader {
		return Header{}, 0, &LimitError{What: "header", Size: size, Limit: maxHeader}
	}
	rest := size - int64(len(begin)-frameHead)
	if rest < 4 {
		return Header{}, 0, &TornError{Err: damaged("file header is too short")}
	}
	frame := make([]byte, int64(len(begin))+rest)
	copy(frame, begin)
	if _, err := io.ReadFull(r, frame[len(begin):]); err != nil {
		if err = unexpected(err); errors.Is(err, io.ErrUnexpectedEOF) {
			err = &TornError{Err: err}
		}
		return Header{}, 0, err
	}
	body := frame[frameHead : len(frame)-4]
	if crc32.Checksum(body, castagnoli()) != le.Uint32(frame[len(frame)-4:]) {
		return Header{}, 0, &TornError{Err: damaged("wrong checksum of the file header")}
	}
	var h Header
	if err := json.Unmarshal(body[len(magic)+4:], &h); err != nil {
		return Header{}, 0, &TornError{Err: damaged("file header: %v", err)}
	}
	if h.Version > FormatVersion {
		return Header{}, 0, &VersionError{Version: h.Version, Supported: FormatVersion}
	}
	return h, int64(len(frame)), nil
}

// beginsRecording reports whether bytes are what a recording begins with, as far as they go.
func beginsRecording(b []byte) bool {
	begin := binary.LittleEndian.AppendUint32(nil, skippable)
	if n := min(len(b), 4); !bytes.Equal(b[:n], begin[:n]) {
		return false
	}
	if len(b) <= frameHead {
		return true
	}
	n := min(len(b)-frameHead, len(magic))
	return string(b[frameHead:frameHead+n]) == magic[:n]
}

// IsRecording reports whether a file that begins with these bytes is a recording. From 36 bytes on it is certain;
// fewer, down to 4, are looked at as far as they go, and less than 4 are none.
func IsRecording(begin []byte) bool { return len(begin) >= 4 && beginsRecording(begin) }

// looksLike says what a file is that begins with the bytes: see NotRecordingError.
func looksLike(b []byte) string {
	for _, known := range []struct{ begin, name string }{
		{"\x1f\x8b", "gzip"}, {"\x28\xb5\x2f\xfd", "zstd"}, {"\x50\x2a\x4d\x18", "zstd"},
		{"age-encryption.org/", "age"}, {"-----BEGIN AGE", "age"},
		{"apiVersion:", "YAML"}, {"---", "YAML"}, {"kind:", "YAML"},
	} {
		if bytes.HasPrefix(b, []byte(known.begin)) {
			return known.name
		}
	}
	if text := bytes.TrimLeft(b, " \t\r\n"); len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		return "JSON"
	}
	return ""
}

// micro returns a time as it is in the file: 0 for none.
func micro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.UnixMicro(), 1)
}

// fromMicro is the inverse of micro.
func fromMicro(t int64) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMicro(t).UTC()
}

// newDecompressor returns a decoder that makes at most the size of a segment.
func newDecompressor(l *Limits) (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(uint64(l.Segment)), //nolint:gosec // G115: positive
		zstd.WithDecodeAllCapLimit(true))
}
