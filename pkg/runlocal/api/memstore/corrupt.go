package memstore

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/value"
)

// What is wrong with a corrupt object, in the words of k8s.io/apiserver/pkg/storage/etcd3/corrupt_obj_deleter.go.
const (
	untransformable = "data from the storage is not transformable"
	undecodable     = "object not decodable"
)

// corruptError says that stored data cannot be turned into an object: such an object may be deleted without being read.
type corruptError struct {
	what     string
	revision uint64
	err      error
}

func (e *corruptError) Error() string {
	return fmt.Sprintf("%s revision=%d: %v", e.what, e.revision, e.err)
}

func (e *corruptError) Unwrap() error { return e.err }

// asCorrupt returns err as the storage error by which the registry knows a corrupt object, or err itself.
func asCorrupt(key string, err error) error {
	if corrupt, ok := errors.AsType[*corruptError](err); ok {
		return storage.NewCorruptObjError(key, corrupt)
	}
	return err
}

// corruptTransformer reports what cannot be transformed as corrupt.
type corruptTransformer struct {
	value.Transformer
}

// TransformFromStorage implements value.Transformer.
func (t corruptTransformer) TransformFromStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, bool, error) {
	data, stale, err := t.Transformer.TransformFromStorage(ctx, data, dataCtx)
	if err != nil {
		err = &corruptError{what: untransformable, err: err}
	}
	return data, stale, err
}
