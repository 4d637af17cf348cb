package memstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/value"
)

// The texts mirror interpretWatchError, interpretListError and handleCompactedErrorForPaging of
// k8s.io/apiserver/pkg/storage/etcd3/errors.go. Clients and tests look for them.
const (
	expired              = "The resourceVersion for the provided list is too old."
	watchCompacted       = "The resourceVersion for the provided watch is too old."
	inconsistentContinue = "The provided continue parameter is too old " +
		"to display a consistent list result. You can start a new list without " +
		"the continue parameter, or use the continue token in this response to " +
		"retrieve the remainder of the results. Continuing with the provided " +
		"token results in an inconsistent list - objects that were created, " +
		"modified, or deleted between the time the first chunk was returned " +
		"and now may show up in the list."
)

// listExpired returns the error of a list at a version that is compacted. A list that continues another gets a token
// with which it can continue at the current version.
func listExpired(from, prefix string, continued bool) error {
	if !continued {
		return apierrors.NewResourceExpired(expired)
	}
	token, err := storage.EncodeContinue(from, prefix, -1)
	if err != nil {
		return err
	}
	status := apierrors.NewResourceExpired(inconsistentContinue)
	status.ErrStatus.Continue = token
	return status
}

// watchExpired returns the error of a watch from a version whose events are no longer kept. It mirrors
// watchCacheHistory.GetIntervalLocked of k8s.io/apiserver/pkg/storage/cacher/watch_cache_history.go.
func watchExpired(from, compacted uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, compacted))
}

// watchStatus returns the object of the ERROR event for err.
func watchStatus(err error) *metav1.Status {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	s := status.Status()
	return &s
}

// deletedCorrupt returns the error for a watcher when an object that cannot be read is deleted.
func deletedCorrupt(err error) error {
	corrupt, ok := errors.AsType[*corruptError](err)
	if !ok {
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Reason:  metav1.StatusReasonStoreReadError,
		Message: fmt.Sprintf("saw a DELETED event, but object data is corrupt - %v", corrupt),
	}}
}

// maxCorrupt is how many corrupt objects a list reports before it gives up.
const maxCorrupt = 100

// corruptList collects the corrupt objects that a list meets. It mirrors corruptObjErrAggregator.Append,
// corruptObjErrAggregator.Aggregate and aggregatedStorageError.NewAPIStatusError of
// k8s.io/apiserver/pkg/storage/etcd3/corrupt_obj_deleter.go.
type corruptList struct {
	enabled bool // without it the first error is the result
	found   []*storage.StorageError
	abort   error // ended the list early
	full    bool  // maxCorrupt was reached
}

// add takes the error of one item, and reports whether the list is to end here.
func (l *corruptList) add(key string, err error) (end bool) {
	corrupt, ok := errors.AsType[*corruptError](err)
	if !l.enabled || !ok {
		l.abort = err
		return true
	}
	l.found = append(l.found, storage.NewCorruptObjError(key, corrupt))
	l.full = len(l.found) >= maxCorrupt
	return l.full
}

// err returns the result of a list of resource: nil if nothing was corrupt.
func (l *corruptList) err(resource schema.GroupResource) error {
	if len(l.found) == 0 {
		return l.abort
	}
	causes := make([]metav1.StatusCause, 0, len(l.found)+1)
	for _, err := range l.found {
		causes = append(causes,
			metav1.StatusCause{Type: metav1.CauseTypeUnexpectedServerResponse, Field: err.Key, Message: err.Error()})
	}
	switch {
	case l.full:
		causes = append(causes,
			metav1.StatusCause{Type: metav1.CauseTypeTooMany, Message: "too many errors, the list is truncated"})
	case l.abort != nil:
		causes = append(causes,
			metav1.StatusCause{Type: metav1.CauseTypeUnexpectedServerResponse, Message: l.abort.Error()})
	}
	message := fmt.Sprintf("failed to read one or more %s from the storage: %v", resource, l.found[0])
	if len(l.found) > 1 {
		message += fmt.Sprintf(" (and %d more)", len(l.found)-1)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Reason:  metav1.StatusReasonStoreReadError,
		Message: message,
		Details: &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, Name: "list", Causes: causes},
	}}
}

// What is wrong with a corrupt object, in the words of k8s.io/apiserver/pkg/storage/etcd3/corrupt_obj_deleter.go.
const (
	untransformable = "data from the storage is not transformable"
	undecodable     = "object not decodable"
)

// corruptError is the error of stored data that cannot be decoded: such an object may be deleted without being read.
type corruptError struct {
	what     string
	revision uint64
	err      error
}

func (e *corruptError) Error() string {
	return fmt.Sprintf("%s revision=%d: %v", e.what, e.revision, e.err)
}

func (e *corruptError) Unwrap() error { return e.err }

// asCorrupt returns err as the storage error by which the registry recognizes a corrupt object, or err itself.
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
func (t corruptTransformer) TransformFromStorage(
	ctx context.Context, data []byte, dataCtx value.Context,
) ([]byte, bool, error) {
	data, stale, err := t.Transformer.TransformFromStorage(ctx, data, dataCtx)
	if err != nil {
		err = &corruptError{what: untransformable, err: err}
	}
	return data, stale, err
}
