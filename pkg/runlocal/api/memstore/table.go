package memstore

import (
	"context"
	"crypto/sha256"
	"slices"
	"sort"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/third_party/forked/golang/btree"
)

// entry is one version of one object. It is immutable once it is in a table; which of object and data is set depends on
// the table's mode.
type entry struct {
	key      string
	revision uint64
	object   runtime.Object    // internal object with its resource version, shared
	data     []byte            // storage encoding, which has no resource version
	sum      [sha256.Size]byte // of the storage encoding, only in mode Objects
	size     int               // of the storage encoding in bytes
}

// event is one write: a creation has no previous entry, a deletion no current one.
type event struct {
	revision          uint64
	current, previous *entry
	// final is the object that a played deletion tells of; nil: the previous one, with the revision of the event.
	final *entry
}

// key returns the key of the object that was written.
func (ev event) key() string {
	if ev.current != nil {
		return ev.current.key
	}
	return ev.previous.key
}

// snapshot is the state of a table at a revision. Its tree is never written to.
type snapshot struct {
	tree     *btree.BTree[*entry]
	revision uint64
}

// table holds the objects and the recent events of one resource. Writers hold mu while they commit, so that revisions,
// events and OnCommit have one order. Readers work on clones of the tree, which share its nodes and are never written
// to.
type table struct {
	store *Store
	mode  Mode
	// the store's revision when the table was made: watches can begin there, as where a watch cache was filled first
	created uint64

	mu       sync.RWMutex // guards what follows; taken after Store.mu, never before
	tree     *btree.BTree[*entry]
	frozen   *btree.BTree[*entry] // clone of tree that readers share; nil after a write
	history  history
	last     uint64 // revision of the newest event
	own      uint64 // revision of a table that is played; 0: the table has the store's
	watchers map[*watcher]struct{}
}

// newTable returns an empty table. A store that was compacted has no states of it before the compaction.
func newTable(s *Store, m Mode) *table {
	return &table{
		store:    s,
		mode:     m,
		created:  s.revision.Load(),
		tree:     btree.New(32, func(a, b *entry) bool { return a.key < b.key }),
		history:  history{compacted: s.compacted.Load(), limit: s.history},
		watchers: map[*watcher]struct{}{},
	}
}

// get returns the entry of key, nil if there is none, and the current revision.
func (t *table) get(key string) (*entry, uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, _ := t.tree.Get(&entry{key: key})
	return e, t.revision()
}

// revision returns the revision of the newest state: the store's, unless the table is played. The caller holds t.mu.
func (t *table) revision() uint64 {
	if t.own != 0 {
		return t.own
	}
	return t.store.revision.Load()
}

// swap commits a write: next takes the place of want, where a nil want says that key must not exist and a nil next
// deletes. It returns the revision of the write;0 means that the entry of key is another than want, and that nothing
// was written. swap takes ownership of next.
func (t *table) swap(ctx context.Context, key string, want, next *entry) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if current, _ := t.tree.Get(&entry{key: key}); current != want {
		return 0, nil
	}
	revision := t.store.revision.Add(1)
	if err := next.stamp(revision); err != nil {
		return 0, err
	}
	if t.store.onCommit != nil {
		t.store.onCommit(ctx, revision)
	}
	if t.own != 0 {
		t.own = revision
	}
	t.frozen = nil
	if next == nil {
		t.tree.Delete(want)
	} else {
		t.tree.ReplaceOrInsert(next)
	}
	t.publish(event{revision: revision, current: next, previous: want})
	return revision, nil
}

// stamp sets the revision of an entry that is in no table yet; nil is allowed.
func (e *entry) stamp(revision uint64) error {
	if e == nil {
		return nil
	}
	e.revision = revision
	if e.object == nil {
		return nil
	}
	return storage.APIObjectVersioner{}.UpdateObject(e.object, revision)
}

// publish appends ev to the history and wakes the watchers. The caller holds t.mu.
func (t *table) publish(ev event) {
	t.last = ev.revision
	t.history.append(ev)
	if t.history.full() {
		t.history.trim(t.oldestRead())
	}
	for w := range t.watchers {
		w.notify()
	}
}

// oldestRead returns the number of the oldest event that some watcher has not read. The caller holds t.mu.
func (t *table) oldestRead() int {
	oldest := t.history.end()
	for w := range t.watchers {
		oldest = min(oldest, w.next)
	}
	return oldest
}

// compact drops the states before revision. Events are kept where a watch cache would answer watches, which is not
// compacted.
func (t *table) compact(revision uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mode == Uncached {
		t.history.drop(t.history.index(revision))
	}
	t.history.compact(revision)
}

