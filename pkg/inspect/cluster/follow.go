package cluster

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Change is what has happened to the objects of a target.
type Change[T any] struct {
	// Event is Added, Modified or Deleted, of one object. It is Bookmark when a watch has been established, without
	// objects. It is empty when Objects are all that exist, which replace those known before, and with Err.
	Event   watch.EventType
	Objects []T
	// Err is why the target cannot be read at the time; it is tried again. With Objects it is why others of the target
	// are left out.
	Err error
}

// ObjectSelection is which objects of a target to follow.
type ObjectSelection struct {
	Target
	// Labels and Fields are selectors as kubectl takes them; empty selects all.
	Labels, Fields string
	// Whole keeps every field of listed objects: see ListOptions.Whole.
	Whole bool
}

const (
	// minRetryBackoff and maxRetryBackoff bound the time between two attempts to read a target that cannot be read.
	minRetryBackoff = 500 * time.Millisecond
	maxRetryBackoff = 30 * time.Second
)

// Follow lists the metadata of a target, then watches it, until ctx ends; then it returns. It calls changed from one
// goroutine, which must not block for long: meanwhile the server may end the watch. Objects have no managedFields and
// annotations, and belong to the callee.
//
// When a watch ends, as all do after some time, it is resumed at the last resource version. All is listed again if the
// server does not have that any more.
func (r *Reader) Follow(ctx context.Context, t Target, changed func(Change[*metav1.PartialObjectMetadata])) {
	f := follower[*metav1.PartialObjectMetadata]{backoff: r.retryBackoff, changed: changed}
	f.list = func(ctx context.Context) (all []*metav1.PartialObjectMetadata, version string, err error) {
		version, err = r.listMetadata(ctx, t, func(page []metav1.PartialObjectMetadata) {
			for i := range page {
				all = append(all, &page[i])
			}
		})
		return all, version, err
	}
	f.watch = r.metadata.Resource(t.Kind.GVR()).Namespace(t.namespace()).Watch
	f.object = func(o runtime.Object) (*metav1.PartialObjectMetadata, bool) {
		object, ok := o.(*metav1.PartialObjectMetadata)
		if ok {
			dropLargeMetadata(object)
		}
		return object, ok
	}
	f.follow(ctx)
}

// FollowObjects is Follow for full objects: it keeps of each only what keep returns, which is called as soon as the
// object has been read.
func FollowObjects[T any](
	ctx context.Context, r *Reader, s ObjectSelection, keep func(Kind, *unstructured.Unstructured) T,
	changed func(Change[T]),
) {
	f := follower[T]{backoff: r.retryBackoff, changed: changed}
	f.list = func(ctx context.Context) (all []T, version string, err error) {
		options := ListOptions{Labels: s.Labels, Fields: s.Fields, Whole: s.Whole}
		version, err = r.listObjects(ctx, s.Target, options, func(obj *unstructured.Unstructured) error {
			all = append(all, keep(s.Kind, obj))
			return nil
		})
		return all, version, err
	}
	f.watch = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.LabelSelector, options.FieldSelector = s.Labels, s.Fields
		return r.dynamic.Resource(s.Kind.GVR()).Namespace(s.namespace()).Watch(ctx, options)
	}
	f.object = func(o runtime.Object) (kept T, ok bool) {
		object, ok := o.(*unstructured.Unstructured)
		if ok {
			kept = keep(s.Kind, object)
		}
		return kept, ok
	}
	f.follow(ctx)
}

// follower follows one target. It is used by one goroutine.
type follower[T any] struct {
	backoff time.Duration // before the first retry
	// list returns all that exists, and the resource version to watch from. With objects, errUnreadable is why others
	// are left out.
	list  func(context.Context) ([]T, string, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// object returns what is kept of the object of an event; false if that is of a type that was not requested.
	object  func(runtime.Object) (T, bool)
	changed func(Change[T])
}

func (f *follower[T]) follow(ctx context.Context) {
	at, pause := "", f.backoff
	for {
		next, err := f.once(ctx, at)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && next != at:
			at, pause = next, f.backoff
			continue
		case err == nil: // a watch that ended without an event
			pause = f.backoff
		case next != "" && IsLost(err):
			at, pause = "", f.backoff
		default:
			at = next
			f.changed(Change[T]{Err: err})
		}
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, maxRetryBackoff)
	}
}

// IsLost reports whether the server does not have the events since a resource version, or does not know that version
// itself, as after its store was restored from a backup.
func IsLost(err error) bool {
	return IsExpired(err) || apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// sleep waits for d. It returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// once lists if at is empty, then watches from there until the watch ends. It returns the resource version at which to
// resume.
func (f *follower[T]) once(ctx context.Context, at string) (string, error) {
	if at == "" {
		all, version, err := f.list(ctx)
		if err != nil && (len(all) == 0 || !errors.Is(err, errUnreadable)) {
			return "", err
		}
		f.changed(Change[T]{Objects: all, Err: err})
		at = version
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := f.watch(ctx, metav1.ListOptions{ResourceVersion: at, AllowWatchBookmarks: true})
	if err != nil {
		return at, err
	}
	defer w.Stop()
	f.changed(Change[T]{Event: watch.Bookmark})
	return f.events(ctx, at, w)
}

// events passes on the events of a watch until it ends, and returns the last resource version.
func (f *follower[T]) events(ctx context.Context, at string, w watch.Interface) (string, error) {
	for {
		select {
		case <-ctx.Done():
			return at, nil
		case event, ok := <-w.ResultChan():
			if !ok {
				return at, nil
			}
			if event.Type == watch.Error {
				return at, apierrors.FromObject(event.Object)
			}
			metadata, err := meta.Accessor(event.Object)
			if err != nil {
				return at, errUnreadable
			}
			if event.Type != watch.Bookmark {
				object, ok := f.object(event.Object)
				if !ok {
					return at, errUnreadable
				}
				f.changed(Change[T]{Event: event.Type, Objects: []T{object}})
			}
			at = metadata.GetResourceVersion()
		}
	}
}
