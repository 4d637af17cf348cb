package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	acceptJSON = "application/json"
	// acceptTyped requests protobuf, which is several times cheaper to decode, for kinds whose Go type is known.
	acceptTyped = "application/vnd.kubernetes.protobuf,application/json"
)

// Object reads one object whole. The error is the server's.
func (r *Reader) Object(ctx context.Context, kind Kind, namespace, name string) (*unstructured.Unstructured, error) {
	path, err := objectPath(&kind, namespace, name)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{}
	err = r.get(ctx, path, acceptJSON, func(a answer) error { return a.decode(out, nil) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ListOptions selects which objects of a kind to list, and which of their fields.
type ListOptions struct {
	// Labels and Fields are selectors as kubectl takes them; empty selects all.
	Labels, Fields string
	// At makes ListJSON list the state at exactly this resource version, if the server has it; else, and if it is
	// empty, the latest. Other lists ignore it.
	At string
	// Whole keeps every field. Without it, objects do not have the large fields that do not affect a status (see
	// trimUnstructured and trimTyped).
	Whole bool
}

// ListObjects lists the objects of a kind in full, in pages, and calls each once for every object, in the server's
// order. An error of each ends the list and is returned; other errors are the server's. As each is called while the
// answer is being read, it must not wait for other requests of the reader.
//
// The objects are meant for Inspect, not for printing: built-in kinds are decoded from protobuf into the Go types of
// client-go, and so lack fields that only newer servers have. Object returns these too.
func (r *Reader) ListObjects(
	ctx context.Context, target Target, o ListOptions, each func(*unstructured.Unstructured) error,
) error {
	_, err := r.listObjects(ctx, target, o, each)
	return err
}

// listObjects is ListObjects, and returns the resource version of the list, also with errUnreadable.
func (r *Reader) listObjects(
	ctx context.Context, target Target, o ListOptions, each func(*unstructured.Unstructured) error,
) (string, error) {
	accept := acceptJSON
	if scheme.Scheme.Recognizes(target.Kind.GroupVersionKind) {
		accept = acceptTyped
	}
	seen := seenUIDs{}
	progress := r.progress.begin(&target.Kind)
	defer progress.end()
	p := objectPage{kind: target.Kind, whole: o.Whole, omit: omittedForStatus(target.Kind.GroupVersionKind)}
	p.each = func(obj *unstructured.Unstructured) error {
		if !seen.first(obj.GetUID()) {
			return nil
		}
		progress.addObjects(1)
		return each(obj)
	}
	return r.listPages(ctx, target, accept, o, progress, func(
		ctx context.Context, in io.Reader, left *unusable,
	) (metav1.ListMeta, error) {
		p.list = metav1.ListMeta{}
		err := r.readPage(ctx, in, &p, left)
		return p.list, err
	})
}

// listPages reads all pages of a list of full objects, and returns its resource version. Pages in protobuf are large,
// as they are decoded while they arrive.
func (r *Reader) listPages(
	ctx context.Context, target Target, accept string, o ListOptions, progress *listProgress,
	read func(context.Context, io.Reader, *unusable) (metav1.ListMeta, error),
) (string, error) {
	path, err := pathSegments(&target.Kind, target.Namespace, "")
	if err != nil {
		return "", err
	}
	options := metav1.ListOptions{Limit: pageSize, LabelSelector: o.Labels, FieldSelector: o.Fields}
	if accept == acceptTyped {
		options.Limit = r.largePage
	}
	var left unusable
	version, err := pages(ctx, options, func(options *metav1.ListOptions) (list metav1.ListMeta, err error) {
		err = r.stream(ctx, path, accept, options, func(in io.Reader) (err error) {
			list, err = read(ctx, in, &left)
			return err
		})
		progress.endPage(list)
		return list, err
	})
	return version, cmp.Or(err, left.err())
}

// objectPage implements pageDecoder. It calls each for one object after the other, so that only one at a time is in
// memory in its largest form.
type objectPage struct {
	kind   Kind
	whole  bool
	each   func(*unstructured.Unstructured) error
	list   metav1.ListMeta
	omit   omitted
	pruned []byte // buffer for the current object
}

func (p *objectPage) begin(list metav1.ListMeta) { p.list = list }

func (p *objectPage) readJSON(ctx context.Context, a answer, left *unusable) error {
	return a.eachItem(ctx, &p.list, left, func(item json.RawMessage) error {
		var fields map[string]any
		if err := utiljson.Unmarshal(item, &fields); err != nil {
			return unreadable(err)
		}
		obj := &unstructured.Unstructured{Object: fields}
		if obj.GetKind() == "" { // as in the lists of built-in kinds
			obj.SetGroupVersionKind(p.kind.GroupVersionKind)
		}
		if !p.whole {
			trimUnstructured(obj)
		}
		return p.each(obj)
	})
}

// item decodes an object by its Go type.
func (p *objectPage) item(data []byte) error {
	item, err := scheme.Scheme.New(p.kind.GroupVersionKind)
	if err != nil {
		return unreadable(err)
	}
	decoder, ok := item.(interface{ Unmarshal(message []byte) error })
	if !ok {
		return unreadable(fmt.Errorf("%T has no protobuf", item))
	}
	if !p.whole {
		if p.pruned, err = prune(p.pruned[:0], data, p.omit); err != nil {
			return unreadable(err)
		}
		data = p.pruned
	}
	if err := decoder.Unmarshal(data); err != nil {
		return unreadable(err)
	}
	obj, err := toUnstructured(p.kind, p.whole, item)
	if err != nil {
		return err
	}
	return p.each(obj)
}

// toUnstructured converts an object of a Go type to what decoding its JSON would have returned.
func toUnstructured(kind Kind, whole bool, item runtime.Object) (*unstructured.Unstructured, error) {
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

// Typed is an object of a Go type of k8s.io/api.
type Typed interface {
	runtime.Object
	metav1.ObjectMetaAccessor
	Unmarshal(message []byte) error
}

// ListTyped lists the objects of a kind, in pages, in the Go type that newObject returns, which must be a new empty
// object each time, and calls each once for every object, in the server's order. An error of each ends the list and
// is returned; other errors are the server's. As each is called while the answer is being read, it must not wait for
// other requests of the reader.
//
// It is meant for finding references to other objects: status, annotations and managedFields are mostly left out, and
// so are most fields of containers, except the sources of their environment. If the kind's version has another Go
// type, the objects are read as JSON.
func (r *Reader) ListTyped(
	ctx context.Context, target Target, o ListOptions, newObject func() Typed, each func(Typed) error,
) error {
	accept := acceptJSON
	registered, err := scheme.Scheme.New(target.Kind.GroupVersionKind)
	if err == nil && reflect.TypeOf(registered) == reflect.TypeOf(newObject()) {
		accept = acceptTyped
	}
	progress := r.progress.begin(&target.Kind)
	defer progress.end()
	counted := func(object Typed) error {
		progress.addObjects(1)
		return each(object)
	}
	p := typedPage{
		newObject: newObject, each: counted, seen: seenUIDs{}, omit: omittedForReferences(target.Kind.GroupVersionKind),
	}
	_, err = r.listPages(ctx, target, accept, o, progress, func(
		ctx context.Context, in io.Reader, left *unusable,
	) (metav1.ListMeta, error) {
		p.list = metav1.ListMeta{}
		err := r.readPage(ctx, in, &p, left)
		return p.list, err
	})
	return err
}

// ListPlacedPods lists the pods of all namespaces that take room on a node: those that are bound and have not ended. It
// calls each once for every pod, with what a scheduler considers of pods that are placed already: names, labels, node,
// priority, and of containers resources and ports. kind is that of pods. Errors and each are as for ListTyped.
func (r *Reader) ListPlacedPods(ctx context.Context, kind Kind, each func(*corev1.Pod) error) error {
	progress := r.progress.begin(&kind)
	defer progress.end()
	p := typedPage{newObject: func() Typed { return &corev1.Pod{} }, seen: seenUIDs{}, omit: omittedForPlacement()}
	p.each = func(object Typed) error {
		progress.addObjects(1)
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return nil
		}
		return each(pod)
	}
	o := ListOptions{Fields: "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"}
	_, err := r.listPages(ctx, Target{Kind: kind}, acceptTyped, o, progress, func(
		ctx context.Context, in io.Reader, left *unusable,
	) (metav1.ListMeta, error) {
		p.list = metav1.ListMeta{}
		err := r.readPage(ctx, in, &p, left)
		return p.list, err
	})
	return err
}

// typedPage implements pageDecoder. It calls each for one object after the other.
type typedPage struct {
	newObject func() Typed
	each      func(Typed) error
	seen      seenUIDs
	list      metav1.ListMeta
	omit      omitted
	pruned    []byte // buffer for the current object
}

func (p *typedPage) begin(list metav1.ListMeta) { p.list = list }

func (p *typedPage) item(data []byte) (err error) {
	if p.pruned, err = prune(p.pruned[:0], data, p.omit); err != nil {
		return unreadable(err)
	}
	object := p.newObject()
	if err := object.Unmarshal(p.pruned); err != nil {
		return unreadable(err)
	}
	return p.deliver(object)
}

func (p *typedPage) readJSON(ctx context.Context, a answer, left *unusable) error {
	return a.eachItem(ctx, &p.list, left, func(item json.RawMessage) error {
		object := p.newObject()
		if err := json.Unmarshal(item, object); err != nil {
			return unreadable(err)
		}
		return p.deliver(object)
	})
}

// deliver calls each, unless the object was seen before.
func (p *typedPage) deliver(object Typed) error {
	if !p.seen.first(object.GetObjectMeta().GetUID()) {
		return nil
	}
	return p.each(object)
}
