package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/client-go/kubernetes/scheme"
)

// answer returns the response to a write without sending it. It reads the current object from the server where the
// response depends on it.
func (t *transport) answer(c *call) (*http.Response, error) {
	switch c.info.Verb {
	case "create":
		if c.info.Subresource != "" {
			return t.answerAction(c)
		}
		return t.answerObject(c, http.StatusCreated, setCreationFields)
	case "update":
		return t.answerObject(c, http.StatusOK, func(metav1.Object) {})
	case "patch":
		return t.answerPatch(c)
	case "delete":
		return t.answerDelete(c)
	case "deletecollection":
		return statusResponse(c.req, metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusOK}), nil
	}
	return refusal(c.req, http.StatusForbidden, "the verb is unknown: "+c.info.Verb), nil
}

// answerObject returns a response with the object of the request's body, after change.
func (t *transport) answerObject(c *call, code int, change func(metav1.Object)) (*http.Response, error) {
	o, err := decodeObject(c.req.Header.Get("Content-Type"), c.body)
	if err != nil {
		return refusal(c.req, http.StatusBadRequest, err.Error()), nil
	}
	m, err := meta.Accessor(o.object)
	if err != nil {
		return refusal(c.req, http.StatusBadRequest, err.Error()), nil
	}
	if m.GetNamespace() == "" && c.info.Resource != "namespaces" { // RequestInfo.Namespace is their name
		m.SetNamespace(c.info.Namespace)
	}
	change(m)
	body, err := o.encode()
	if err != nil {
		return refusal(c.req, http.StatusBadRequest, err.Error()), nil
	}
	return newResponse(c.req, code, o.contentType, body), nil
}

// setCreationFields sets the fields that a server sets at creation. In a dry run it sets no resourceVersion either.
func setCreationFields(m metav1.Object) {
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(names.SimpleNameGenerator.GenerateName(m.GetGenerateName()))
	}
	m.SetUID(uuid.NewUUID())
	m.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	m.SetGeneration(1)
}

// answerAction returns the response to the creation of a subresource, such as a binding or an eviction: that of the
// server if the object cannot be read, success otherwise.
func (t *transport) answerAction(c *call) (*http.Response, error) {
	resp, err := t.getObject(c, c.objectURL())
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return resp, nil
	}
	_ = resp.Body.Close()
	return statusResponse(c.req, metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}), nil
}

// answerDelete returns the current object if the preconditions hold.
func (t *transport) answerDelete(c *call) (*http.Response, error) {
	options, err := decodeOptions(c)
	if err != nil {
		return refusal(c.req, http.StatusBadRequest, err.Error()), nil
	}
	at := *c.req.URL
	at.RawQuery = ""
	resp, err := t.getObject(c, &at)
	if err != nil || resp.StatusCode != http.StatusOK || options.Preconditions == nil {
		return resp, err
	}
	body, err := readAll(resp)
	if err != nil {
		return nil, err
	}
	if why := unmetPrecondition(options.Preconditions, body); why != "" {
		return refusal(c.req, http.StatusConflict, why), nil
	}
	return newResponse(c.req, http.StatusOK, resp.Header.Get("Content-Type"), body), nil
}

// unmetPrecondition returns which precondition the object, in JSON, does not meet; empty if it meets all.
func unmetPrecondition(p *metav1.Preconditions, body []byte) string {
	o, err := decodeObject("", body)
	if err != nil {
		return err.Error()
	}
	m, err := meta.Accessor(o.object)
	switch {
	case err != nil:
		return err.Error()
	case p.UID != nil && *p.UID != m.GetUID():
		return fmt.Sprintf("the uid in the precondition (%s) is not that of the object (%s)", *p.UID, m.GetUID())
	case p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion():
		return fmt.Sprintf("the resourceVersion in the precondition (%s) is not that of the object (%s)",
			*p.ResourceVersion, m.GetResourceVersion())
	}
	return ""
}

// object is a decoded object that can be encoded as it was: typed if it was protobuf, unstructured if it was JSON, so
// that no field is lost.
type object struct {
	object      runtime.Object
	contentType string
	serializer  runtime.Serializer // nil for JSON
}

// decodeObject decodes the object in a body of that content type.
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
		return nil, fmt.Errorf("reading an object: no decoder for %q", media)
	}
	obj, _, err := info.Serializer.Decode(body, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	return &object{object: obj, contentType: media, serializer: info.Serializer}, nil
}

// encode returns the object as contentType.
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

// decodeOptions returns the DeleteOptions in the body of a deletion, empty ones without a body.
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

// objectURL returns the URL of the call's object, without the subresource.
func (c *call) objectURL() *url.URL {
	at := *c.req.URL
	at.RawQuery = ""
	if c.info.Subresource != "" {
		at.Path, at.RawPath = strings.TrimSuffix(at.Path, "/"+c.info.Subresource), ""
	}
	return &at
}

// getObject reads an object in JSON: whole, or only its metadata if that is what the call accepts.
func (t *transport) getObject(c *call, at *url.URL) (*http.Response, error) {
	accept := runtime.ContentTypeJSON
	if strings.Contains(c.req.Header.Get("Accept"), "as=PartialObjectMetadata") {
		accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	}
	return t.get(c.req.Context(), c.req, at, accept)
}

