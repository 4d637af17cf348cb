package cluster

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listStream reads a list in protobuf from a stream. It holds the bytes of one object at a time, so pages may be large: a
// server answers the first from memory, and may have to read the others from etcd, which takes it several times longer.
type listStream struct {
	in   *bufio.Reader
	at   uint64 // bytes that were read
	data bytes.Buffer
	page page
}

// page takes what a page holds, in whichever form it comes. An error of item or readJSON ends the reading.
type page interface {
	// begin takes the metadata of the list, which comes before the objects.
	begin(metav1.ListMeta)
	// item takes an object in protobuf, whose bytes are good until the next.
	item([]byte) error
	// readJSON takes all of it.
	readJSON(answer) error
}

// readPage reads an answer.
func (r *Reader) readPage(answer io.Reader, p page) error {
	in := bufio.NewReader(answer)
	if !startsProtobuf(in) {
		return r.whole(in, p.readJSON)
	}
	s := listStream{in: in, page: p}
	return s.read()
}

// startsProtobuf reports whether what follows is in protobuf, and takes the prefix away if it is.
func startsProtobuf(in *bufio.Reader) bool {
	prefix, err := in.Peek(len(protobufPrefix))
	if err != nil || string(prefix) != protobufPrefix {
		return false
	}
	_, err = in.Discard(len(prefix))
	return err == nil
}

// endless is the end of what ends with the stream.
const endless = math.MaxUint64

func (s *listStream) read() error {
	found := false
	err := s.message(endless, func(number, length uint64) error {
		if number != fieldOfUnknownRaw {
			return nil
		}
		found = true
		return s.message(s.at+length, s.field)
	})
	if err == nil && !found {
		return unreadable(errors.New("protobuf without a list"))
	}
	return err
}

// field reads a field of the list.
func (s *listStream) field(number, length uint64) error {
	if number != fieldOfListMeta && number != fieldOfListItems {
		return nil
	}
	s.data.Reset()
	if err := s.copy(&s.data, length); err != nil {
		return err
	}
	if number == fieldOfListItems {
		return s.page.item(s.data.Bytes())
	}
	var meta metav1.ListMeta
	if err := meta.Unmarshal(s.data.Bytes()); err != nil {
		return unreadable(err)
	}
	s.page.begin(meta)
	return nil
}

// message reads the fields of a message up to end, and skips of each what the function does not read.
func (s *listStream) message(end uint64, field func(number, length uint64) error) error {
	for s.at < end {
		if _, err := s.in.Peek(1); errors.Is(err, io.EOF) && end == endless {
			return nil
		}
		tag, err := s.varint()
		if err != nil {
			return err
		}
		length, err := s.length(tag & (1<<wireBits - 1))
		if err != nil {
			return err
		}
		if s.at > end || length > min(end-s.at, math.MaxInt64) {
			return unreadable(errors.New("protobuf with a field longer than its message"))
		}
		next := s.at + length
		if tag&(1<<wireBits-1) == wireLength {
			if err := field(tag>>wireBits, length); err != nil {
				return err
			}
		}
		if err := s.copy(io.Discard, next-s.at); err != nil {
			return err
		}
	}
	return nil
}

// length is how many bytes of a field are still to come. A varint is read.
func (s *listStream) length(kind uint64) (uint64, error) {
	switch kind {
	case wireEight:
		return 8, nil
	case wireFour:
		return 4, nil
	case wireVarint:
		_, err := s.varint()
		return 0, err
	case wireLength:
		return s.varint()
	}
	return 0, unreadable(fmt.Errorf("protobuf with a field of type %d", kind))
}

func (s *listStream) copy(to io.Writer, length uint64) error {
	n, err := io.CopyN(to, s.in, int64(length)) //nolint:gosec // G115: message sees to it
	s.at += uint64(n)                           //nolint:gosec // G115: it is not negative
	return truncated(err)
}

// varint reads a number.
func (s *listStream) varint() (uint64, error) {
	bytes, peeked := s.in.Peek(binary.MaxVarintLen64)
	n, size := binary.Uvarint(bytes)
	switch {
	case size == 0 && peeked != nil:
		return 0, truncated(peeked)
	case size <= 0:
		return 0, unreadable(errors.New("protobuf with a number that does not end"))
	}
	discarded, err := s.in.Discard(size)
	s.at += uint64(discarded) //nolint:gosec // G115: it is not negative
	return n, truncated(err)
}

// truncated says of the end of a stream that it came too early. Other errors are of the connection.
func truncated(err error) error {
	if errors.Is(err, io.EOF) {
		return unreadable(io.ErrUnexpectedEOF)
	}
	return err
}

func unreadable(err error) error { return fmt.Errorf("%w: %w", errUnreadable, err) }
