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
	out := &unstructured.Unstructured{}
	err = r.get(ctx, path, acceptJSON, nil, func(a answer) error { return a.into(out, nil) })
	if err != nil {
		return nil, err
	}
	return out, nil
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
		var p page
		if err := r.get(ctx, path, accept, options, func(a answer) error { return p.decode(a, target.Kind) }); err != nil {
			return metav1.ListMeta{}, err
		}
		return p.meta, p.each(target.Kind, o.Whole, func(obj *unstructured.Unstructured) error {
			if !known.first(obj.GetUID()) {
				return nil
			}
			return each(obj)
		})
	})
	return err
}

// page is a page of objects, of a Go type if they came by protobuf.
type page struct {
	list runtime.Object
	meta metav1.ListMeta
}

// decode reads an answer; the objects are the page's own.
func (p *page) decode(a answer, kind Kind) error {
	list := &unstructured.UnstructuredList{}
	p.list = list
	err := a.into(list, func(message []byte) (err error) {
		p.list, err = decodeTyped(message, kind)
		return err
	})
	if err != nil {
		return err
	}
	accessor, err := meta.ListAccessor(p.list)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	p.meta = metav1.ListMeta{Continue: accessor.GetContinue(), ResourceVersion: accessor.GetResourceVersion()}
	return nil
}

func decodeTyped(message []byte, kind Kind) (runtime.Object, error) {
	list, err := scheme.Scheme.New(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err != nil {
		return nil, err
	}
	decoder, ok := list.(interface{ Unmarshal(message []byte) error })
	if !ok {
		return nil, fmt.Errorf("%T has no protobuf", list)
	}
	return list, decoder.Unmarshal(message)
}

// each hands over the objects, one after the other, so that only one at a time is there in the form that takes most memory.
func (p *page) each(kind Kind, whole bool, each func(*unstructured.Unstructured) error) error {
	return meta.EachListItem(p.list, func(item runtime.Object) error {
		obj, err := untyped(kind, whole, item)
		if err != nil {
			return err
		}
		return each(obj)
	})
}

// untyped turns an object of a Go type into the form that JSON would have had.
func untyped(kind Kind, whole bool, item runtime.Object) (*unstructured.Unstructured, error) {
	if obj, ok := item.(*unstructured.Unstructured); ok {
		if !whole {
			trim(obj)
		}
		return obj, nil
	}
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
