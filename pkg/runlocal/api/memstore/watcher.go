package memstore

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/utils/clock"
)

const (
	resultBuffer = 100 // events sent that the client has not received: etcd3's figure
	batchSize    = 64  // events copied from the history at a time
)

// errStopped ends a watcher that was stopped.
var errStopped = errors.New("watch stopped")

// watcher is one running watch. Its goroutine takes events from the table's history, filters them and sends copies.
type watcher struct {
	resource       *resource
	ctx            context.Context
	cancel         context.CancelFunc
	key            string
	recursive      bool
	pred           storage.SelectionPredicate
	all            bool // pred selects everything
	bookmarks      bool // the client accepts bookmarks
	initialEnd     bool // one of them marks the end of the initial events
	progressNotify bool

	result   chan watch.Event
	wake     chan struct{} // holds a token when there may be something to do
	progress atomic.Bool   // a bookmark was requested

	initial *snapshot // state to begin with, nil for none
	since   uint64    // events up to this revision are not for this watch
	start   uint64    // the newest revision when the watch began
	next    int       // number of the next event to read; guarded by the table's lock
}

var _ watch.Interface = (*watcher)(nil)

func newWatcher(ctx context.Context, r *resource, key string, opts storage.ListOptions) *watcher {
	w := &watcher{
		resource: r, key: key, recursive: opts.Recursive, pred: opts.Predicate, all: opts.Predicate.Empty(),
		bookmarks:      opts.Predicate.AllowWatchBookmarks && r.newFunc != nil,
		progressNotify: opts.ProgressNotify && r.newFunc != nil,
		result:         make(chan watch.Event, resultBuffer),
		wake:           make(chan struct{}, 1),
	}
	w.initialEnd = w.bookmarks && opts.SendInitialEvents != nil && *opts.SendInitialEvents
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

// ResultChan implements watch.Interface. The channel is closed when the watch has ended.
func (w *watcher) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface. Events that are in the channel stay there.
func (w *watcher) Stop() { w.cancel() }

// notify makes the watcher look for events. It does not block, and a notification is never lost: the token stays until
// the watcher, which reads the history after it took the token, has taken it.
func (w *watcher) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run delivers events until the watch is stopped or fails.
func (w *watcher) run() {
	defer close(w.result)
	defer w.cancel()
	defer w.resource.table.forget(w)
	if err := w.deliver(); err != nil && !errors.Is(err, errStopped) {
		// A client that has stopped the watch meanwhile does not need its error.
		_ = w.send(watch.Event{Type: watch.Error, Object: watchStatus(err)})
	}
}

// deliver sends the initial state and then events as they are committed, and bookmarks in between when there is nothing
// else to send. It returns errStopped when the watch was stopped, and another error if it cannot continue.
func (w *watcher) deliver() error {
	if err := w.deliverInitial(); err != nil {
		return err
	}
	utilflowcontrol.WatchInitialized(w.ctx)
	timer, due := w.bookmarkTimer()
	if timer != nil {
		defer timer.Stop()
	}
	batch := make([]event, batchSize)
	wanted := false // a bookmark is due
	for {
		events, revision, err := w.resource.table.read(w, batch)
		if err != nil {
			return err
		}
		for _, ev := range events {
			if err := w.deliverEvent(ev); err != nil {
				return err
			}
		}
		if len(events) > 0 {
			continue
		}
		if wanted = wanted || w.progress.Swap(false); wanted && w.bookmarkIsNew(revision) {
			if err := w.sendBookmark(revision, false); err != nil {
				return err
			}
			wanted = false
		}
		select {
		case <-w.wake:
		case <-due:
			wanted = true
			w.rearm(timer)
		case <-w.ctx.Done():
			return errStopped
		}
	}
}

// bookmarkIsNew reports whether a bookmark at revision is to be sent. As in the watch cache, it must be above what the
// watch began with; with ProgressNotify the same one is sent again.
func (w *watcher) bookmarkIsNew(revision uint64) bool {
	return revision > w.start || w.progressNotify && revision >= w.since
}

// deliverInitial sends the state that the watch begins with.
func (w *watcher) deliverInitial() error {
	if w.initial == nil {
		return nil
	}
	entries := w.initial.entries(w.key, "", w.recursive)
	revision := w.initial.revision
	w.initial = nil
	for _, e := range entries {
		obj, err := w.selected(e)
		if err != nil {
			return err
		}
		if obj == nil {
			continue
		}
		if err := w.send(watch.Event{Type: watch.Added, Object: w.resource.representation.copyView(obj)}); err != nil {
			return err
		}
	}
	if w.initialEnd {
		return w.sendBookmark(revision, true)
	}
	return nil
}

// deliverEvent sends what ev means for this watch: an object that begins to match is added, one that no longer matches
// is deleted, as it last was but with the resource version of the event.
func (w *watcher) deliverEvent(ev event) error {
	if ev.revision <= w.since || !w.covers(ev.key()) {
		return nil
	}
	w.since = ev.revision
	current, err := w.selected(ev.current)
	if err != nil {
		return err
	}
	if current != nil && w.all {
		return w.sendCurrent(current, ev.previous != nil)
	}
	previous, err := w.selected(ev.previous)
	if err != nil {
		if ev.current == nil {
			err = deletedCorrupt(err)
		}
		return err
	}
	if current != nil {
		return w.sendCurrent(current, previous != nil)
	}
	if previous == nil {
		return nil
	}
	if ev.final != nil {
		final, err := w.resource.representation.view(w.ctx, ev.final, nil)
		if err != nil {
			return err
		}
		return w.send(watch.Event{Type: watch.Deleted, Object: w.resource.representation.copyView(final)})
	}
	obj := w.resource.representation.copyView(previous)
	if err := w.resource.versioner.UpdateObject(obj, ev.revision); err != nil {
		return err
	}
	return w.send(watch.Event{Type: watch.Deleted, Object: obj})
}

// sendCurrent sends an object that matches, as MODIFIED if the client knows it already.
func (w *watcher) sendCurrent(view runtime.Object, known bool) error {
	typ := watch.Added
	if known {
		typ = watch.Modified
	}
	return w.send(watch.Event{Type: typ, Object: w.resource.representation.copyView(view)})
}

// covers reports whether the watch is about key.
func (w *watcher) covers(key string) bool {
	if w.recursive {
		return strings.HasPrefix(key, w.key)
	}
	return key == w.key
}

// selected returns a view of the object of e if the predicate selects it; nil if it does not, or if e is nil.
func (w *watcher) selected(e *entry) (runtime.Object, error) {
	if e == nil {
		return nil, nil
	}
	obj, err := w.resource.representation.view(w.ctx, e, nil)
	if err != nil {
		return nil, err
	}
	if !w.all && !matches(&w.pred, obj) {
		return nil, nil
	}
	return obj, nil
}

// send sends ev to the client. It returns errStopped if the watch has ended, so that what the client receives has no
// gaps.
func (w *watcher) send(ev watch.Event) error {
	if w.ctx.Err() != nil {
		return errStopped
	}
	select {
	case w.result <- ev:
		return nil
	case <-w.ctx.Done():
		return errStopped
	}
}

const (
	// bookmarkPeriod is how often a watch is sent a bookmark, and bookmarkLead how long before its deadline the last
	// one: the watch cache's figures.
	bookmarkPeriod = time.Minute
	bookmarkLead   = 2 * time.Second
	// progressPeriod is bookmarkPeriod for a watch with ProgressNotify: what Kubernetes recommends for etcd.
	progressPeriod = 5 * time.Second
)

// bookmark returns an empty object of the resource at revision, marked as the end of the initial events if initialEnd
// is set.
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

// sendBookmark sends a bookmark: the client has received everything up to revision.
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

// untilBookmark returns the time until the next periodic bookmark; false if there is none. It mirrors
// cacheWatcher.nextBookmarkTime of k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go.
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

// RequestWatchProgress implements storage.Interface: every watch with ProgressNotify is sent a bookmark as soon as it
// has been sent everything else.
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
