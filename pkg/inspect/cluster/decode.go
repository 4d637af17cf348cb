package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isProtobuf tells by how the answer begins, which JSON cannot.
func (a answer) isProtobuf() bool {
	return bytes.HasPrefix(a, []byte(protobufPrefix))
}

// partial decodes one object's metadata.
func (a answer) partial(out *metav1.PartialObjectMetadata) error {
	if err := a.into(out, func(message []byte) error { return decodePartial(message, out) }); err != nil {
		return err
	}
	strip(out)
	return nil
}

// partialList decodes a page in JSON and drops what nobody asks for.
func (a answer) partialList(out *metav1.PartialObjectMetadataList) error {
	if err := a.into(out, nil); err != nil {
		return err
	}
	for i := range out.Items {
		strip(&out.Items[i])
	}
	return nil
}

// strip drops what is big and what no graph needs.
func strip(o *metav1.PartialObjectMetadata) {
	o.ManagedFields, o.Annotations = nil, nil
}

// into decodes JSON into out, and protobuf by the function, unless that is nil. JSON may be of the whole object, from servers that do not know
// partial ones. Whatever is neither is no JSON.
func (a answer) into(out any, protobuf func([]byte) error) error {
	var err error
	var message []byte
	decoder, decodes := out.(json.Unmarshaler)
	switch {
	case a.isProtobuf() && protobuf == nil:
		err = errors.New("protobuf, which was not asked for")
	case a.isProtobuf():
		if message, err = unwrap(a); err == nil {
			err = protobuf(message)
		}
	case decodes:
		err = decoder.UnmarshalJSON(a) // json would read all of it twice
	default:
		err = json.Unmarshal(a, out)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return nil
}
