package memstore

import (
	"context"
	"fmt"
	"reflect"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// draft is an entry that is to be written.
type draft struct {
	*entry
	plain []byte // storage encoding before it was transformed, nil in mode Objects
}

// form is how the entries of a resource hold objects. Implementations are safe for concurrent use.
type form interface {
	// draft returns a draft that holds a copy of obj, without a revision.
	draft(ctx context.Context, key string, obj runtime.Object) (draft, error)
	// view returns the object of e with its resource version. It may be shared: it must not be mutated. If it has to be
	// decoded, it is into what empty returns; a nil empty leaves the type to the codec.
	view(ctx context.Context, e *entry, empty func() runtime.Object) (runtime.Object, error)
	// own turns an object that view returned into one that belongs to the caller.
	own(view runtime.Object) runtime.Object
	// fill sets out to a copy of e's object, with the given resource version.
	fill(ctx context.Context, e *entry, revision uint64, out runtime.Object) error
	// fillWritten is fill for the entry of a draft that was written.
	fillWritten(ctx context.Context, next draft, out runtime.Object) error
	// same says whether writing next in the place of e would change nothing.
	same(ctx context.Context, next draft, e *entry) (bool, error)
	// size returns the length of the storage encoding of e in bytes.
	size(e *entry) (int64, error)
}

// objectForm holds internal objects. It decodes nothing, and so its reads cannot fail for what is stored.
type objectForm struct {
	codec     runtime.Codec // for sizes only
	defaults  func(runtime.Object) (runtime.Object, error)
	versioner storage.APIObjectVersioner
}

var _ form = objectForm{}

func (f objectForm) draft(_ context.Context, key string, obj runtime.Object) (draft, error) {
	obj = obj.DeepCopyObject()
	if err := f.versioner.PrepareObjectForStorage(obj); err != nil {
		return draft{}, fmt.Errorf("preparing %q for storage: %w", key, err)
	}
	obj, err := f.defaults(obj)
	if err != nil {
		return draft{}, fmt.Errorf("applying the defaults of %q: %w", key, err)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return draft{}, fmt.Errorf("reading the metadata of %q: %w", key, err)
	}
	roundTimes(m)
	return draft{entry: &entry{key: key, object: obj}}, nil
}

// roundTimes drops what the storage encoding drops: the parts of a second of the times that the API server sets itself.
// Without it an object would differ from what its clients have seen, and its immutable creation time would seem changed.
func roundTimes(m metav1.Object) {
	if t := m.GetCreationTimestamp(); t.Nanosecond() != 0 {
		m.SetCreationTimestamp(metav1.Unix(t.Unix(), 0))
	}
	if t := m.GetDeletionTimestamp(); t != nil && t.Nanosecond() != 0 {
		seconds := metav1.Unix(t.Unix(), 0)
		m.SetDeletionTimestamp(&seconds)
	}
	fields := m.GetManagedFields()
	for i := range fields {
		if t := fields[i].Time; t != nil && t.Nanosecond() != 0 {
			seconds := metav1.Unix(t.Unix(), 0)
			fields[i].Time = &seconds
		}
	}
}

func (f objectForm) view(_ context.Context, e *entry, _ func() runtime.Object) (runtime.Object, error) {
	return e.object, nil
}

func (f objectForm) own(view runtime.Object) runtime.Object {
	return view.DeepCopyObject()
}

func (f objectForm) fill(_ context.Context, e *entry, revision uint64, out runtime.Object) error {
	into, err := conversion.EnforcePtr(out)
	if err != nil {
		return fmt.Errorf("unable to convert output object to pointer: %w", err)
	}
	object := e.object.DeepCopyObject()
	from := reflect.ValueOf(object).Elem()
	if from.Type() != into.Type() {
		return fmt.Errorf("reading %q: stored as %v, asked for as %v", e.key, from.Type(), into.Type())
	}
	if revision != e.revision {
		if err := f.versioner.UpdateObject(object, revision); err != nil {
			return err
		}
	}
	into.Set(from)
	return nil
}

func (f objectForm) fillWritten(ctx context.Context, next draft, out runtime.Object) error {
	return f.fill(ctx, next.entry, next.revision, out)
}

// same lends next the resource version of e for the comparison; the commit overwrites it.
func (f objectForm) same(_ context.Context, next draft, e *entry) (bool, error) {
	if err := f.versioner.UpdateObject(next.object, e.revision); err != nil {
		return false, err
	}
	return apiequality.Semantic.DeepEqual(next.object, e.object), nil
}

func (f objectForm) size(e *entry) (int64, error) {
	if n := e.size.Load(); n != 0 {
		return n, nil
	}
	object := e.object.DeepCopyObject()
	if err := f.versioner.PrepareObjectForStorage(object); err != nil {
		return 0, fmt.Errorf("preparing %q for storage: %w", e.key, err)
	}
	data, err := runtime.Encode(f.codec, object)
	if err != nil {
		return 0, fmt.Errorf("encoding %q: %w", e.key, err)
	}
	e.size.Store(int64(len(data)))
	return int64(len(data)), nil
}
