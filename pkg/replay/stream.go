package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// StreamReader reads a recording in order, such as from a pipe. Its records stay valid. It may not be used
// concurrently.
type StreamReader struct {
	r       *bufio.Reader
	header  Header
	decoder *decoder
	cursor  cursor
	chain   segmentChain // without its segments
	offset  int64
	last    Record // number and time of the last record that was read
	err     error

	frame, records []byte // buffers
}

var _ Source = (*StreamReader)(nil)

// NewStreamReader returns a StreamReader that has read the header. The errors are those of Open.
func NewStreamReader(r io.Reader, o ReaderOptions) (*StreamReader, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	header, size, err := readHeader(buffered)
	if err != nil {
		return nil, fmt.Errorf("opening the recording: %w", err)
	}
	decoder, err := newDecoder(o.Limits.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("opening the recording: %w", err)
	}
	return &StreamReader{
		r: buffered, header: header, decoder: decoder, chain: segmentChain{next: size}, offset: size,
	}, nil
}

// Header implements Source.
func (s *StreamReader) Header() Header { return s.header }

// Next implements Source. Its error is a *TornError too if the recording is damaged. The record stays valid.
func (s *StreamReader) Next() (*Record, error) {
	for s.err == nil {
		record, err := s.step()
		switch {
		case errors.Is(err, io.EOF):
			s.err = err
		case isContent(err):
			s.err = &TornError{Records: s.last.Number, Last: s.last.Time, Offset: s.offset, Err: err}
		case err != nil:
			s.err = fmt.Errorf("reading the recording: %w", err)
		case record != nil:
			return record, nil
		}
	}
	return nil, s.err
}

// step returns the next record, or nil if it is of an unknown type or a frame was read instead.
func (s *StreamReader) step() (*Record, error) {
	if record, more, err := s.decoder.next(&s.cursor, &s.last); more || err != nil {
		return record, err
	}
	if s.chain.ended {
		return nil, io.EOF
	}
	s.offset = s.chain.next
	return nil, s.readFrame()
}

// readFrame reads the next skippable frame, and the records after it if it is a segment header.
func (s *StreamReader) readFrame() error {
	head, err := s.read(frameHead)
	if err != nil {
		return err
	}
	length, err := skippableLength(head)
	if err != nil {
		return err
	}
	if length < 4 {
		return s.discard(frameHead, length)
	}
	tag, err := s.r.Peek(4)
	if err != nil {
		return unexpected(err)
	}
	if string(tag) != tagSegment {
		return s.discard(frameHead, length)
	}
	if length > maxSegmentHead {
		return damaged("segment header of %d bytes", length)
	}
	payload, err := s.read(length)
	if err != nil {
		return err
	}
	header, err := parseSegment(payload, s.offset, &s.decoder.limits)
	if err != nil {
		return err
	}
	if err := s.chain.add(header); err != nil {
		return err
	}
	s.chain.segments = s.chain.segments[:0]
	if header.is(segmentSnapshot) {
		_, err := io.CopyN(io.Discard, s.r, int64(header.compressed))
		return unexpected(err)
	}
	compressed, err := s.read(int64(header.compressed))
	if err != nil {
		return err
	}
	if s.records, err = s.decoder.decompress(&header, compressed, s.records); err != nil {
		return err
	}
	s.cursor = newCursor(header, s.records)
	return nil
}

// discard skips a frame of an unknown kind, whose head was read.
func (s *StreamReader) discard(head, length int64) error {
	s.chain.next += head + length
	_, err := io.CopyN(io.Discard, s.r, length)
	return unexpected(err)
}

// read returns the next n bytes, which are valid until the next call. Its buffer grows as bytes arrive, as n may be a
// lie.
func (s *StreamReader) read(n int64) ([]byte, error) {
	const step = 1 << 20
	s.frame = s.frame[:0]
	for have := int64(0); have < n; have = int64(len(s.frame)) {
		part := min(n-have, step)
		s.frame = append(s.frame, make([]byte, part)...)
		if _, err := io.ReadFull(s.r, s.frame[have:]); err != nil {
			return nil, unexpected(err)
		}
	}
	return s.frame, nil
}

// unexpected returns io.ErrUnexpectedEOF for io.EOF.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
