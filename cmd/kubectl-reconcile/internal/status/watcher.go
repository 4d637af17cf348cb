package status

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

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
)

// statusWatcher keeps watches up, and sends what they report to a channel.
type statusWatcher struct {
	*statusReader
	client  dynamic.Interface
	changes chan<- statusChange
}

func newStatusWatcher(r *statusReader, changes chan<- statusChange) (*statusWatcher, error) {
	config := rest.CopyConfig(r.connection.Config)
	config.Timeout = 0 // it would end each watch
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &statusWatcher{r, client, changes}, nil
}

// How long to wait before a target is read again whose watch has ended for good.
const (
	minPause = 500 * time.Millisecond
	maxPause = 30 * time.Second
)

// watch reads a target and watches it, and begins again when the server has forgotten where the watch was, until ctx
// ends.
func (w *statusWatcher) watch(ctx context.Context, t connect.Target) {
	for pause := minPause; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		version, err := w.list(ctx, t)
		if err == nil {
			pause = minPause
			err = w.events(ctx, t, version)
		}
		if err != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			w.send(ctx, statusChange{target: t, failure: err})
		}
		timer := w.clock.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C():
		}
		timer.Stop()
	}
}

func (w *statusWatcher) send(ctx context.Context, c statusChange) {
	select {
	case w.changes <- c:
	case <-ctx.Done():
	}
}

// list sends all of a target, and returns the resource version to watch from. That is of a moment before the list,
// which cluster.Reader reads fast: what happened in between comes twice, and the older of two is left out.
func (w *statusWatcher) list(ctx context.Context, t connect.Target) (string, error) {
	options := metav1.ListOptions{
		Limit: 1, LabelSelector: w.targets.Labels, FieldSelector: t.FieldSelector(w.targets.Fields),
	}
	first, err := w.resource(t).List(ctx, options)
	if err != nil {
		return "", err
	}
	change := statusChange{target: t}
	add := func(item statusItem) {
		item.source = targetKey(t)
		change.items = append(change.items, item)
	}
	if err := w.readOne(ctx, t, add); err != nil && (t.Name == "" || !apierrors.IsNotFound(err)) {
		return "", err
	}
	w.dateDrift(ctx, change.items)
	w.send(ctx, change)
	return first.GetResourceVersion(), nil
}

func (w *statusWatcher) resource(t connect.Target) dynamic.ResourceInterface {
	if t.Namespace == "" {
		return w.client.Resource(t.Kind.GVR())
	}
	return w.client.Resource(t.Kind.GVR()).Namespace(t.Namespace)
}

// events sends what happens to a target from a resource version on. Watches that end are resumed where they ended; the
// error is that the server has forgotten that version, or another.
func (w *statusWatcher) events(ctx context.Context, t connect.Target, version string) error {
	open := func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.LabelSelector, options.FieldSelector = w.targets.Labels, t.FieldSelector(w.targets.Fields)
		watching, err := w.resource(t).Watch(ctx, options)
		switch {
		case ctx.Err() != nil:
		case err != nil: // it is tried again without a word
			w.send(ctx, statusChange{target: t, failure: err})
		default:
			w.send(ctx, statusChange{target: t, event: watch.Bookmark})
		}
		return watching, err
	}
	source := &cache.ListWatch{WatchFuncWithContext: open}
	watcher, err := toolswatch.NewRetryWatcherWithContext(ctx, version, source)
	if err != nil {
		return fmt.Errorf("watching %s: %w", t.Kind, err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Bookmark {
			continue
		}
		item := newStatusItem(t.Kind, obj, w.polarities, w.clock.Now())
		item.source = targetKey(t)
		w.send(ctx, statusChange{target: t, event: event.Type, items: []statusItem{item}})
	}
	if ctx.Err() != nil {
		return nil
	}
	return errors.New("the watch ended")
}
