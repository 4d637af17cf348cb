package guard

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// listPosition is where a list of several namespaces continues. Encoded it is the continue token of such a list.
type listPosition struct {
	// Type is positionType, which no other continue token has.
	Type string `json:"of"`
	// Namespace is the index of the namespace that is listed next.
	Namespace int `json:"n"`
	// Version is the resourceVersion of the first namespace's list, at which the others are listed too; empty before
	// the first request.
	Version string `json:"v,omitempty"`
	// Continue is the server's token, empty at the beginning of a namespace.
	Continue string `json:"c,omitempty"`
}

// positionType is the Type of every listPosition.
const positionType = "namespaces"

// token returns the continue token for p.
func (p listPosition) token() string {
	p.Type = positionType
	text, err := json.Marshal(p)
	if err != nil {
		return "" // strings and numbers can be encoded
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// decodePosition decodes a token that was made for a list of that many namespaces.
func decodePosition(token string, namespaces int) (listPosition, error) {
	p := listPosition{}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err == nil && (p.Type != positionType || p.Namespace < 0 || p.Namespace >= namespaces || p.Version == "") {
		err = errors.New("it is of another list")
	}
	if err != nil {
		return listPosition{}, fmt.Errorf("reading the continue token of a list of several namespaces: %w", err)
	}
	return p, nil
}

// list returns a page of one namespace, or, without a limit, all objects of all namespaces. A page never has objects of
// two namespaces: a client gets the pages as the server makes them.
func (n *namespaceLimiter) list(req *http.Request) (*http.Response, error) {
	query, at := req.URL.Query(), listPosition{}
	if token := query.Get("continue"); token != "" {
		var err error
		if at, err = decodePosition(token, len(n.namespaces)); err != nil {
			return expiredResponse(req, err.Error()), nil
		}
	}
	limited := query.Get("limit") != "" && query.Get("limit") != "0"
	var all *rawList
	for {
		resp, err := n.next.RoundTrip(n.inNamespace(req, n.namespaces[at.Namespace], at.query(query)))
		if err != nil || resp.StatusCode != http.StatusOK {
			return resp, err
		}
		one, err := readList(resp)
		if err == nil {
			all, err = all.append(one)
		}
		if err != nil {
			return nil, fmt.Errorf("listing %s in %q: %w", req.URL.Path, n.namespaces[at.Namespace], err)
		}
		more := at.advance(&one.meta, len(n.namespaces))
		if !more || limited {
			return n.listResponse(req, resp, all, at, more)
		}
	}
}

// query returns the parameters of the request at p: those of the client for the first, and the version of the first for
// all others.
func (p listPosition) query(client url.Values) url.Values {
	query := maps.Clone(client)
	query.Del("continue")
	if p.Version == "" {
		return query
	}
	query.Del("resourceVersion")
	query.Del("resourceVersionMatch")
	if p.Continue != "" {
		query.Set("continue", p.Continue)
		return query
	}
	query.Set("resourceVersion", p.Version)
	query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	return query
}

// advance moves p behind a page with the metadata got, and reports whether there is more to list.
func (p *listPosition) advance(got *metav1.ListMeta, namespaces int) bool {
	if p.Version == "" {
		p.Version = got.ResourceVersion
	}
	if p.Continue = got.Continue; p.Continue != "" {
		return true
	}
	p.Namespace++
	return p.Namespace < namespaces
}

// listResponse returns all as the response to req. at is where the list continues if there is more; last is the
// server's last response, whose headers the client gets.
func (n *namespaceLimiter) listResponse(
	req *http.Request, last *http.Response, all *rawList, at listPosition, more bool,
) (*http.Response, error) {
	all.meta.ResourceVersion, all.meta.Continue, all.meta.RemainingItemCount = at.Version, "", nil
	if more {
		all.meta.Continue = at.token()
	} else {
		n.histories.recordList(watchKey(req), at.Version)
	}
	body, err := all.encode()
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", req.URL.Path, err)
	}
	resp := newResponse(req, http.StatusOK, last.Header.Get("Content-Type"), body)
	for name, values := range last.Header {
		if name != "Content-Length" && name != "Content-Encoding" {
			resp.Header[name] = values
		}
	}
	return resp, nil
}

// readList reads a response to a list, and closes it.
func readList(resp *http.Response) (*rawList, error) {
	defer resp.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return decodeList(resp.Header.Get("Content-Type"), body)
}

// rawList is a list of any kind, of which only the metadata is decoded.
type rawList struct {
	meta  metav1.ListMeta
	kind  metav1.TypeMeta
	items [][]byte // encoded, as in the response
	proto bool     // whether they are encoded as protobuf, else as JSON
}

// decodeList decodes a list by its media type.
func decodeList(contentType string, body []byte) (*rawList, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, fmt.Errorf("reading the content type %q of a list: %w", contentType, err)
	}
	switch media {
	case runtime.ContentTypeProtobuf:
		return decodeProtobufList(body)
	case runtime.ContentTypeJSON:
		return decodeJSONList(body)
	}
	return nil, fmt.Errorf("decoding a list: content type %q is neither JSON nor protobuf", media)
}

// jsonList is a list of any kind.
type jsonList struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ListMeta   `json:"metadata"`
	Items           []json.RawMessage `json:"items"`
}

// decodeJSONList decodes a list in JSON.
func decodeJSONList(body []byte) (*rawList, error) {
	list := jsonList{}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("decoding a list: %w", err)
	}
	o := &rawList{meta: list.Metadata, kind: list.TypeMeta}
	for _, item := range list.Items {
		o.items = append(o.items, item)
	}
	return o, nil
}

// The protobuf fields of lists and objects that all kinds have in common: metadata is the first field of both, items
// the second of a list.
const (
	metaField  protowire.Number = 1
	itemsField protowire.Number = 2
)

// errTruncated is the error of a protobuf message that ends within a field.
var errTruncated = errors.New("it is cut off")

// unwrap decodes the envelope of an object in protobuf.
func unwrap(body []byte) (*runtime.Unknown, error) {
	rest, ok := bytes.CutPrefix(body, protobufMagic)
	if !ok {
		return nil, errors.New("it does not begin as Kubernetes' protobuf does")
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

// decodeProtobufList decodes a list in protobuf. Its items share the memory of body.
func decodeProtobufList(body []byte) (*rawList, error) {
	envelope, err := unwrap(body)
	if err != nil {
		return nil, fmt.Errorf("decoding a list: %w", err)
	}
	o := &rawList{kind: metav1.TypeMeta{APIVersion: envelope.APIVersion, Kind: envelope.Kind}, proto: true}
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

// append returns o, which may be nil, with the items of more behind its own.
func (o *rawList) append(more *rawList) (*rawList, error) {
	if o == nil {
		return more, nil
	}
	if o.proto != more.proto || o.kind != more.kind {
		return nil, fmt.Errorf("one namespace is answered with a %s of %s, another with a %s of %s",
			o.kind.Kind, o.kind.APIVersion, more.kind.Kind, more.kind.APIVersion)
	}
	o.items = append(o.items, more.items...)
	return o, nil
}

// encode returns the list in the encoding that it was decoded from.
func (o *rawList) encode() ([]byte, error) {
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
