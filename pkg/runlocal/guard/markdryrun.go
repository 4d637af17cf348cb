package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// dryRunAll is the only value of dryRun.
const dryRunAll = metav1.DryRunAll

// protobufMagic begins every object in the API's protobuf encoding, before a runtime.Unknown
// (apimachinery's pkg/runtime/serializer/protobuf/doc.go).
var protobufMagic = []byte("k8s\x00")

// dryRunRequest returns the request marked as a dry run, wherever a server may look for that: in the query, and in the
// options of a deletion or an eviction.
func (c *call) dryRunRequest() (*http.Request, error) {
	body := c.body
	if encoding := c.req.Header.Get("Content-Encoding"); encoding != "" && len(body) > 0 {
		return nil, fmt.Errorf("a body of encoding %q cannot be marked as a dry run", encoding)
	}
	var err error
	switch {
	case c.req.Method == http.MethodDelete && len(body) > 0:
		body, err = markDelete(c.req.Header.Get("Content-Type"), body)
	case c.info.Subresource == "eviction":
		body, err = markEviction(c.req.Header.Get("Content-Type"), body)
	}
	if err != nil {
		return nil, err
	}
	dry := c.req.Clone(c.req.Context())
	query := dry.URL.Query()
	query.Set("dryRun", dryRunAll)
	dry.URL.RawQuery = query.Encode()
	setBody(dry, body)
	return dry, nil
}

// markDelete sets dryRun in the DeleteOptions of a deletion's body: with a body, a server ignores the query
// (k8s.io/apiserver/pkg/endpoints/handlers/delete.go).
func markDelete(contentType string, body []byte) ([]byte, error) {
	switch media, err := mediaType(contentType); {
	case err != nil:
		return nil, err
	case media == runtime.ContentTypeJSON:
		return markJSON(body)
	default:
		return markProtobuf(body, markDeleteRaw)
	}
}

// markEviction sets dryRun in the DeleteOptions of an Eviction, if it has any; otherwise a server reads the query
// (pkg/registry/core/pod/storage/eviction.go of k8s.io/kubernetes).
func markEviction(contentType string, body []byte) ([]byte, error) {
	switch media, err := mediaType(contentType); {
	case err != nil:
		return nil, err
	case media == runtime.ContentTypeJSON:
		return markEvictionJSON(body)
	default:
		return markProtobuf(body, markEvictionRaw)
	}
}

// mediaType returns the media type of a body, JSON if it has no content type, as a server does. It fails for all but
// JSON and protobuf.
func mediaType(contentType string) (string, error) {
	if contentType == "" {
		return runtime.ContentTypeJSON, nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil || media != runtime.ContentTypeJSON && media != runtime.ContentTypeProtobuf {
		return "", fmt.Errorf("a body of type %q cannot be marked as a dry run", contentType)
	}
	return media, nil
}

// decodeFields decodes the fields of a JSON object. It fails if anything follows the object.
func decodeFields(body []byte) (map[string]json.RawMessage, error) {
	var object map[string]json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("reading options: %w", err)
	}
	if object == nil {
		return nil, errors.New("reading options: not an object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("reading options: trailing data")
	}
	return object, nil
}

// markJSON sets dryRun in DeleteOptions in JSON, and keeps all other fields.
func markJSON(body []byte) ([]byte, error) {
	object, err := decodeFields(body)
	if err != nil {
		return nil, err
	}
	object["dryRun"] = json.RawMessage(`["` + dryRunAll + `"]`)
	return json.Marshal(object)
}

// markEvictionJSON is markEviction for JSON.
func markEvictionJSON(body []byte) ([]byte, error) {
	object, err := decodeFields(body)
	if err != nil {
		return nil, err
	}
	options, ok := object["deleteOptions"]
	if !ok || string(options) == "null" {
		return body, nil
	}
	if object["deleteOptions"], err = markJSON(options); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// markProtobuf applies mark to the object in the envelope body.
func markProtobuf(body []byte, mark func(raw []byte) ([]byte, error)) ([]byte, error) {
	raw, ok := bytes.CutPrefix(body, protobufMagic)
	if !ok {
		return nil, errors.New("reading options: not the API's protobuf")
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("reading options: %w", err)
	}
	marked, err := mark(envelope.Raw)
	if err != nil {
		return nil, err
	}
	envelope.Raw = marked
	encoded, err := envelope.Marshal()
	if err != nil {
		return nil, fmt.Errorf("writing options: %w", err)
	}
	return slices.Concat(protobufMagic, encoded), nil
}

// dryRunField is DeleteOptions.dryRun = 5 with one value. It is appended to what was sent, so that fields of newer
// versions stay: a decoder joins what it finds twice.
var dryRunField = append([]byte{5<<3 | 2, byte(len(dryRunAll))}, dryRunAll...)

// markDeleteRaw sets dryRun in DeleteOptions in protobuf, without their envelope.
func markDeleteRaw(raw []byte) ([]byte, error) {
	options := &metav1.DeleteOptions{}
	if err := options.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("reading options: %w", err)
	}
	if slices.Equal(options.DryRun, []string{dryRunAll}) {
		return raw, nil
	}
	return verified(slices.Concat(raw, dryRunField), &metav1.DeleteOptions{},
		func(o *metav1.DeleteOptions) []string { return o.DryRun })
}

// markEvictionRaw is markEviction for protobuf, without the envelope.
func markEvictionRaw(raw []byte) ([]byte, error) {
	eviction := &policyv1.Eviction{}
	if err := eviction.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("reading an eviction: %w", err)
	}
	if eviction.DeleteOptions == nil || slices.Equal(eviction.DeleteOptions.DryRun, []string{dryRunAll}) {
		return raw, nil
	}
	options := slices.Concat([]byte{2<<3 | 2, 2 + byte(len(dryRunAll))}, dryRunField) // Eviction.deleteOptions = 2
	return verified(slices.Concat(raw, options), &policyv1.Eviction{},
		func(e *policyv1.Eviction) []string { return e.DeleteOptions.DryRun })
}

// verified returns raw if it decodes to an object that is marked as a dry run, as it must for the server.
func verified[T interface{ Unmarshal([]byte) error }](raw []byte, into T, dryRun func(T) []string) ([]byte, error) {
	if err := into.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("marking options as a dry run: %w", err)
	}
	if values := dryRun(into); !slices.Equal(values, []string{dryRunAll}) {
		return nil, fmt.Errorf("marking options as a dry run: dryRun is %q", values)
	}
	return raw, nil
}
