package memstore

import (
	"bytes"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3/metrics"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
)

// encodedForm holds what etcd would: the storage encoding, transformed. It mirrors the reads and writes of
// k8s.io/apiserver/pkg/storage/etcd3/store.go and decoder.go.
type encodedForm struct {
	codec       runtime.Codec
	transformer value.Transformer
	versioner   storage.APIObjectVersioner
	corruptible bool
	resource    schema.GroupResource
}

var _ form = (*encodedForm)(nil)

func newEncodedForm(config *storagebackend.ConfigForResource, corruptible bool) *encodedForm {
	f := &encodedForm{
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

func (f *encodedForm) draft(ctx context.Context, key string, obj runtime.Object) (draft, error) {
	obj = obj.DeepCopyObject()
	if err := f.versioner.PrepareObjectForStorage(obj); err != nil {
		return draft{}, fmt.Errorf("preparing %q for storage: %w", key, err)
	}
	plain, err := runtime.Encode(f.codec, obj)
	if err != nil {
		return draft{}, err
	}
	data, err := f.transformer.TransformToStorage(ctx, plain, dataContext(key))
	if err != nil {
		return draft{}, storage.NewInternalError(err)
	}
	if len(data) > maxSize {
		return draft{}, errTooLarge
	}
	return draft{entry: &entry{key: key, data: data, size: len(data)}, plain: plain}, nil
}

// plain returns the encoding of e, and whether it would be written differently today.
func (f *encodedForm) plain(ctx context.Context, e *entry) (data []byte, stale bool, err error) {
	return f.transformer.TransformFromStorage(ctx, e.data, dataContext(e.key))
}

func (f *encodedForm) view(ctx context.Context, e *entry, empty func() runtime.Object) (runtime.Object, error) {
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

func (f *encodedForm) own(view runtime.Object) runtime.Object {
	return view
}

func (f *encodedForm) fill(ctx context.Context, e *entry, revision uint64, out runtime.Object) error {
	if _, err := conversion.EnforcePtr(out); err != nil {
		return fmt.Errorf("unable to convert output object to pointer: %w", err)
	}
	data, _, err := f.plain(ctx, e)
	if err != nil {
		return storage.NewInternalError(err)
	}
	return f.decode(data, e, revision, out)
}

func (f *encodedForm) fillWritten(_ context.Context, next draft, out runtime.Object) error {
	return f.decode(next.plain, next.entry, next.revision, out)
}

// decode sets out to the object that data, the encoding of e, holds.
func (f *encodedForm) decode(data []byte, e *entry, revision uint64, out runtime.Object) error {
	if _, _, err := f.codec.Decode(data, nil, out); err != nil {
		return f.undecodable(e, err)
	}
	return f.versioner.UpdateObject(out, revision)
}

// undecodable is the error of an entry that could not be decoded, which it counts.
func (f *encodedForm) undecodable(e *entry, err error) error {
	metrics.RecordDecodeError(f.resource)
	if !f.corruptible {
		return err
	}
	return &corruptError{what: undecodable, revision: e.revision, err: err}
}

func (f *encodedForm) same(ctx context.Context, next draft, e *entry) (bool, error) {
	data, stale, err := f.plain(ctx, e)
	if err != nil {
		return false, storage.NewInternalError(err)
	}
	return !stale && bytes.Equal(data, next.plain), nil
}
