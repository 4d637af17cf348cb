package cluster

import (
	"encoding/json"
	"fmt"
	"mime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// partial decodes one object's metadata.
func (a answer) partial() (*metav1.PartialObjectMetadata, error) {
	out := &metav1.PartialObjectMetadata{}
	if err := a.into(out); err != nil {
		return nil, err
	}
	strip(out)
	return out, nil
}

// partialList decodes a page and drops what nobody asks for.
func (a answer) partialList() (*metav1.PartialObjectMetadataList, error) {
	out := &metav1.PartialObjectMetadataList{}
	if err := a.into(out); err != nil {
		return nil, err
	}
	for i := range out.Items {
		strip(&out.Items[i])
	}
	return out, nil
}

// strip drops what is big and what no graph needs.
func strip(o *metav1.PartialObjectMetadata) {
	o.ManagedFields, o.Annotations = nil, nil
}

func (a answer) isProtobuf() bool {
	media, _, err := mime.ParseMediaType(a.contentType)
	return err == nil && media == runtime.ContentTypeProtobuf
}

// into decodes protobuf or JSON. JSON may be of the whole object, from servers that do not know partial ones.
func (a answer) into(out interface{ Unmarshal([]byte) error }) error {
	media, _, err := mime.ParseMediaType(a.contentType)
	if err != nil {
		return fmt.Errorf("%w: content type %q", errUnreadable, a.contentType)
	}
	switch media {
	case runtime.ContentTypeProtobuf:
		err = unwrap(a.body, out)
	case runtime.ContentTypeJSON:
		err = json.Unmarshal(a.body, out)
	default:
		return fmt.Errorf("%w: content type %q", errUnreadable, a.contentType)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return nil
}

// protobufPrefix is what begins every answer in protobuf (serializer/protobuf of k8s.io/apimachinery).
const protobufPrefix = "k8s\x00"

// unwrap decodes what the envelope of the answer holds.
func unwrap(body []byte, out interface{ Unmarshal([]byte) error }) error {
	if len(body) < len(protobufPrefix) || string(body[:len(protobufPrefix)]) != protobufPrefix {
		return fmt.Errorf("protobuf without its prefix")
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(body[len(protobufPrefix):]); err != nil {
		return err
	}
	return out.Unmarshal(envelope.Raw)
}
