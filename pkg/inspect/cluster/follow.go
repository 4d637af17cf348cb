package cluster

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Follower receives what happens to the objects of a target. Its methods are called from one goroutine for each
// target, and must not block for long: meanwhile the server may end the watch. Objects have no managedFields and
// annotations, and belong to the Follower.
type Follower interface {
	// Listed is called with all objects of the target, which replace all earlier ones.
	Listed(target Target, objects []metav1.PartialObjectMetadata)
	// Changed is called with an object that was created or changed.
	Changed(target Target, object *metav1.PartialObjectMetadata)
	// Gone is called with the last state of an object that was deleted.
	Gone(target Target, object *metav1.PartialObjectMetadata)
	// Failed is called each time the target cannot be read; earlier objects may be outdated. Follow retries; the next
	// call of another method means that it has succeeded.
	Failed(target Target, why Incomplete)
}

const (
	// minRetryBackoff and maxRetryBackoff bound the time between two attempts to read a target that cannot be read.
	minRetryBackoff = time.Second
	maxRetryBackoff = 30 * time.Second
)

// Follow lists the metadata of a target, then watches it, and notifies f, until ctx ends; then it returns. When a
// watch ends, as all do after some time, Follow resumes it at the last resource version, or lists again if that has
// expired.
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
		case err == nil: // a watch that ended without an event: back off
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

// followOnce lists if at is empty, then watches from there until the watch ends. It returns the resource version at
// which to resume.
func (r *Reader) followOnce(ctx context.Context, target Target, at string, f Follower) (string, error) {
	if at == "" {
		var all []metav1.PartialObjectMetadata
		version, err := r.listMetadata(ctx, target, func(page []metav1.PartialObjectMetadata) {
			all = append(all, page...)
		})
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

// events passes the events of the watch to f until it ends, and returns the last resource version.
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

// notify calls the method of f for an event. Bookmarks only carry a resource version, which events has already read.
func notify(f Follower, target Target, what watch.EventType, object *metav1.PartialObjectMetadata) {
	switch what {
	case watch.Added, watch.Modified:
		f.Changed(target, object)
	case watch.Deleted:
		f.Gone(target, object)
	case watch.Bookmark, watch.Error:
	}
}
