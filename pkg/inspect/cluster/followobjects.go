package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"k8s.io/utils/clock"
)

// ObjectSelection is which objects of a target to follow.
type ObjectSelection struct {
	Target
	// Name follows one object; empty for all. Fields must then select it, too.
	Name string
	// Labels and Fields are selectors as kubectl takes them; empty selects all.
	Labels, Fields string
	// Whole keeps every field of listed objects: see ListOptions.Whole.
	Whole bool
}

// ObjectChange is what has happened to the objects of a selection.
type ObjectChange[T any] struct {
	// Event is Added, Modified or Deleted, of one object. It is Bookmark when a watch has been established, without
	// objects. It is empty when Objects are all that exist, which replace those known before, and with Err.
	Event   watch.EventType
	Objects []T
	// Err is why the selection cannot be read at the time; it is tried again. With Objects it is why others of the
	// selection are left out.
	Err error
}

// ObjectFollower lists and watches full objects, and keeps of each only what its users need. It may be used for any
// number of selections at once.
type ObjectFollower[T any] struct {
	reader ObjectReader
	client dynamic.Interface
	clock  clock.Clock
	keep   func(Kind, *unstructured.Unstructured) T
}

// NewObjectFollower makes a follower that lists by reader and watches by config. Keep converts each object as soon as
// it has been read; it may be called concurrently.
func NewObjectFollower[T any](
	config *rest.Config, reader ObjectReader, c clock.Clock, keep func(Kind, *unstructured.Unstructured) T,
) (*ObjectFollower[T], error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0 // it would end each watch
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &ObjectFollower[T]{reader, client, c, keep}, nil
}

// minFollowPause and maxFollowPause bound the time before a selection is listed again whose watch has ended for good.
const (
	minFollowPause = 500 * time.Millisecond
	maxFollowPause = 30 * time.Second
)

// Follow lists the selection and watches it, and lists again when the server has forgotten where the watch was, until
// ctx ends. It calls changed from one goroutine at a time.
func (f *ObjectFollower[T]) Follow(ctx context.Context, s ObjectSelection, changed func(ObjectChange[T])) {
	for pause := minFollowPause; ctx.Err() == nil; pause = min(2*pause, maxFollowPause) {
		version, err := f.list(ctx, s, changed)
		if err == nil {
			pause = minFollowPause
			err = f.events(ctx, s, version, changed)
		}
		if err != nil && ctx.Err() == nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			changed(ObjectChange[T]{Err: err})
		}
		timer := f.clock.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C():
		}
		timer.Stop()
	}
}

// list passes all objects of a selection to changed, and returns the resource version to watch from. That is of a
// moment before the list, which the reader reads fast: what happened in between comes twice, and the caller must leave
// out the older of two.
func (f *ObjectFollower[T]) list(
	ctx context.Context, s ObjectSelection, changed func(ObjectChange[T]),
) (string, error) {
	first, err := f.resource(s.Target).List(ctx, metav1.ListOptions{
		Limit: 1, LabelSelector: s.Labels, FieldSelector: s.Fields,
	})
	if err != nil {
		return "", err
	}
	var all []T
	var leftOut error
	if s.Name != "" {
		obj, err := f.reader.Object(ctx, s.Kind, s.Namespace, s.Name)
		switch {
		case err == nil:
			all = append(all, f.keep(s.Kind, obj))
		case !apierrors.IsNotFound(err):
			return "", err
		}
	} else {
		options := ListOptions{Labels: s.Labels, Fields: s.Fields, Whole: s.Whole}
		leftOut = f.reader.ListObjects(ctx, s.Target, options, func(obj *unstructured.Unstructured) error {
			all = append(all, f.keep(s.Kind, obj))
			return nil
		})
		if leftOut != nil && (len(all) == 0 || !errors.Is(leftOut, errUnreadable)) {
			return "", leftOut
		}
	}
	changed(ObjectChange[T]{Objects: all, Err: leftOut})
	return first.GetResourceVersion(), nil
}

func (f *ObjectFollower[T]) resource(t Target) dynamic.ResourceInterface {
	if t.Namespace == "" {
		return f.client.Resource(t.Kind.GVR())
	}
	return f.client.Resource(t.Kind.GVR()).Namespace(t.Namespace)
}

// events passes what happens from a resource version on to changed. Watches that end are resumed where they ended; the
// error is that the server has forgotten that version, or another.
func (f *ObjectFollower[T]) events(
	ctx context.Context, s ObjectSelection, version string, changed func(ObjectChange[T]),
) error {
	// The watcher calls open and delivers events from another goroutine than this one, so open reports by a channel.
	opened := make(chan ObjectChange[T])
	open := func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.LabelSelector, options.FieldSelector = s.Labels, s.Fields
		watching, err := f.resource(s.Target).Watch(ctx, options)
		if ctx.Err() == nil {
			change := ObjectChange[T]{Event: watch.Bookmark}
			if err != nil { // the watcher tries again by itself
				change = ObjectChange[T]{Err: err}
			}
			select {
			case opened <- change:
			case <-ctx.Done():
			}
		}
		return watching, err
	}
	watchCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	opener := &cache.ListWatch{WatchFuncWithContext: open}
	watcher, err := toolswatch.NewRetryWatcherWithContext(watchCtx, version, opener)
	if err != nil {
		return fmt.Errorf("watching %s: %w", s.Kind, err)
	}
	defer watcher.Stop()
	for {
		select {
		case change := <-opened:
			changed(change)
		case event, ok := <-watcher.ResultChan():
			switch {
			case !ok && ctx.Err() != nil:
				return nil
			case !ok:
				return errors.New("the watch ended")
			case event.Type == watch.Error:
				return apierrors.FromObject(event.Object)
			}
			if obj, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Bookmark {
				changed(ObjectChange[T]{Event: event.Type, Objects: []T{f.keep(s.Kind, obj)}})
			}
		}
	}
}
