package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// objects is a list of objects of any kind, whose objects are not decoded.
type objects struct {
	meta  metav1.ListMeta
	kind  metav1.TypeMeta
	items [][]byte // each as it is in the list
	proto bool     // encoded as protobuf, else as JSON
}

// decodeObjects reads a list by its media type.
func decodeObjects(contentType string, body []byte) (*objects, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, fmt.Errorf("reading the type %q of an answer: %w", contentType, err)
	}
	switch media {
	case runtime.ContentTypeProtobuf:
		return decodeProtobuf(body)
	case runtime.ContentTypeJSON:
		return decodeJSON(body)
	}
	return nil, fmt.Errorf("an answer is of the type %q, neither JSON nor protobuf", media)
}

// jsonList is a list of any kind.
type jsonList struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ListMeta   `json:"metadata"`
	Items           []json.RawMessage `json:"items"`
}

func decodeJSON(body []byte) (*objects, error) {
	list := jsonList{}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("decoding a list: %w", err)
	}
	o := &objects{meta: list.Metadata, kind: list.TypeMeta}
	for _, item := range list.Items {
		o.items = append(o.items, item)
	}
	return o, nil
}

// The fields of lists, which all kinds have in common: their generated code begins with the metadata.
const (
	metaField  protowire.Number = 1
	itemsField protowire.Number = 2
)

var errTruncated = errors.New("it is cut off")

// unwrap takes an object out of its envelope.
func unwrap(body []byte) (*runtime.Unknown, error) {
	rest, ok := bytes.CutPrefix(body, protobufMagic)
	if !ok {
		return nil, errors.New("it does not begin as protobuf of Kubernetes does")
	}
	envelope := &runtime.Unknown{}
	if err := envelope.Unmarshal(rest); err != nil {
		return nil, err
	}
	return envelope, nil
}

// eachField calls each for every field of a message that has a length: messages, strings, bytes. Others are skipped.
func eachField(message []byte, each func(number protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errTruncated
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return errTruncated
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			if err := each(number, value); err != nil {
				return err
			}
		}
		message = message[n:]
	}
	return nil
}

func decodeProtobuf(body []byte) (*objects, error) {
	envelope, err := unwrap(body)
	if err != nil {
		return nil, fmt.Errorf("decoding a list: %w", err)
	}
	o := &objects{kind: metav1.TypeMeta{APIVersion: envelope.APIVersion, Kind: envelope.Kind}, proto: true}
	err = eachField(envelope.Raw, func(number protowire.Number, value []byte) error {
		switch number {
		case metaField:
			return o.meta.Unmarshal(value)
		case itemsField:
			o.items = append(o.items, value)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("decoding a list: %w", err)
	}
	return o, nil
}

// with adds another list to o, which may be nil.
func (o *objects) with(more *objects) (*objects, error) {
	if o == nil {
		return more, nil
	}
	if o.proto != more.proto || o.kind != more.kind {
		return nil, fmt.Errorf("the server answers with a %s of %s here, and with a %s of %s there", o.kind.Kind, o.kind.APIVersion, more.kind.Kind, more.kind.APIVersion)
	}
	o.items = append(o.items, more.items...)
	return o, nil
}

func (o *objects) encode() ([]byte, error) {
	if !o.proto {
		list := jsonList{TypeMeta: o.kind, Metadata: o.meta, Items: []json.RawMessage{}}
		for _, item := range o.items {
			list.Items = append(list.Items, item)
		}
		return json.Marshal(list)
	}
	meta, err := o.meta.Marshal()
	if err != nil {
		return nil, err
	}
	raw := protowire.AppendBytes(protowire.AppendTag(nil, metaField, protowire.BytesType), meta)
	for _, item := range o.items {
		raw = protowire.AppendBytes(protowire.AppendTag(raw, itemsField, protowire.BytesType), item)
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: o.kind.APIVersion, Kind: o.kind.Kind}, Raw: raw}
	body, err := envelope.Marshal()
	if err != nil {
		return nil, err
	}
	return append(bytes.Clone(protobufMagic), body...), nil
}
