package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listStream reads a list in protobuf from a stream. It holds the bytes of one object at a time, so pages may be
// large: a server answers the first from memory, and may have to read the others from etcd, which takes it several
// times longer.
type listStream struct {
	in      *bufio.Reader
	offset  uint64 // bytes read so far
	data    bytes.Buffer
	items   int // read so far
	left    *unusable
	decoder pageDecoder
}

// pageDecoder receives the content of a page, in protobuf or JSON. An error of item or readJSON ends the reading and
// is returned, but an object that cannot be decoded is left out.
type pageDecoder interface {
	// begin is called with the metadata of the list, before the objects.
	begin(metav1.ListMeta)
	// item is called with an object in protobuf, whose bytes are valid only during the call.
	item([]byte) error
	// readJSON is called with the whole page instead, if it is not in protobuf.
	readJSON(context.Context, answer, *unusable) error
}

// readPage reads a page and passes its content to p, until ctx ends. What cannot be decoded is counted in left.
func (r *Reader) readPage(ctx context.Context, page io.Reader, p pageDecoder, left *unusable) error {
	in := bufio.NewReader(page)
	if !startsProtobuf(in) {
		return r.readAll(in, func(a answer) error { return p.readJSON(ctx, a, left) })
	}
	s := listStream{in: in, decoder: p, left: left}
	return s.read()
}

// startsProtobuf reports whether the answer is in protobuf, and if so skips the prefix.
func startsProtobuf(in *bufio.Reader) bool {
	prefix, err := in.Peek(len(protobufPrefix))
	if err != nil || string(prefix) != protobufPrefix {
		return false
	}
	_, err = in.Discard(len(prefix))
	return err == nil
}

// untilEOF is the end of a message that ends with the stream.
const untilEOF = math.MaxUint64

// read reads the envelope of an answer and the list in it.
func (s *listStream) read() error {
	found := false
	err := s.message(untilEOF, func(number protowire.Number, length uint64) error {
		if number != fieldOfUnknownRaw {
			return nil
		}
		found = true
		return s.message(s.offset+length, s.field)
	})
	if err == nil && !found {
		return unreadable(errors.New("protobuf without a list"))
	}
	return err
}

// field reads a field of the list.
func (s *listStream) field(number protowire.Number, length uint64) error {
	if number != fieldOfListMeta && number != fieldOfListItems {
		return nil
	}
	if length > maxAnswer {
		return unreadable(fmt.Errorf("an object of %d MiB, more than the limit of %d MiB", length>>20, maxAnswer>>20))
	}
	s.data.Reset()
	if err := s.copy(&s.data, length); err != nil {
		return err
	}
	if number == fieldOfListItems {
		s.items++
		err := s.decoder.item(s.data.Bytes())
		if err == nil {
			return nil
		}
		var object metav1.PartialObjectMetadata
		_ = decodePartial(s.data.Bytes(), &object) // what can be decoded is set
		return s.left.skip(err, nameOrIndex(s.items-1, object.Namespace, object.Name))
	}
	var meta metav1.ListMeta
	if err := meta.Unmarshal(s.data.Bytes()); err != nil {
		return unreadable(err)
	}
	s.decoder.begin(meta)
	return nil
}

// message reads the fields of a message up to end, and skips what the function does not read of a field.
func (s *listStream) message(end uint64, field func(number protowire.Number, length uint64) error) error {
	for s.offset < end {
		if _, err := s.in.Peek(1); errors.Is(err, io.EOF) && end == untilEOF {
			return nil
		}
		tag, err := s.varint()
		if err != nil {
			return err
		}
		number, kind := protowire.DecodeTag(tag)
		if number < protowire.MinValidNumber {
			return unreadable(errBrokenTag)
		}
		length, err := s.length(kind)
		if err != nil {
			return err
		}
		if s.offset > end || length > min(end-s.offset, math.MaxInt64) {
			return unreadable(errors.New("protobuf with a field longer than its message"))
		}
		next := s.offset + length
		if kind == protowire.BytesType {
			if err := field(number, length); err != nil {
				return err
			}
		}
		if err := s.copy(io.Discard, next-s.offset); err != nil {
			return err
		}
	}
	return nil
}

// length returns how many bytes of a field remain to be read. A varint is read, and 0 returned.
func (s *listStream) length(kind protowire.Type) (uint64, error) {
	switch kind { //nolint:exhaustive // the API has no groups
	case protowire.Fixed64Type:
		return 8, nil
	case protowire.Fixed32Type:
		return 4, nil
	case protowire.VarintType:
		_, err := s.varint()
		return 0, err
	case protowire.BytesType:
		return s.varint()
	}
	return 0, unreadable(unknownType(kind))
}

