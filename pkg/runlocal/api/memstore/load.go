package memstore

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// Load puts an object, which the caller must not use any more, under a key such as "/pods/default/web", as it would be
// stored if it had been written there: it keeps its resource version, whatever the store's, and is given no other. No
// event tells of it. An object without a resource version that is a number gets 1. The arguments before the key are as
// for Decorator.
//
// Load is for a store that nothing reads or writes yet. StartAt must be called after it and before the first request.
// It returns an error for an object that the codec cannot encode, and for a key that is taken.
func (s *Store) Load(
	ctx context.Context, config *storagebackend.ConfigForResource, resourcePrefix string, m Mode,
	key string, obj runtime.Object,
) error {
	r, err := s.newResource(config, resourcePrefix, nil, m)
	if err != nil {
		return err
	}
	defer r.destroy()
	e, err := r.loaded(ctx, key, obj)
	if err != nil {
		return err
	}
	return r.table.load(e)
}

// load puts an entry into the table without an event.
func (t *table) load(e *entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, taken := t.tree.Get(e); taken {
		return storage.NewKeyExistsError(e.key, 0)
	}
	t.tree.ReplaceOrInsert(e)
	t.frozen = nil
	t.last = max(t.last, e.revision)
	return nil
}

// StartAt makes a store continue at a resource version, which is raised to that of the newest object loaded. The next
// write gets the version after it. States and events from before are not there: lists and watches at an older version
// are answered with "410 Gone".
func (s *Store) StartAt(resourceVersion uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resourceVersion = max(resourceVersion, s.revision.Load())
	for _, t := range s.tables {
		resourceVersion = max(resourceVersion, t.last, t.own)
	}
	s.revision.Store(resourceVersion)
	s.compacted.Store(resourceVersion)
	for _, t := range s.tables {
		t.startAt(resourceVersion)
	}
}

// startAt makes watches and states from before the revision unavailable.
func (t *table) startAt(revision uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.own != 0 {
		revision = t.own
	}
	t.created = revision
	t.history.drop(len(t.history.events))
	t.history.compact(revision)
}