// latest returns the current state.
func (t *table) latest() snapshot {
	t.mu.RLock()
	s := snapshot{tree: t.frozen, revision: t.revision()}
	t.mu.RUnlock()
	if s.tree != nil {
		return s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.freeze()
}

// freeze is latest for a caller that holds t.mu for writing.
func (t *table) freeze() snapshot {
	if t.frozen == nil {
		t.frozen = t.tree.Clone()
	}
	return snapshot{tree: t.frozen, revision: t.revision()}
}

// at returns the state at revision, which must not be in the future, and false if it is compacted.
func (t *table) at(revision uint64) (snapshot, bool) {
	t.mu.Lock()
	if revision < t.history.compacted {
		t.mu.Unlock()
		return snapshot{}, false
	}
	tree := t.tree.Clone()
	undo := t.history.since(revision)
	t.mu.Unlock()
	for _, ev := range slices.Backward(undo) {
		if ev.previous != nil {
			tree.ReplaceOrInsert(ev.previous)
		} else {
			tree.Delete(ev.current)
		}
	}
	return snapshot{tree: tree, revision: revision}, true
}

// read copies the next events that w has not read into buf, as many as it holds, and marks them as read. With none it
// returns the revision up to which w has read everything. The error is that they are not kept any more.
func (t *table) read(w *watcher, buf []event) (events []event, revision uint64, err error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	events, ok := t.history.read(w.next, buf)
	if !ok {
		return nil, 0, t.expired(w.since)
	}
	w.next += len(events)
	return events, t.revision(), nil
}

// forget removes a watcher, which may have been removed before.
func (t *table) forget(w *watcher) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.watchers, w)
}

// watchable returns the revision from which on watches can begin. The caller holds t.mu.
func (t *table) watchable() uint64 {
	if t.mode == Uncached {
		return t.history.compacted
	}
	return max(t.history.dropped, t.created)
}

// expired returns the error of a watch from a revision whose events are no longer kept. The caller holds t.mu.
func (t *table) expired(from uint64) error {
	if t.mode == Uncached {
		return apierrors.NewResourceExpired(watchCompacted)
	}
	return watchExpired(from, t.watchable())
}

// lagFactor times the limit is how many events a history keeps at most, for slow watchers.
const lagFactor = 16

// history is the recent events of a table, oldest first. Events are numbered from 0 on; the numbers only grow. It has
// no lock. A slice of events that was returned stays as it is: events are appended behind it, and trimming
// makes a copy.
type history struct {
	events    []event
	first     int    // number of events[0]
	compacted uint64 // states before this revision cannot be restored
	dropped   uint64 // the newest revision of an event that is no longer kept
	limit     int    // events that are always kept
	slack     int    // events above the limit that were kept for slow watchers
}

// end returns the number that the next event will have.
func (h *history) end() int {
	return h.first + len(h.events)
}

func (h *history) append(ev event) {
	h.events = append(h.events, ev)
}

// full reports whether to trim: once a quarter of the limit was added to what the last trim kept.
func (h *history) full() bool {
	return len(h.events) > h.limit+h.limit/4+h.slack
}

// trim drops events from before the number wanted, but neither of the newest limit ones, and keeps no more than
// lagFactor times as many even if they are wanted.
func (h *history) trim(wanted int) {
	keep := max(h.limit, h.end()-wanted)
	keep = min(keep, h.limit*lagFactor, len(h.events))
	h.drop(len(h.events) - keep)
	h.slack = len(h.events) - h.limit
}

// compact makes the states before revision unavailable. The events are kept.
func (h *history) compact(revision uint64) {
	h.compacted = max(h.compacted, revision)
}

// drop removes the oldest n events.
func (h *history) drop(n int) {
	if n <= 0 {
		return
	}
	h.dropped = h.events[n-1].revision
	h.compact(h.dropped)
	h.events = slices.Clone(h.events[n:])
	h.first += n
}

// index returns the index of the first event after revision.
func (h *history) index(revision uint64) int {
	return sort.Search(len(h.events), func(i int) bool { return h.events[i].revision > revision })
}

// after returns the number of the first event after revision.
func (h *history) after(revision uint64) int {
	return h.first + h.index(revision)
}

// since returns the events after revision.
func (h *history) since(revision uint64) []event {
	return h.events[h.index(revision):]
}

// read copies events from the number next on into buf, as many as it holds. It returns false if they were dropped.
func (h *history) read(next int, buf []event) ([]event, bool) {
	if next < h.first {
		return nil, false
	}
	n := copy(buf[:cap(buf)], h.events[next-h.first:])
	return buf[:n], true
}
