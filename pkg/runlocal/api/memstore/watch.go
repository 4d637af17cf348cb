package memstore

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// Watch implements storage.Interface. A watch that is not possible returns an ERROR event, as the watch cache does it;
// errors are returned only for an invalid key or version, and by a closed store.
func (r *resource) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	key, err := r.key(key, opts.Recursive)
	if err != nil {
		return nil, err
	}
	from, err := r.versioner.ParseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return nil, err
	}
	w := newWatcher(ctx, r, key, opts)
	if err := r.table.attach(w, from, opts.SendInitialEvents); err != nil {
		w.cancel()
		return newErrorWatch(err), nil
	}
	if !r.watchers.launch(w) {
		r.table.forget(w)
		w.cancel()
		return nil, fmt.Errorf("watching %q: %w", key, storage.ErrStorageNotReady)
	}
	return w, nil
}

// attach registers w as a watcher of t and sets where it begins: after the version from, or with the current state, if
// sendInitial is true or, with nil, if from is 0.
func (t *table) attach(w *watcher, from uint64, sendInitial *bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	revision := t.revision()
	initial := from == 0
	if sendInitial != nil {
		initial = *sendInitial
	}
	switch {
	case initial && from > revision:
		return storage.NewTooLargeResourceVersionError(from, revision, watchRetryAfterSeconds)
	case initial:
		state := t.freeze()
		w.initial, w.since, w.next = &state, revision, t.history.end()
	case from == 0:
		w.since, w.next = revision, t.history.end()
	case from < t.watchable(), t.own != 0 && from > revision:
		return t.expired(from) // a version that is yet to come is that of a client from before a Replace
	default:
		w.since, w.next = from, t.history.after(from)
	}
	w.start = max(w.since, revision)
	t.watchers[w] = struct{}{}
	return nil
}

// watcherGroup is a set of running watchers that end together. It owns their goroutines.
type watcherGroup struct {
	wg sync.WaitGroup

	mu      sync.Mutex // guards what follows
	members map[*watcher]struct{}
	closed  bool
}

// launch runs w in a goroutine. It returns false if the group is closed.
func (g *watcherGroup) launch(w *watcher) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.members[w] = struct{}{}
	g.wg.Go(func() {
		w.run()
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.members, w)
	})
	return true
}

// close stops the watchers, and returns when they have ended.
func (g *watcherGroup) close() {
	g.mu.Lock()
	g.closed = true
	for w := range g.members {
		w.Stop()
	}
	g.mu.Unlock()
	g.wg.Wait()
}

// errorWatch is a watch that has ended already, with an ERROR event.
type errorWatch chan watch.Event

var _ watch.Interface = errorWatch(nil)

func newErrorWatch(err error) errorWatch {
	events := make(errorWatch, 1)
	events <- watch.Event{Type: watch.Error, Object: watchStatus(err)}
	close(events)
	return events
}

// ResultChan implements watch.Interface. It holds one event and is closed.
func (w errorWatch) ResultChan() <-chan watch.Event { return w }

// Stop implements watch.Interface. There is nothing left to stop.
func (w errorWatch) Stop() {}
