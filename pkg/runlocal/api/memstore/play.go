package memstore

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/utils/third_party/forked/golang/btree"
)

// A table that is played repeats what another API server has sent of its resource. It has a resource version of its
// own, since the resources of that server may be in several etcds, and since their events were not received in the
// order of versions: a list that had the version of another resource's newest event would claim events of this one that
// come later. Lists, bookmarks and new watches of a played table have the table's version.
//
// The versions of the events of a table only grow, or a client that continues a watch would miss events. An event
// that was recorded with a version that is not above those before, or with none, gets the one after the newest, and so
// does its object: that happens where streams of several namespaces are merged, and where the recorder found changes by
// comparing lists. Any other object keeps the version that it had.
//
// Writes by clients are allowed. Their versions are above those of all tables, and the table that is written continues
// there.

// StartPlaying makes the table of a resource one that is played, at a version: that of the newest list, event or
// bookmark that it consists of. Its objects are loaded before. Versions from before are not there: lists and watches at
// them are answered with "410 Gone", and so are watches from later ones. It may be lower than that of an object if the
// list is not complete that it is part of. The version 0 counts as 1.
func (s *Store) StartPlaying(resourcePrefix string, m Mode, version uint64) error {
	t := s.table(resourcePrefix, m)
	if t.mode != m {
		return fmt.Errorf("playing %q: in use with mode %v, not %v", resourcePrefix, t.mode, m)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restart(max(version, 1))
	return nil
}

// restart makes revision the oldest and the newest one of the table. The caller holds t.mu.
func (t *table) restart(revision uint64) {
	t.store.raise(revision)
	t.own, t.created, t.last = revision, revision, min(t.last, revision)
	t.history.drop(len(t.history.events))
	t.history.compacted, t.history.dropped = revision, 0
}

// raise makes the store's revision at least the given one, so that writes come after it.
func (s *Store) raise(revision uint64) {
	for {
		current := s.revision.Load()
		if current >= revision || s.revision.CompareAndSwap(current, revision) {
			return
		}
	}
}

// Played is an event that another API server has sent.
type Played struct {
	// Key is that of the object, such as "/pods/default/web".
	Key string
	// Object is the object, of a deletion as it last was. The store owns it.
	Object  runtime.Object
	Deleted bool
	// Version is the resource version of the event; 0 if it is not known.
	Version uint64
}

// Play publishes an event in a table that is played, and returns the version that it has there. What is not there is
// created by an event of any type; the deletion of what is not there only sets the version of the table. The arguments
// before the event are as for Decorator.
func (s *Store) Play(
	ctx context.Context, config *storagebackend.ConfigForResource, resourcePrefix string, m Mode, ev Played,
) (uint64, error) {
	r, err := s.newResource(config, resourcePrefix, nil, m)
	if err != nil {
		return 0, err
	}
	defer r.destroy()
	key, err := r.key(ev.Key, false)
	if err != nil {
		return 0, err
	}
	next, err := r.representation.prepare(ctx, key, ev.Object)
	if err != nil {
		return 0, fmt.Errorf("playing %q: %w", key, err)
	}
	return r.table.play(next.entry, ev.Deleted, ev.Version)
}

// play publishes e, or its deletion.
func (t *table) play(e *entry, deleted bool, version uint64) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	previous, _ := t.tree.Get(e)
	if deleted && previous == nil {
		t.own = max(t.revision(), version)
		t.store.raise(t.own)
		return t.own, nil
	}
	revision := max(t.revision()+1, version)
	if err := e.stamp(revision); err != nil {
		return 0, fmt.Errorf("playing %q: %w", e.key, err)
	}
	t.store.raise(revision)
	t.own, t.frozen = revision, nil
	if deleted {
		t.tree.Delete(previous)
		t.publish(event{revision: revision, previous: previous, final: e})
	} else {
		t.tree.ReplaceOrInsert(e)
		t.publish(event{revision: revision, current: e, previous: previous})
	}
	return revision, nil
}

// Progress raises the version of a played table to that of a bookmark or of the end of a list, and sends a bookmark to
// the watches that accept them. A lower version changes nothing.
func (s *Store) Progress(resourcePrefix string, version uint64) {
	s.mu.Lock()
	t := s.tables[tableName(resourcePrefix)]
	s.mu.Unlock()
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.own == 0 || version <= t.own {
		return
	}
	s.raise(version)
	t.own = version
	for w := range t.watchers {
		if w.bookmarks {
			w.progress.Store(true)
			w.notify()
		}
	}
}

// Replace gives a played table another state, with keys and objects, which the store owns, and a version. Its watches
// end with "410 Gone", so that clients list again. They do not end if the table has that state already. An object that
// cannot be stored is left out, and given to failed.
func (s *Store) Replace(
	ctx context.Context, config *storagebackend.ConfigForResource, resourcePrefix string, m Mode,
	version uint64, objects iter.Seq2[string, runtime.Object], failed func(key string, err error),
) error {
	r, err := s.newResource(config, resourcePrefix, nil, m)
	if err != nil {
		return err
	}
	defer r.destroy()
	tree := btree.New(32, func(a, b *entry) bool { return a.key < b.key })
	for key, obj := range objects {
		e, err := r.loaded(ctx, key, obj)
		if err != nil {
			failed(key, err)
			continue
		}
		tree.ReplaceOrInsert(e)
	}
	r.table.replace(tree, max(version, 1))
	return ctx.Err()
}

// loaded returns an entry of an object that keeps its version; 1 if that is no number.
func (r *resource) loaded(ctx context.Context, key string, obj runtime.Object) (*entry, error) {
	key, err := r.key(key, false)
	if err != nil {
		return nil, err
	}
	version, err := storage.APIObjectVersioner{}.ObjectResourceVersion(obj)
	if err != nil || version == 0 {
		version = 1
	}
	next, err := r.representation.prepare(ctx, key, obj)
	if err != nil {
		return nil, fmt.Errorf("loading %q: %w", key, err)
	}
	if err := next.stamp(version); err != nil {
		return nil, fmt.Errorf("loading %q: %w", key, err)
	}
	return next.entry, nil
}

// replace makes tree, which it owns, the state at revision.
func (t *table) replace(tree *btree.BTree[*entry], revision uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.own == revision && sameEntries(t.tree, tree) {
		return
	}
	t.tree, t.frozen = tree, nil
	t.restart(revision)
	t.history.first++ // every watcher has an event to read that is not there
	for w := range t.watchers {
		w.notify()
	}
}

// sameEntries reports whether the trees have the same versions of the same objects.
func sameEntries(a, b *btree.BTree[*entry]) bool {
	if a.Len() != b.Len() {
		return false
	}
	same := true
	a.Ascend(func(e *entry) bool {
		other, ok := b.Get(e)
		same = ok && other.revision == e.revision && other.sum == e.sum && bytes.Equal(other.data, e.data)
		return same
	})
	return same
}