var errBrokenTag = errors.New("protobuf with a broken tag")

func unknownType(kind protowire.Type) error {
	return fmt.Errorf("protobuf with a field of type %d", kind)
}

func (s *listStream) copy(to io.Writer, length uint64) error {
	n, err := io.CopyN(to, s.in, int64(length)) //nolint:gosec // G115: message checks it
	s.offset += uint64(n)                       //nolint:gosec // G115: it is not negative
	return truncated(err)
}

// varint reads a number.
func (s *listStream) varint() (uint64, error) {
	bytes, peeked := s.in.Peek(binary.MaxVarintLen64)
	n, size := protowire.ConsumeVarint(bytes)
	switch {
	case size < 0 && peeked != nil:
		return 0, truncated(peeked)
	case size < 0:
		return 0, unreadable(errors.New("protobuf with a number that does not end"))
	}
	discarded, err := s.in.Discard(size)
	s.offset += uint64(discarded) //nolint:gosec // G115: it is not negative
	return n, truncated(err)
}

// truncated turns the end of the stream into an unreadable answer. Other errors, which are the connection's, are
// returned as they are.
func truncated(err error) error {
	if errors.Is(err, io.EOF) {
		return unreadable(io.ErrUnexpectedEOF)
	}
	return err
}

func unreadable(err error) error { return fmt.Errorf("%w: %w", errUnreadable, err) }

// Numbers of fields, from the .proto files of k8s.io/apimachinery: runtime.Unknown, and of meta/v1
// PartialObjectMetadataList, PartialObjectMetadata and ObjectMeta.
const (
	fieldOfUnknownRaw    = 2
	fieldOfListMeta      = 1
	fieldOfListItems     = 2
	fieldOfPartialMeta   = 1
	fieldOfAnnotations   = 12
	fieldOfManagedFields = 17
)

// protobufPrefix begins every answer in protobuf (serializer/protobuf of k8s.io/apimachinery).
const protobufPrefix = "k8s\x00"

// field is one field of a protobuf message.
type field struct {
	number protowire.Number
	// whole is the field with its tag; value is the content of one that has a length, nil for others.
	whole, value []byte
}

// fields calls each for every field of a message. With it most of what servers send, which are annotations and
// managed fields, is never decoded.
func fields(message []byte, each func(field) error) error {
	for len(message) > 0 {
		f, err := firstField(message)
		if err != nil {
			return err
		}
		if err := each(f); err != nil {
			return err
		}
		message = message[len(f.whole):]
	}
	return nil
}

// firstField returns the first field of a message, which must not be empty. The field refers to the message, uncopied.
func firstField(message []byte) (field, error) {
	number, kind, at := protowire.ConsumeTag(message)
	if at < 0 {
		return field{}, errBrokenTag
	}
	var value []byte
	var size int
	switch kind { //nolint:exhaustive // the API has no groups
	case protowire.BytesType:
		value, size = protowire.ConsumeBytes(message[at:])
	case protowire.VarintType, protowire.Fixed32Type, protowire.Fixed64Type:
		size = protowire.ConsumeFieldValue(number, kind, message[at:])
	default:
		return field{}, unknownType(kind)
	}
	if size < 0 {
		return field{}, errors.New("protobuf that ends within a field")
	}
	return field{number, message[:at+size], value}, nil
}

// unwrapUnknown returns the content of the envelope of an answer, not copied.
func unwrapUnknown(body []byte) ([]byte, error) {
	var raw []byte
	err := fields(body[len(protobufPrefix):], func(f field) error {
		if f.number == fieldOfUnknownRaw {
			raw = f.value
		}
		return nil
	})
	return raw, err
}

// decodePartial decodes a PartialObjectMetadata without annotations and managed fields.
func decodePartial(message []byte, object *metav1.PartialObjectMetadata) error {
	return fields(message, func(f field) error {
		if f.number == fieldOfPartialMeta {
			return decodeMeta(f.value, &object.ObjectMeta)
		}
		return nil
	})
}

// decodeMeta decodes the fields between those left out, one range after the other: Unmarshal merges, so a message may
// be decoded in parts.
func decodeMeta(message []byte, meta *metav1.ObjectMeta) error {
	start, at := 0, 0
	err := fields(message, func(f field) error {
		end := at + len(f.whole)
		if f.number == fieldOfAnnotations || f.number == fieldOfManagedFields {
			if err := meta.Unmarshal(message[start:at]); err != nil {
				return err
			}
			start = end
		}
		at = end
		return nil
	})
	if err != nil {
		return err
	}
	return meta.Unmarshal(message[start:])
}
