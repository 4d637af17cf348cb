package tap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
)

// protobufMagic is the prefix of objects in the API's protobuf encoding, before a runtime.Unknown (apimachinery:
// pkg/runtime/serializer/protobuf/doc.go).
var protobufMagic = []byte("k8s\x00")

// answer is an object as the API sent it, in JSON or protobuf. Only what is used is decoded. It is immutable.
type answer struct {
	body []byte
	kind string
	meta metav1.ObjectMeta // names, uid, versions and owners only, which are cheap to decode
}

var _ seenObject = (*answer)(nil)

// readAnswer reads the body of the answer and replaces it by one that returns the same, including a read error. It
// returns nil if the body is incomplete or compressed.
func readAnswer(resp *http.Response) *answer {
	body, err := io.ReadAll(resp.Body)
	closed := resp.Body.Close()
	var rest io.Reader = bytes.NewReader(body)
	if err := errors.Join(err, closed); err != nil {
		rest = io.MultiReader(rest, errReader{err})
	}
	resp.Body = io.NopCloser(rest)
	if err != nil || resp.Header.Get("Content-Encoding") != "" {
		return nil
	}
	return newAnswer(body)
}

// errReader is a reader that returns an error.
type errReader struct{ err error }

// Read implements io.Reader.
func (f errReader) Read([]byte) (int, error) { return 0, f.err }

// newAnswer decodes the kind and metadata of an object; both are empty if the body is no object.
func newAnswer(body []byte) *answer {
	a := &answer{body: body}
	if raw, ok := bytes.CutPrefix(body, protobufMagic); ok {
		var envelope runtime.Unknown
		var head metav1.PartialObjectMetadata // like every object it has its metadata as field 1
		if envelope.Unmarshal(raw) != nil {
			return a
		}
		a.kind = envelope.Kind
		if a.kind != "Status" && head.Unmarshal(envelope.Raw) == nil {
			a.meta = head.ObjectMeta
		}
		return a
	}
	var head struct {
		Kind     string
		Metadata struct {
			Name, GenerateName, Namespace, UID, ResourceVersion string
			OwnerReferences                                     []metav1.OwnerReference
		}
	}
	if json.Unmarshal(body, &head) == nil {
		m := head.Metadata
		a.kind, a.meta.UID = head.Kind, types.UID(m.UID)
		a.meta.Name, a.meta.Namespace, a.meta.ResourceVersion = m.Name, m.Namespace, m.ResourceVersion
		a.meta.GenerateName, a.meta.OwnerReferences = m.GenerateName, m.OwnerReferences
	}
	return a
}

// status returns an error without the patch that its message may quote; the message is the truncated body if it is no
// Status.
func (a *answer) status() metav1.Status {
	if a.kind == "Status" {
		if obj, err := a.object(); err == nil {
			if s, ok := obj.(*metav1.Status); ok {
				s.Message = fields.WithoutPatch(s.Message)
				return *s
			}
		}
	}
	return metav1.Status{Message: truncate(string(a.body))}
}

// partialMetadataKind is the kind of an answer to a request for metadata only.
const partialMetadataKind = "PartialObjectMetadata"

// object decodes the object: typed if its type is in client-go's scheme, else unstructured.
func (a *answer) object() (runtime.Object, error) {
	if a.kind == partialMetadataKind {
		return a.metadata()
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(a.body, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		obj, _, err = unstructured.UnstructuredJSONScheme.Decode(a.body, nil, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding an API answer of kind %q: %w", a.kind, err)
	}
	return obj, nil
}

// metadata decodes an object of kind partialMetadataKind.
func (a *answer) metadata() (*metav1.PartialObjectMetadata, error) {
	obj := &metav1.PartialObjectMetadata{}
	var err error
	if raw, ok := bytes.CutPrefix(a.body, protobufMagic); ok {
		var envelope runtime.Unknown
		if err = envelope.Unmarshal(raw); err == nil {
			err = obj.Unmarshal(envelope.Raw)
		}
	} else {
		err = json.Unmarshal(a.body, obj)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding the metadata of %q in an API answer: %w", a.meta.Name, err)
	}
	return obj, nil
}

func (a *answer) version() uint64 { return snapshot.VersionNumber(a.meta.ResourceVersion) }

// owner returns the name of the controller owner, or else of the first owner; empty if there is none.
func (a *answer) owner() string {
	if controller := metav1.GetControllerOfNoCopy(&a.meta); controller != nil {
		return controller.Name
	}
	for _, owner := range a.meta.OwnerReferences {
		return owner.Name
	}
	return ""
}

// created returns the fields of an object that was created, without the metadata and status that the server sets.
func (a *answer) created() []fields.Change {
	obj, err := a.object()
	if err != nil {
		return errorChange(err)
	}
	return slices.DeleteFunc(compare(nil, obj), func(c fields.Change) bool {
		return strings.HasPrefix(c.Path, "metadata.") || strings.HasPrefix(c.Path, "status.")
	})
}