// readAll reads the body of resp, and closes it.
func readAll(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close() //nolint:errcheck // the error of reading says more
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the response to %s %q: %w", resp.Request.Method, resp.Request.URL.Path, err)
	}
	return body, nil
}

// answerPatch returns the current object with the patch applied.
func (t *transport) answerPatch(c *call) (*http.Response, error) {
	media, _, _ := mime.ParseMediaType(c.req.Header.Get("Content-Type")) // an empty type is not patchable
	if !patchable[types.PatchType(media)] {
		return refusal(c.req, http.StatusUnsupportedMediaType,
			fmt.Sprintf("only a server can apply a patch of type %q", media)), nil
	}
	resp, err := t.current(c)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	before, err := readAll(resp)
	if err != nil {
		return nil, err
	}
	after, code, err := applyPatch(types.PatchType(media), before, c.body)
	if err != nil {
		return refusal(c.req, code, err.Error()), nil
	}
	if code, why := patchConflict(before, after); why != "" {
		return refusal(c.req, code, why), nil
	}
	if c.info.Subresource == "status" {
		if after, err = withStatusOf(before, after); err != nil {
			return refusal(c.req, http.StatusBadRequest, err.Error()), nil
		}
	}
	return newResponse(c.req, http.StatusOK, resp.Header.Get("Content-Type"), after), nil
}

// patchable are the patches that can be applied here. Server-side apply is not one: it needs the server's schemas.
var patchable = map[types.PatchType]bool{
	types.JSONPatchType: true, types.MergePatchType: true, types.StrategicMergePatchType: true,
}

// current reads what a patch is for: the subresource if it can be read, else its object.
func (t *transport) current(c *call) (*http.Response, error) {
	at := *c.req.URL
	at.RawQuery = ""
	resp, err := t.getObject(c, &at)
	if err != nil || c.info.Subresource == "" ||
		resp.StatusCode != http.StatusMethodNotAllowed && resp.StatusCode != http.StatusForbidden {
		return resp, err
	}
	_ = resp.Body.Close()
	return t.getObject(c, c.objectURL())
}

// applyPatch applies a patch to an object, both in JSON. code is the HTTP status for err.
func applyPatch(by types.PatchType, object, patch []byte) (after []byte, code int, err error) {
	switch by {
	case types.JSONPatchType:
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(patch); err != nil {
			return nil, http.StatusBadRequest, fmt.Errorf("reading a patch: %w", err)
		}
		if after, err = operations.Apply(object); err != nil {
			return nil, http.StatusUnprocessableEntity, fmt.Errorf("applying a patch: %w", err)
		}
	case types.MergePatchType:
		if after, err = jsonpatch.MergePatch(object, patch); err != nil {
			return nil, http.StatusBadRequest, fmt.Errorf("applying a patch: %w", err)
		}
	default:
		return applyStrategicPatch(object, patch)
	}
	return after, 0, nil
}

// applyStrategicPatch applies a patch that needs the object's Go type. For custom resources there is none, and a server
// refuses such patches of them too.
func applyStrategicPatch(object, patch []byte) (after []byte, code int, err error) {
	var head metav1.TypeMeta
	if err := json.Unmarshal(object, &head); err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("reading an object: %w", err)
	}
	var kind any = &metav1.PartialObjectMetadata{}
	if head.Kind != "PartialObjectMetadata" {
		if kind, err = scheme.Scheme.New(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)); err != nil {
			return nil, http.StatusUnsupportedMediaType, fmt.Errorf("applying a patch: %w", err)
		}
	}
	if after, err = strategicpatch.StrategicMergePatch(object, patch, kind); err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("applying a patch: %w", err)
	}
	return after, 0, nil
}

// withStatusOf returns before with the status of after.
func withStatusOf(before, after []byte) ([]byte, error) {
	object, err := decodeFields(before)
	if err != nil {
		return nil, err
	}
	changed, err := decodeFields(after)
	if err != nil {
		return nil, err
	}
	if status, ok := changed["status"]; ok {
		object["status"] = status
	} else {
		delete(object, "status")
	}
	return json.Marshal(object)
}

// patchConflict returns why a patch, which makes after of before, is not for this object, and the HTTP status that a
// server answers with. why is empty if it is for this object.
func patchConflict(before, after []byte) (code int, why string) {
	var was, is metav1.PartialObjectMetadata
	if json.Unmarshal(before, &was) != nil || json.Unmarshal(after, &is) != nil {
		return http.StatusUnprocessableEntity, "the patch makes something else than an object of it"
	}
	switch {
	case is.UID != was.UID:
		return http.StatusUnprocessableEntity,
			fmt.Sprintf("the patch is for the uid %s, and the object has %s", is.UID, was.UID)
	case is.ResourceVersion != was.ResourceVersion:
		return http.StatusConflict, fmt.Sprintf("the patch is for the resourceVersion %s, and the object has %s",
			is.ResourceVersion, was.ResourceVersion)
	}
	return 0, ""
}
