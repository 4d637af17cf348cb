package cluster

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Follower is told what happens to the objects of a target. Its methods are called from one goroutine for each target, and
// must not block for long. Objects come without managedFields and annotations and may be kept.
type Follower interface {
	// Listed hands over all objects of the target, which replace those known before.
	Listed(target Target, objects []metav1.PartialObjectMetadata)
	// Changed hands over an object that is new, or that has changed.
	Changed(target Target, object *metav1.PartialObjectMetadata)
	// Gone hands over the last state of an object that is there no longer.
	Gone(target Target, object *metav1.PartialObjectMetadata)
	// Failed says that the target cannot be read now; what was known of it may be old. It is tried again, and the next call
	// of another method says that it is read again.
	Failed(target Target, why Incomplete)
}

const (
	// minRetryBackoff and longestPause bound the time between two tries to read what cannot be read.
	minRetryBackoff = time.Second
	maxRetryBackoff = 30 * time.Second
)

// Follow lists the metadata of a target, then watches it, and tells f, until ctx ends. A watch that ends, as they all do after
// some time, goes on where it was, or if the server has forgotten that, with a list.
func (r *Reader) Follow(ctx context.Context, target Target, f Follower) {
	at, pause := "", r.retryBackoff
	for {
		next, err := r.followOnce(ctx, target, at, f)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && next != at:
			at, pause = next, r.retryBackoff
			continue
		case err == nil: // a watch that says nothing and ends: not too often
			pause = r.retryBackoff
		case next != "" && expired(err):
			at, pause = "", r.retryBackoff
		default:
			at = next
			f.Failed(target, target.Incomplete(err))
		}
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, maxRetryBackoff)
	}
}

// sleep returns false if ctx ended first.
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

// followOnce lists if it does not know where to go on, then watches until the watch ends. It returns where to go on.
func (r *Reader) followOnce(ctx context.Context, target Target, at string, f Follower) (string, error) {
	if at == "" {
		var all []metav1.PartialObjectMetadata
		version, err := r.listMetadata(ctx, target, func(page []metav1.PartialObjectMetadata) { all = append(all, page...) })
		if err != nil {
			return "", err
		}
		f.Listed(target, all)
		at = version
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	namespace := target.Namespace
	if !target.Kind.Namespaced {
		namespace = ""
	}
	w, err := r.metadata.Resource(target.Kind.GVR()).Namespace(namespace).Watch(ctx, metav1.ListOptions{
		ResourceVersion: at, AllowWatchBookmarks: true,
	})
	if err != nil {
		return at, err
	}
	defer w.Stop()
	return r.events(ctx, target, at, w, f)
}

// events hands over what the watch says until it ends.
func (r *Reader) events(ctx context.Context, target Target, at string, w watch.Interface, f Follower) (string, error) {
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
			object, ok := event.Object.(*metav1.PartialObjectMetadata)
			if !ok {
				return at, errUnreadable
			}
			at = object.ResourceVersion
			dropLargeMetadata(object)
			notify(f, target, event.Type, object)
		}
	}
}

func notify(f Follower, target Target, what watch.EventType, object *metav1.PartialObjectMetadata) {
	switch what {
	case watch.Added, watch.Modified:
		f.Changed(target, object)
	case watch.Deleted:
		f.Gone(target, object)
	case watch.Bookmark, watch.Error:
	}
}
