package memstore

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/clock"
)

const (
	// bookmarkPeriod is how often a client is told how far its watch has come, and bookmarkLead how long before its
	// deadline it is told a last time: the watch cache's figures.
	bookmarkPeriod = time.Minute
	bookmarkLead   = 2 * time.Second
	// progressPeriod is the same for a watch with ProgressNotify: what Kubernetes advises for etcd.
	progressPeriod = 5 * time.Second
)

// bookmark returns an empty object of the resource at revision, which ends the initial events if initialEnd says so.
func (r *resource) bookmark(revision uint64, initialEnd bool) (runtime.Object, error) {
	obj := r.newFunc()
	if err := r.versioner.UpdateObject(obj, revision); err != nil {
		return nil, err
	}
	if !initialEnd {
		return obj, nil
	}
	return obj, storage.AnnotateInitialEventsEndBookmark(obj)
}

// sendBookmark tells the client that it has seen everything up to revision.
func (w *watcher) sendBookmark(revision uint64, initialEnd bool) error {
	obj, err := w.resource.bookmark(revision, initialEnd)
	if err != nil {
		return err
	}
	w.since = max(w.since, revision)
	return w.send(watch.Event{Type: watch.Bookmark, Object: obj})
}

// bookmarkTimer returns the timer of periodic bookmarks and its channel, both nil if there are to be none.
func (w *watcher) bookmarkTimer() (clock.Timer, <-chan time.Time) {
	if wait, ok := w.untilBookmark(); ok {
		timer := w.resource.store.clock.NewTimer(wait)
		return timer, timer.C()
	}
	return nil, nil
}

// rearm sets a timer that has fired to the next bookmark, if there is to be one.
func (w *watcher) rearm(timer clock.Timer) {
	if wait, ok := w.untilBookmark(); ok {
		timer.Reset(wait)
	}
}

// untilBookmark returns the time until the next periodic bookmark; false if there is none. It mirrors nextBookmarkTime of
// k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go.
func (w *watcher) untilBookmark() (time.Duration, bool) {
	if w.progressNotify {
		return progressPeriod, true
	}
	if !w.bookmarks {
		return 0, false
	}
	wait := bookmarkPeriod
	if deadline, ok := w.ctx.Deadline(); ok {
		wait = min(wait, deadline.Sub(w.resource.store.clock.Now())-bookmarkLead)
	}
	return wait, wait > 0
}

// RequestWatchProgress implements storage.Interface: every watch with ProgressNotify is sent a bookmark as soon as it has
// been sent everything else.
func (r *resource) RequestWatchProgress(context.Context) error {
	t := r.table
	t.mu.RLock()
	defer t.mu.RUnlock()
	for w := range t.watchers {
		if w.progressNotify {
			w.progress.Store(true)
			w.notify()
		}
	}
	return nil
}
