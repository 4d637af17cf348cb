package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	acceptJSON = "application/json"
	// acceptTyped asks for protobuf, which is several times cheaper to read, of kinds whose Go type is known.
	acceptTyped = "application/vnd.kubernetes.protobuf,application/json"
)

// Object reads one object whole. The error is the server's.
func (r *Reader) Object(ctx context.Context, kind Kind, namespace, name string) (*unstructured.Unstructured, error) {
	path, err := objectPath(&kind, namespace, name)
	if err != nil {
		return nil, err
	}
	a, err := r.get(ctx, path, acceptJSON, nil)
	if err != nil {
		return nil, err
	}
	return a.object()
}

// ListOptions say which objects of a kind to list, and how much of them.
type ListOptions struct {
	// Labels and Fields are selectors as kubectl takes them; empty selects all.
	Labels, Fields string
	// Whole keeps every field. Without it, objects come without the big fields that no status depends on (see trim).
	Whole bool
}

// ListObjects lists the objects of a kind in full, in pages, and hands each to each, in the server's order and once. An error
// of each ends the list and is returned; other errors are the server's.
//
// It is for judging status, not for showing objects: built-in kinds come by protobuf, through the Go types of client-go, and
// so without the fields of servers newer than these. Reader.Object has them.
func (r *Reader) ListObjects(ctx context.Context, target Target, o ListOptions, each func(*unstructured.Unstructured) error) error {
	path, err := segments(&target.Kind, target.Namespace, "")
	if err != nil {
		return err
	}
	accept := acceptJSON
	if scheme.Scheme.Recognizes(target.Kind.GroupVersionKind) {
		accept = acceptTyped
	}
	known := onceOnly{}
	options := metav1.ListOptions{Limit: pageSize, LabelSelector: o.Labels, FieldSelector: o.Fields}
	_, err = pages(ctx, options, func(options *metav1.ListOptions) (metav1.ListMeta, error) {
		a, err := r.get(ctx, path, accept, options)
		if err != nil {
			return metav1.ListMeta{}, err
		}
		return a.objects(target.Kind, o.Whole, func(obj *unstructured.Unstructured) error {
			if !known.first(obj.GetUID()) {
				return nil
			}
			return each(obj)
		})
	})
	return err
}

// objects decodes a page, one object at a time.
func (a answer) objects(kind Kind, whole bool, each func(*unstructured.Unstructured) error) (metav1.ListMeta, error) {
	if a.isProtobuf() {
		return a.typedObjects(kind, whole, each)
	}
	list := &unstructured.UnstructuredList{}
	if err := list.UnmarshalJSON(a.body); err != nil {
		return metav1.ListMeta{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	for i := range list.Items {
		if !whole {
			trim(&list.Items[i])
		}
		if err := each(&list.Items[i]); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return metav1.ListMeta{Continue: list.GetContinue(), ResourceVersion: list.GetResourceVersion()}, nil
}

func (a answer) typedObjects(kind Kind, whole bool, each func(*unstructured.Unstructured) error) (metav1.ListMeta, error) {
	list, _, err := scheme.Codecs.UniversalDeserializer().Decode(a.body, nil, nil)
	if err != nil {
		return metav1.ListMeta{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	is, err := meta.ListAccessor(list)
	if err != nil {
		return metav1.ListMeta{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		obj, err := untyped(kind, whole, item)
		if err != nil {
			return err
		}
		return each(obj)
	})
	return metav1.ListMeta{Continue: is.GetContinue(), ResourceVersion: is.GetResourceVersion()}, err
}

// untyped turns an object of a Go type into the form that JSON would have had.
func untyped(kind Kind, whole bool, item runtime.Object) (*unstructured.Unstructured, error) {
	if !whole {
		trimTyped(item)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(item)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	obj := &unstructured.Unstructured{Object: fields}
	obj.SetGroupVersionKind(kind.GroupVersionKind)
	return obj, nil
}

// object decodes one object in JSON.
func (a answer) object() (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(a.body); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return out, nil
}
