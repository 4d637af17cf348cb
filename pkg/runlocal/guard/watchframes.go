package guard

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"mime"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// watchFrame is one event of a watch, encoded as it was received.
type watchFrame struct {
	data    []byte // the whole frame, with its length or its final newline
	kind    watch.EventType
	version string // resourceVersion of the object; empty if it has none, as the Status of an error
}

// maxFrameSize bounds a frame: client-go accepts 16 MiB (streaming.NewDecoder).
const maxFrameSize = 16 << 20

// frameReader reads the frames of a watch.
type frameReader interface {
	// next returns the next frame, and io.EOF where the stream ends behind a frame.
	next() (watchFrame, error)
}

// newFrameReader returns a reader of the frames in body, by the media type of the response.
func newFrameReader(contentType string, body io.Reader) (frameReader, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, fmt.Errorf("reading the content type %q of a watch: %w", contentType, err)
	}
	switch media {
	case runtime.ContentTypeProtobuf:
		return &protobufFrameReader{bufio.NewReader(body)}, nil
	case runtime.ContentTypeJSON:
		return &jsonFrameReader{json.NewDecoder(body)}, nil
	}
	return nil, fmt.Errorf("decoding a watch: content type %q is neither JSON nor protobuf", media)
}

// jsonFrameReader reads frames that are JSON objects after each other.
type jsonFrameReader struct{ decoder *json.Decoder }

func (f *jsonFrameReader) next() (watchFrame, error) {
	var data json.RawMessage
	if err := f.decoder.Decode(&data); err != nil {
		return watchFrame{}, err
	}
	var event struct {
		Type   watch.EventType
		Object struct {
			Metadata struct{ ResourceVersion string }
		}
	}
	if err := json.Unmarshal(data, &event); err != nil {
		return watchFrame{}, fmt.Errorf("decoding an event of a watch: %w", err)
	}
	return watchFrame{append(data, '\n'), event.Type, event.Object.Metadata.ResourceVersion}, nil
}

// protobufFrameReader reads frames of protobuf, which begin with their length.
type protobufFrameReader struct{ body *bufio.Reader }

const lengthSize = 4

func (f *protobufFrameReader) next() (watchFrame, error) {
	head := make([]byte, lengthSize)
	if _, err := io.ReadFull(f.body, head); err != nil {
		return watchFrame{}, err
	}
	length := binary.BigEndian.Uint32(head)
	if length > maxFrameSize {
		return watchFrame{}, fmt.Errorf("decoding an event of a watch: it is %d bytes long", length)
	}
	data, err := f.rest(head, int64(length))
	if err != nil {
		return watchFrame{}, err
	}
	event := metav1.WatchEvent{}
	if err := event.Unmarshal(data[lengthSize:]); err != nil {
		return watchFrame{}, fmt.Errorf("decoding an event of a watch: %w", err)
	}
	version, err := versionOf(event.Object.Raw)
	if err != nil {
		return watchFrame{}, fmt.Errorf("decoding an event of a watch: %w", err)
	}
	return watchFrame{data, watch.EventType(event.Type), version}, nil
}

// rest returns head and as many bytes behind it as length says. It allocates no more than is received, whatever the
// length says.
func (f *protobufFrameReader) rest(head []byte, length int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(f.body, length))
	if err == nil && int64(len(body)) < length {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return append(head, body...), nil
}

// versionField is the field resourceVersion of ObjectMeta.
const versionField protowire.Number = 6

// versionOf returns the resourceVersion of an encoded object, empty if it has none.
func versionOf(object []byte) (string, error) {
	envelope, err := unwrap(object)
	if err != nil {
		return "", err
	}
	if envelope.Kind == "Status" {
		return "", nil // its metadata is a ListMeta
	}
	version := ""
	err = eachField(envelope.Raw, func(number protowire.Number, value []byte) error {
		if number != metaField {
			return nil
		}
		return eachField(value, func(number protowire.Number, value []byte) error {
			if number == versionField {
				version = string(value)
			}
			return nil
		})
	})
	return version, err
}
