package memstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3/metrics"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
)

// maxObjectSize is what an object may take in bytes: etcd's default --max-request-bytes. There a request also has the
// key and a few bytes more, so an object that is larger by less than that is refused there and accepted here.
const maxObjectSize = 1536 * 1024

// errTooLarge is the answer to a write of more than maxSize, in the words of go.etcd.io/etcd/api/v3/v3rpc/rpctypes.
var errTooLarge = errors.New("etcdserver: request is too large")

// prepare is an entry that is to be written.
type pendingEntry struct {
	*entry
	plain []byte // storage encoding before it was transformed, nil in mode Objects
}

// representation is how the entries of a resource hold objects. Implementations are safe for concurrent use.
type representation interface {
	// prepare returns an entry that holds a copy of obj, without a revision.
	prepare(ctx context.Context, key string, obj runtime.Object) (pendingEntry, error)
	// view returns the object of e with its resource version. It may be shared and must not be mutated. If it must be
	// decoded, then into what empty returns; with a nil empty the codec chooses the type.
	view(ctx context.Context, e *entry, empty func() runtime.Object) (runtime.Object, error)
	// copyView returns an object that view returned, or a copy, that the caller may mutate.
	copyView(view runtime.Object) runtime.Object
	// fill sets out to a copy of e's object, with the given resource version.
	fill(ctx context.Context, e *entry, revision uint64, out runtime.Object) error
	// fillWritten is fill for an entry of prepare that was written.
	fillWritten(ctx context.Context, next pendingEntry, out runtime.Object) error
	// same reports whether writing next in the place of e would change nothing.
	same(ctx context.Context, next pendingEntry, e *entry) (bool, error)
}

// objectRepresentation holds internal objects. A write encodes its object and decodes it again, as etcd3 does: that
// completes defaults which a strategy has cleared, and drops what the encoding drops, such as parts of seconds and
// empty lists. Reads decode nothing, and so cannot fail for what is stored.
type objectRepresentation struct {
	codec     runtime.Codec
	versioner storage.APIObjectVersioner
}

var _ representation = objectRepresentation{}

func (f objectRepresentation) prepare(_ context.Context, key string, obj runtime.Object) (pendingEntry, error) {
	data, err := f.encode(key, obj)
	if err != nil {
		return pendingEntry{}, err
	}
	if len(data) > maxObjectSize {
		return pendingEntry{}, errTooLarge
	}
	object := emptyLike(obj)
	if _, _, err := f.codec.Decode(data, nil, object); err != nil {
		return pendingEntry{}, fmt.Errorf("decoding %q as it would be stored: %w", key, err)
	}
	return pendingEntry{entry: &entry{key: key, object: object, sum: sha256.Sum256(data), size: len(data)}}, nil
}

// encode leaves obj as it was when it returns.
func (f objectRepresentation) encode(key string, obj runtime.Object) ([]byte, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of %q: %w", key, err)
	}
	version, link := m.GetResourceVersion(), m.GetSelfLink()
	defer func() {
		m.SetResourceVersion(version)
		m.SetSelfLink(link)
	}()
	if err := f.versioner.PrepareObjectForStorage(obj); err != nil {
		return nil, fmt.Errorf("preparing %q for storage: %w", key, err)
	}
	return runtime.Encode(f.codec, obj)
}

func (f objectRepresentation) view(_ context.Context, e *entry, _ func() runtime.Object) (runtime.Object, error) {
	return e.object, nil
}

func (f objectRepresentation) copyView(view runtime.Object) runtime.Object {
	return view.DeepCopyObject()
}

func (f objectRepresentation) fill(_ context.Context, e *entry, revision uint64, out runtime.Object) error {
	into, err := conversion.EnforcePtr(out)
	if err != nil {
		return fmt.Errorf("unable to convert output object to pointer: %w", err)
	}
	object := e.object.DeepCopyObject()
	from := reflect.ValueOf(object).Elem()
	if from.Type() != into.Type() {
		return fmt.Errorf("reading %q: stored as %v, requested as %v", e.key, from.Type(), into.Type())
	}
	if revision != e.revision {
		if err := f.versioner.UpdateObject(object, revision); err != nil {
			return err
		}
	}
	into.Set(from)
	return nil
}

func (f objectRepresentation) fillWritten(ctx context.Context, next pendingEntry, out runtime.Object) error {
	return f.fill(ctx, next.entry, next.revision, out)
}

// same compares encodings, as etcd3 does. What decoding completes is not part of the encoding that was completed: so
// the first write after it is a write, even if it changes nothing that a client sees.
func (f objectRepresentation) same(_ context.Context, next pendingEntry, e *entry) (bool, error) {
	return next.sum == e.sum, nil
}

