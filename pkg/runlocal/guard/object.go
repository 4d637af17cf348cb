package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// object is one as it was sent: typed if it came as protobuf, else unstructured, so that no field is lost.
type object struct {
	object      runtime.Object
	contentType string
	serializer  runtime.Serializer // of typed ones
}

func decodeObject(contentType string, body []byte) (*object, error) {
	media, err := mediaType(contentType)
	if err != nil {
		return nil, err
	}
	if media == runtime.ContentTypeJSON {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(body, &u.Object); err != nil {
			return nil, fmt.Errorf("reading an object: %w", err)
		}
		if u.Object == nil {
			return nil, fmt.Errorf("reading an object: there is none")
		}
		return &object{object: u, contentType: media}, nil
	}
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	if !ok {
		return nil, fmt.Errorf("reading an object: nobody can read %s", media)
	}
	obj, _, err := info.Serializer.Decode(body, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	return &object{object: obj, contentType: media, serializer: info.Serializer}, nil
}

func (o *object) encode() ([]byte, error) {
	if u, ok := o.object.(*unstructured.Unstructured); ok {
		return json.Marshal(u.Object)
	}
	var out bytes.Buffer
	if err := o.serializer.Encode(o.object, &out); err != nil {
		return nil, fmt.Errorf("writing an object: %w", err)
	}
	return out.Bytes(), nil
}

// decodeOptions reads the DeleteOptions of a deletion, which are empty for most.
func decodeOptions(c *call) (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	if len(c.body) == 0 {
		return options, nil
	}
	media, err := mediaType(c.req.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	if media == runtime.ContentTypeJSON {
		err = json.Unmarshal(c.body, options)
	} else {
		_, err = markProtobuf(c.body, func(raw []byte) ([]byte, error) { return raw, options.Unmarshal(raw) })
	}
	if err != nil {
		return nil, fmt.Errorf("reading options: %w", err)
	}
	return options, nil
}

// objectURL is where the object of the call's subresource is.
func (c *call) objectURL() *url.URL {
	at := *c.req.URL
	at.RawQuery = ""
	if c.info.Subresource != "" {
		at.Path, at.RawPath = strings.TrimSuffix(at.Path, "/"+c.info.Subresource), ""
	}
	return &at
}

// getObject reads an object in JSON, as the caller would have it: whole, or its metadata alone.
func (t *transport) getObject(c *call, at *url.URL) (*http.Response, error) {
	accept := runtime.ContentTypeJSON
	if strings.Contains(c.req.Header.Get("Accept"), "as=PartialObjectMetadata") {
		accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	}
	return t.get(c.req.Context(), c.req, at, accept)
}

// readAll reads an answer to its end, and closes it.
func readAll(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close() //nolint:errcheck // all has been read, or the error of that says more
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer to %s %s: %w", resp.Request.Method, resp.Request.URL.Path, err)
	}
	return body, nil
}
