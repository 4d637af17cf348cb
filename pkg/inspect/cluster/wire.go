package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// The types of fields, in the low bits of their tags.
const (
	wireVarint = 0
	wireEight  = 1 // bytes
	wireLength = 2
	wireFour   = 5 // bytes
	wireBits   = 3
)

// protobufPrefix begins every answer in protobuf (serializer/protobuf of k8s.io/apimachinery).
const protobufPrefix = "k8s\x00"

// field is one field of a protobuf message.
type field struct {
	number uint64
	// whole is the field with its tag; value is the content of one that has a length, nil for others.
	whole, value []byte
}

// fields hands over each field of a message. It is here so that most of what servers send, which are annotations and managed
// fields, is never decoded.
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

func firstField(message []byte) (field, error) {
	tag, at := binary.Uvarint(message)
	if at <= 0 {
		return field{}, errors.New("protobuf with a broken tag")
	}
	kind := tag & (1<<wireBits - 1)
	length, size := uint64(0), 0
	switch kind {
	case wireEight:
		length = 8
	case wireFour:
		length = 4
	case wireVarint:
		_, size = binary.Uvarint(message[at:])
	case wireLength:
		length, size = binary.Uvarint(message[at:])
	default:
		return field{}, fmt.Errorf("protobuf with a field of type %d", kind)
	}
	if size < 0 || size == 0 && (kind == wireVarint || kind == wireLength) || length > uint64(len(message)-at-size) { //nolint:gosec // G115: what was read is in message
		return field{}, errors.New("protobuf that ends within a field")
	}
	at += size
	f := field{number: tag >> wireBits, whole: message[:at+int(length)]}
	if kind == wireLength {
		f.value = f.whole[at:]
	}
	return f, nil
}

// unwrap returns what the envelope of an answer holds, not copied.
func unwrap(body []byte) ([]byte, error) {
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

// decodeMeta decodes what is between the fields left out, one stretch after the other: a message may be decoded in parts.
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
