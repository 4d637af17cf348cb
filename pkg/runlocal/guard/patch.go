package guard

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// answerPatch answers with the object as the patch would make it, of what it is at this moment.
func (t *transport) answerPatch(c *call) (*http.Response, error) {
	media, _, _ := mime.ParseMediaType(c.req.Header.Get("Content-Type")) // without one it is not patchable
	if !patchable[types.PatchType(media)] {
		return refuse(c.req, http.StatusUnsupportedMediaType, fmt.Sprintf("only a server can apply a patch of type %q", media)), nil
	}
	resp, err := t.current(c)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	before, err := readAll(resp)
	if err != nil {
		return nil, err
	}
	after, code, err := patched(types.PatchType(media), before, c.body)
	if err != nil {
		return refuse(c.req, code, err.Error()), nil
	}
	if code, why := conflicts(before, after); why != "" {
		return refuse(c.req, code, why), nil
	}
	if c.info.Subresource == "status" {
		if after, err = onlyStatus(before, after); err != nil {
			return refuse(c.req, http.StatusBadRequest, err.Error()), nil
		}
	}
	return respond(c.req, http.StatusOK, resp.Header.Get("Content-Type"), after), nil
}

var patchable = map[types.PatchType]bool{types.JSONPatchType: true, types.MergePatchType: true, types.StrategicMergePatchType: true}

// current reads what is to be patched: the subresource if that can be read, else its object.
func (t *transport) current(c *call) (*http.Response, error) {
	at := *c.req.URL
	at.RawQuery = ""
	resp, err := t.getObject(c, &at)
	if err != nil || c.info.Subresource == "" || resp.StatusCode != http.StatusMethodNotAllowed && resp.StatusCode != http.StatusForbidden {
		return resp, err
	}
	_ = resp.Body.Close()
	return t.getObject(c, c.objectURL())
}

// patched applies a patch to an object, both in JSON. The code is that of an error.
func patched(by types.PatchType, object, patch []byte) (after []byte, code int, err error) {
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
		return strategic(object, patch)
	}
	return after, 0, nil
}

// strategic applies a patch that needs the object's Go type; of kinds that Kubernetes does not have there is none, and a
// server refuses such patches too.
func strategic(object, patch []byte) (after []byte, code int, err error) {
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

// onlyStatus is the object as it was, with the status of the patched one.
func onlyStatus(before, after []byte) ([]byte, error) {
	object, err := fields(before)
	if err != nil {
		return nil, err
	}
	changed, err := fields(after)
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

// conflicts says how a patch was not meant for the object that there is, and the code of a server's answer; empty if it was.
func conflicts(before, after []byte) (code int, why string) {
	var was, is metav1.PartialObjectMetadata
	if json.Unmarshal(before, &was) != nil || json.Unmarshal(after, &is) != nil {
		return http.StatusUnprocessableEntity, "the patch makes something else than an object of it"
	}
	switch {
	case is.UID != was.UID:
		return http.StatusUnprocessableEntity, fmt.Sprintf("the patch is for the uid %s, and the object has %s", is.UID, was.UID)
	case is.ResourceVersion != was.ResourceVersion:
		return http.StatusConflict, fmt.Sprintf("the patch is for the resourceVersion %s, and the object has %s", is.ResourceVersion, was.ResourceVersion)
	}
	return 0, ""
}
