package memstore

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3/metrics"
)

// Create implements storage.Interface. A time to live is in seconds, 0 for none. obj stays the caller's; a nil out is
// allowed.
func (r *resource) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	key, err := r.key(key, false)
	if err != nil {
		return err
	}
	if version, err := r.versioner.ObjectResourceVersion(obj); err == nil && version != 0 {
		return storage.ErrResourceVersionSetOnCreate
	}
	next, err := r.prepareNew(ctx, key, obj)
	if err != nil {
		return err
	}
	revision, err := r.swap(ctx, "create", key, nil, next.entry)
	if err != nil {
		return err
	}
	if revision == 0 {
		return storage.NewKeyExistsError(key, 0)
	}
	r.store.expiry.add(r.table, next.entry, ttl)
	if out == nil {
		return nil
	}
	return r.representation.fillWritten(ctx, next, out)
}

// prepareNew is the representation's prepare for an object that is created.
func (r *resource) prepareNew(ctx context.Context, key string, obj runtime.Object) (pendingEntry, error) {
	if r.store.newUID == nil {
		return r.representation.prepare(ctx, key, obj)
	}
	if uid := r.store.newUID(r.groupResource); uid != "" {
		obj = obj.DeepCopyObject()
		m, err := meta.Accessor(obj)
		if err != nil {
			return pendingEntry{}, fmt.Errorf("reading the metadata of %q: %w", key, err)
		}
		m.SetUID(uid)
	}
	return r.representation.prepare(ctx, key, obj)
}

// swap is the table's, measured as a request to etcd of that operation.
func (r *resource) swap(ctx context.Context, operation, key string, want, next *entry) (uint64, error) {
	began := time.Now()
	revision, err := r.table.swap(ctx, key, want, next)
	metrics.RecordEtcdRequest(operation, r.groupResource, err, began)
	if revision != 0 {
		metrics.RecordEtcdEvent(r.groupResource)
	}
	return revision, err
}

// Delete implements storage.Interface. The suggestion of what the object may be is not needed, since the object itself
// is at hand: preconditions and validation only ever see the current one.
func (r *resource) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, _ runtime.Object, opts storage.DeleteOptions,
) error {
	key, err := r.key(key, false)
	if err != nil {
		return err
	}
	if _, err := conversion.EnforcePtr(out); err != nil {
		return fmt.Errorf("unable to convert output object to pointer: %w", err)
	}
	unread := r.corruptible && opts.ExpectTransformOrDecodeError
	for ctx.Err() == nil {
		e, _ := r.table.get(key)
		if e == nil {
			return storage.NewKeyNotFoundError(key, 0)
		}
		done, err := r.delete(ctx, e, out, unread, preconditions, validate)
		if err != nil || done {
			return err
		}
	}
	return ctx.Err()
}

// delete tries once to delete e, and sets out to what it was, unless it is to be deleted unread. It returns false if
// another writer was faster.
func (r *resource) delete(ctx context.Context, e *entry, out runtime.Object, unread bool,
	preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc,
) (done bool, err error) {
	obj, err := r.deletable(ctx, e, out, unread)
	if err != nil {
		return false, err
	}
	if err := preconditions.Check(e.key, obj); err != nil {
		return false, err
	}
	if err := validate(ctx, obj); err != nil {
		return false, err
	}
	revision, err := r.swap(ctx, "delete", e.key, e, nil)
	if err != nil || revision == 0 {
		return false, err
	}
	if unread {
		return true, nil
	}
	return true, r.representation.fill(ctx, e, revision, out)
}

// deletable returns a copy of the object of e, of the type of like. With unread it must be one that cannot be read, and
// is nil.
func (r *resource) deletable(ctx context.Context, e *entry, like runtime.Object, unread bool) (runtime.Object, error) {
	if !unread {
		obj := emptyLike(like)
		return obj, r.representation.fill(ctx, e, e.revision, obj)
	}
	if r.readable(ctx, e, like) {
		return nil, storage.NewInvalidObjError(e.key,
			"unsafe deletion is not allowed because the object is decodable from storage")
	}
	return nil, nil
}

func (r *resource) readable(ctx context.Context, e *entry, like runtime.Object) bool {
	return r.representation.fill(ctx, e, e.revision, emptyLike(like)) == nil
}

// GuaranteedUpdate implements storage.Interface. As for Delete, the suggestion of what the object may be is not needed.
// What tryUpdate is given belongs to it, what it returns stays its own.
func (r *resource) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, _ runtime.Object,
) error {
	key, err := r.key(key, false)
	if err != nil {
		return err
	}
	if _, err := conversion.EnforcePtr(destination); err != nil {
		return fmt.Errorf("unable to convert output object to pointer: %w", err)
	}
	for ctx.Err() == nil {
		e, _ := r.table.get(key)
		if e == nil && !ignoreNotFound {
			return storage.NewKeyNotFoundError(key, 0)
		}
		done, err := r.update(ctx, key, e, destination, preconditions, tryUpdate)
		if err != nil || done {
			return err
		}
	}
	return ctx.Err()
}

// update tries once to write what tryUpdate makes of e, which is nil for a key that does not exist, and sets out to the
// result. It returns false if another writer was faster.
func (r *resource) update(ctx context.Context, key string, e *entry, out runtime.Object,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc,
) (done bool, err error) {
	input, meta, err := r.input(ctx, e, out)
	if err != nil {
		return false, err
	}
	if err := preconditions.Check(key, input); err != nil {
		return false, err
	}
	output, ttl, err := tryUpdate(input, meta)
	if err != nil {
		return false, err
	}
	prepare := r.representation.prepare
	if e == nil {
		prepare = r.prepareNew
	}
	next, err := prepare(ctx, key, output)
	if err != nil {
		return false, err
	}
	if e != nil {
		if same, err := r.representation.same(ctx, next, e); err != nil {
			return false, err
		} else if same {
			return true, r.representation.fill(ctx, e, e.revision, out)
		}
	}
	revision, err := r.swap(ctx, "update", key, e, next.entry)
	if err != nil || revision == 0 {
		return false, err
	}
	if ttl != nil {
		r.store.expiry.add(r.table, next.entry, *ttl)
	}
	return true, r.representation.fillWritten(ctx, next, out)
}

// input returns what an update begins with: the object of e, or an empty one like out if e is nil.
func (r *resource) input(
	ctx context.Context, e *entry, out runtime.Object,
) (runtime.Object, storage.ResponseMeta, error) {
	obj := emptyLike(out)
	if e == nil {
		return obj, storage.ResponseMeta{}, nil
	}
	return obj, storage.ResponseMeta{ResourceVersion: e.revision}, r.representation.fill(ctx, e, e.revision, obj)
}

// emptyLike returns an empty object of the type of obj.
func emptyLike(obj runtime.Object) runtime.Object {
	if u, ok := obj.(runtime.Unstructured); ok {
		return u.NewEmptyInstance()
	}
	return reflect.New(reflect.TypeOf(obj).Elem()).Interface().(runtime.Object)
}