// encodedRepresentation holds what etcd would: the storage encoding, transformed. It mirrors store.Create,
// store.GuaranteedUpdate and store.getState of k8s.io/apiserver/pkg/storage/etcd3/store.go, and defaultDecoder.Decode
// and defaultDecoder.DecodeListItem of k8s.io/apiserver/pkg/storage/etcd3/decoder.go.
type encodedRepresentation struct {
	codec       runtime.Codec
	transformer value.Transformer
	versioner   storage.APIObjectVersioner
	corruptible bool
	resource    schema.GroupResource
}

var _ representation = (*encodedRepresentation)(nil)

func newEncodedRepresentation(config *storagebackend.ConfigForResource, corruptible bool) *encodedRepresentation {
	f := &encodedRepresentation{
		codec: config.Codec, transformer: config.Transformer, corruptible: corruptible, resource: config.GroupResource,
	}
	if f.transformer == nil {
		f.transformer = identity.NewEncryptCheckTransformer()
	}
	if corruptible {
		f.transformer = corruptTransformer{f.transformer}
	}
	return f
}

// dataContext binds transformed data to its key, as etcd3 does.
func dataContext(key string) value.Context {
	return value.DefaultContext(key)
}

func (f *encodedRepresentation) prepare(ctx context.Context, key string, obj runtime.Object) (pendingEntry, error) {
	obj = obj.DeepCopyObject()
	if err := f.versioner.PrepareObjectForStorage(obj); err != nil {
		return pendingEntry{}, fmt.Errorf("preparing %q for storage: %w", key, err)
	}
	plain, err := runtime.Encode(f.codec, obj)
	if err != nil {
		return pendingEntry{}, err
	}
	data, err := f.transformer.TransformToStorage(ctx, plain, dataContext(key))
	if err != nil {
		return pendingEntry{}, storage.NewInternalError(err)
	}
	if len(data) > maxObjectSize {
		return pendingEntry{}, errTooLarge
	}
	return pendingEntry{entry: &entry{key: key, data: data, size: len(data)}, plain: plain}, nil
}

// plain returns the encoding of e before transformation, and whether it is stale: would be written differently now.
func (f *encodedRepresentation) plain(ctx context.Context, e *entry) (data []byte, stale bool, err error) {
	return f.transformer.TransformFromStorage(ctx, e.data, dataContext(e.key))
}

func (f *encodedRepresentation) view(
	ctx context.Context, e *entry, empty func() runtime.Object,
) (runtime.Object, error) {
	var into runtime.Object
	if empty != nil {
		into = empty()
	}
	data, _, err := f.plain(ctx, e)
	if err != nil {
		return nil, storage.NewInternalError(fmt.Errorf("unable to transform key %q: %w", e.key, err))
	}
	obj, _, err := f.codec.Decode(data, nil, into)
	if err != nil {
		return nil, f.undecodable(e, err)
	}
	return obj, f.versioner.UpdateObject(obj, e.revision)
}

func (f *encodedRepresentation) copyView(view runtime.Object) runtime.Object {
	return view
}

func (f *encodedRepresentation) fill(ctx context.Context, e *entry, revision uint64, out runtime.Object) error {
	if _, err := conversion.EnforcePtr(out); err != nil {
		return fmt.Errorf("unable to convert output object to pointer: %w", err)
	}
	data, _, err := f.plain(ctx, e)
	if err != nil {
		return storage.NewInternalError(err)
	}
	return f.decode(data, e, revision, out)
}

func (f *encodedRepresentation) fillWritten(_ context.Context, next pendingEntry, out runtime.Object) error {
	return f.decode(next.plain, next.entry, next.revision, out)
}

// decode sets out to the object that data, the encoding of e, holds.
func (f *encodedRepresentation) decode(data []byte, e *entry, revision uint64, out runtime.Object) error {
	if _, _, err := f.codec.Decode(data, nil, out); err != nil {
		return f.undecodable(e, err)
	}
	return f.versioner.UpdateObject(out, revision)
}

// undecodable is the error of an entry that could not be decoded, which it counts.
func (f *encodedRepresentation) undecodable(e *entry, err error) error {
	metrics.RecordDecodeError(f.resource)
	if !f.corruptible {
		return err
	}
	return &corruptError{what: undecodable, revision: e.revision, err: err}
}

func (f *encodedRepresentation) same(ctx context.Context, next pendingEntry, e *entry) (bool, error) {
	data, stale, err := f.plain(ctx, e)
	if err != nil {
		return false, storage.NewInternalError(err)
	}
	return !stale && bytes.Equal(data, next.plain), nil
}
