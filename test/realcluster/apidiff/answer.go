package apidiff

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// Answer is what a server answered to a step: a tree of what is compared, with the keys code, type, headers, warnings,
// body, events and end for a stream, and until for a condition that did not come to hold. Values are those of JSON,
// numbers as json.Number.
type Answer map[string]any

// Code is the HTTP status, 0 if there was no answer.
func (a Answer) Code() int {
	code, _ := a["code"].(int)
	return code
}

// comparedHeaders are the headers, beside type and warnings, that clients act on, and those that tell by which flow
// schema and at which priority level a request was served.
var comparedHeaders = []string{
	"Allow", "Cache-Control", "Content-Encoding", "Location", "Retry-After", "Www-Authenticate",
	"X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid",
}

// headOf is the answer without its body.
func headOf(r *http.Response) Answer {
	headers := map[string]any{}
	for _, name := range comparedHeaders {
		if value := r.Header.Get(name); value != "" {
			headers[name] = value
		}
	}
	warnings := []any{}
	for _, warning := range r.Header.Values("Warning") {
		warnings = append(warnings, warning)
	}
	return Answer{"code": r.StatusCode, "type": r.Header.Get("Content-Type"), "headers": headers, "warnings": warnings}
}

// readBody is the answer's body: a tree for JSON, YAML and protobuf, text for other text. Of another binary answer only
// the first bytes are kept, which say what it is: the rest holds identifiers and times that cannot be normalised.
func readBody(r *http.Response) (any, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if r.Header.Get("Content-Encoding") == "gzip" {
		if data, err = gunzip(data); err != nil {
			return nil, fmt.Errorf("unpacking the answer: %w", err)
		}
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	switch {
	case len(data) == 0:
		return nil, nil
	case kind == jsonType:
		return decode(data)
	case kind == "application/yaml":
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return nil, err
		}
		return decode(data)
	case kind == runtime.ContentTypeProtobuf && bytes.HasPrefix(data, []byte("k8s\x00")):
		return decodeProtobuf(data)
	case utf8.Valid(data) && !strings.Contains(kind, "protobuf"):
		return textOrTree(string(data)), nil
	}
	return fmt.Sprintf("binary, starting with %x", data[:min(4, len(data))]), nil
}

// textOrTree is the tree of a JSON object that is said to be plain text, as the index of OpenAPI documents is, or else
// the text.
func textOrTree(text string) any {
	if strings.HasPrefix(text, "{") {
		if tree, err := decode([]byte(text)); err == nil {
			return tree
		}
	}
	return text
}

// decodeProtobuf is an object of a built-in kind as a tree.
func decodeProtobuf(data []byte) (any, error) {
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), metav1.AddMetaToScheme(known)); err != nil {
		return nil, fmt.Errorf("listing the built-in kinds: %w", err)
	}
	object, kind, err := serializer.NewCodecFactory(known).UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decoding the answer: %w", err)
	}
	plain, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	tree, err := decode(plain)
	return map[string]any{"kind": kind.String(), "object": tree}, err
}

func gunzip(data []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

// endedByServer is how a stream ends that the server ends.
const endedByServer = "ended by the server"

// readEvents reads a stream of JSON documents: count of them, or with ended all until the server ends it. What cuts it
// short becomes part of the answer.
func readEvents(a Answer, r *http.Response, count int, ended bool) {
	decoder := newDecoder(r.Body)
	events := []any{}
	for ended || len(events) < count {
		var event any
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) {
			a["end"] = endedByServer
			break
		}
		if err != nil {
			a["end"] = fmt.Sprintf("no further event after %d: %v", len(events), err)
			break
		}
		events = append(events, event)
	}
	a["events"] = events
}
