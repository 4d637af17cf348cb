package replay

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// The index is the last frame of a recording that was ended in order: it has all segment headers once more, so that
// they are read at once. A recording without it is read by going from segment to segment. What it says is compared with
// a segment when that is read.

const (
	// indexEnd is what the index, and so the recording, ends with: checksum, offset of its frame, text.
	indexEnd     = 4 + 8 + len(indexEndText)
	indexEndText = "KRINDEX\n"
	// indexHead is what the index begins with: tag, size of an entry, number of entries.
	indexHead = 4 + 4 + 4
	// indexEntry is the size of an entry: offset of the segment, and its header.
	indexEntry = 8 + segmentHead
	// maxIndex is the size of the longest index that is written or read.
	maxIndex = 64 << 20
)

// appendIndex appends the index that is at an offset of the file. It appends nothing if it would be too long.
func appendIndex(dst []byte, segments []segment, offset int64) []byte {
	le := binary.LittleEndian
	size := indexHead + len(segments)*indexEntry + indexEnd
	if size > maxIndex {
		return dst
	}
	dst = le.AppendUint32(le.AppendUint32(dst, skippable), uint32(size))
	start := len(dst)
	dst = append(dst, tagIndex...)
	dst = le.AppendUint32(dst, indexEntry)
	dst = le.AppendUint32(dst, uint32(len(segments))) //nolint:gosec // G115: checked
	for i := range segments {
		dst = le.AppendUint64(dst, uint64(segments[i].offset)) //nolint:gosec // G115: positive
		dst = segments[i].appendPayload(dst)
	}
	dst = le.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli()))
	dst = le.AppendUint64(dst, uint64(offset)) //nolint:gosec // G115: positive
	return append(dst, indexEndText...)
}

// readIndex reads the index of a file whose first segment is at an offset. It returns nil if there is none that fits
// the file: then the segments themselves are read.
func readIndex(r io.ReaderAt, size, first int64, l *Limits) []segment {
	le := binary.LittleEndian
	end := make([]byte, indexEnd)
	if size < first+frameHead+indexHead+int64(indexEnd) || readAt(r, end, size-int64(indexEnd)) != nil {
		return nil
	}
	offset := int64(le.Uint64(end[4:])) //nolint:gosec // G115: checked below
	if string(end[12:]) != indexEndText || offset < first || size-offset > maxIndex+frameHead ||
		size-offset < frameHead+indexHead+int64(indexEnd) {
		return nil
	}
	frame := make([]byte, size-offset)
	if readAt(r, frame, offset) != nil {
		return nil
	}
	payload := frame[frameHead:]
	body := payload[:len(payload)-indexEnd]
	if le.Uint32(frame) != skippable || int64(le.Uint32(frame[4:])) != int64(len(payload)) ||
		string(body[:4]) != tagIndex || crc32.Checksum(body, castagnoli()) != le.Uint32(end) {
		return nil
	}
	entry, count := int64(le.Uint32(body[4:])), int64(le.Uint32(body[8:]))
	if entry < indexEntry || entry > maxSegmentHead+8 || count*entry != int64(len(body)-indexHead) {
		return nil
	}
	chain := segmentChain{next: first}
	for rest := body[indexHead:]; len(rest) > 0; rest = rest[entry:] {
		at := int64(le.Uint64(rest)) //nolint:gosec // G115: checked by the chain
		s, err := parseSegment(rest[8:entry], at, l)
		if err != nil || chain.add(s) != nil {
			return nil
		}
	}
	if chain.next > offset || !chain.ended {
		return nil
	}
	return chain.segments
}

// segmentChain are segments that follow each other without gaps, in the file and in the numbers of their records.
type segmentChain struct {
	segments []segment
	next     int64 // offset of the next segment
	last     int64 // number of the last record
	end      int64 // its time
	snapshot bool  // a snapshot has begun but not ended
	ended    bool
}

// add adds a segment, which must be the next one.
func (c *segmentChain) add(s segment) error {
	switch {
	case s.offset < c.next || c.ended: // frames of other kinds may be between
		return damaged("segment at a wrong place")
	case s.begin < c.end:
		return damaged("times of segments run back")
	case s.is(segmentSnapshot) && (s.first != c.last || c.snapshot == s.is(segmentSnapshotBegin) || s.is(segmentEnd)):
		return damaged("snapshot at a wrong place")
	case !s.is(segmentSnapshot) && (s.first != c.last+1 || c.snapshot):
		return damaged("records are missing between two segments")
	}
	if s.is(segmentSnapshot) {
		c.snapshot = !s.is(segmentSnapshotEnd)
	} else {
		c.last = s.last()
	}
	c.segments = append(c.segments, s)
	c.next += s.length()
	c.end = s.end
	c.ended = s.is(segmentEnd)
	return nil
}

// readAt fills the buffer from an offset.
func readAt(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
