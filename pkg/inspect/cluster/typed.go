package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// Typed is an object of a Go type of k8s.io/api.
type Typed interface {
	runtime.Object
	metav1.ObjectMetaAccessor
	Unmarshal(message []byte) error
}

// ListTyped lists the objects of a kind, in pages, in the Go type of what fresh returns, which is an empty object each time,
// and hands each to each, in the server's order and once. An error of each ends the list and is returned; other errors are
// the server's. The answer is read meanwhile, so each must not wait for other requests of the reader.
//
// It is for finding out what objects say about others: status, annotations and managedFields are mostly left out, and so is
// what containers do beside taking variables from somewhere. A version of the kind that has another Go type is read by the
// names of its fields.
func (r *Reader) ListTyped(ctx context.Context, target Target, o ListOptions, fresh func() Typed, each func(Typed) error) error {
	accept := acceptJSON
	if known, err := scheme.Scheme.New(target.Kind.GroupVersionKind); err == nil && reflect.TypeOf(known) == reflect.TypeOf(fresh()) {
		accept = acceptTyped
	}
	progress := r.progress.begin(&target.Kind)
	defer progress.end()
	counted := func(object Typed) error {
		progress.read(1)
		return each(object)
	}
	p := typedPage{fresh: fresh, each: counted, known: onceOnly{}, bulk: bulkBesideNames(target.Kind.GroupVersionKind)}
	return r.listPages(ctx, target, accept, o, progress, func(in io.Reader) (metav1.ListMeta, error) {
		p.list = metav1.ListMeta{}
		err := r.readPage(in, &p)
		return p.list, err
	})
}

// typedPage hands over the objects of a page one after the other.
type typedPage struct {
	fresh func() Typed
	each  func(Typed) error
	known onceOnly
	list  metav1.ListMeta
	bulk  bulk
	kept  []byte // of an object
}

func (p *typedPage) begin(list metav1.ListMeta) { p.list = list }

func (p *typedPage) item(data []byte) (err error) {
	if p.kept, err = prune(p.kept[:0], data, p.bulk); err != nil {
		return unreadable(err)
	}
	object := p.fresh()
	if err := object.Unmarshal(p.kept); err != nil {
		return unreadable(err)
	}
	return p.hand(object)
}

func (p *typedPage) readJSON(a answer) error {
	var list struct {
		metav1.ListMeta `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := a.into(&list, nil); err != nil {
		return err
	}
	p.list = list.ListMeta
	for _, item := range list.Items {
		object := p.fresh()
		if err := json.Unmarshal(item, object); err != nil {
			return unreadable(fmt.Errorf("an object of the list: %w", err))
		}
		if err := p.hand(object); err != nil {
			return err
		}
	}
	return nil
}

func (p *typedPage) hand(object Typed) error {
	if !p.known.first(object.GetObjectMeta().GetUID()) {
		return nil
	}
	return p.each(object)
}
