package api

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api/memstore"
)

// ErrNotRecorded is the error of playing a kind that is not in Recorded.Resources.
var ErrNotRecorded = errors.New("it is not among the recorded kinds")

// startPlaying gives each recorded resource the version that it was recorded at.
func (b *backend) startPlaying(recorded recordedKinds) {
	for gr, kind := range recorded {
		if storage, ok := b.played(gr); ok {
			// One that is in use otherwise is not played: it has the store's version.
			_ = b.store.StartPlaying(storage.prefix, storage.mode, kind.ResourceVersion)
		}
	}
}

// played returns the storage of a recorded kind. It is false for a built-in kind that this version does not have.
func (b *backend) played(gr schema.GroupResource) (resourceStorage, bool) {
	gr = StoredAs(gr)
	if storage, ok := b.builtIn(gr); ok {
		return storage, true
	}
	return customStorage(gr), !BuiltIn(gr.Group)
}

// PlayedEvent is a watch event that another API server has sent.
type PlayedEvent struct {
	// Object is the object, of a deletion as it last was.
	Object  StoredObject
	Deleted bool
	// ResourceVersion is that of the event.
	ResourceVersion string
}

// Play publishes an event below the REST layer, in a server with Options.Recorded, and returns the resource version
// that clients see: that of the event, unless clients have seen a higher one of the resource. A change of an object
// that is not there creates it. It must not be called concurrently with Play and Replace for the same resource.
func (s *Server) Play(ctx context.Context, ev PlayedEvent) (uint64, error) {
	storage, err := s.storageToPlay(ev.Object.resource())
	if err != nil {
		return 0, err
	}
	obj, m, err := storage.decode(&ev.Object)
	if err != nil {
		return 0, err
	}
	return s.backend.store.Play(ctx, storage.config, storage.prefix, storage.mode, memstore.Played{
		Key: storage.key(m), Object: obj, Deleted: ev.Deleted, Version: snapshot.VersionNumber(ev.ResourceVersion),
	})
}

// Progress makes clients see a resource version of a recorded resource at which nothing was sent: that of a bookmark or
// of a list. A version below the newest changes nothing.
func (s *Server) Progress(gr schema.GroupResource, resourceVersion string) {
	if storage, err := s.storageToPlay(gr); err == nil {
		s.backend.store.Progress(storage.prefix, snapshot.VersionNumber(resourceVersion))
	}
}

// Replace gives a recorded resource another state: all its objects, and the version of lists. Watches of the resource
// end with "410 Gone", unless nothing has changed. It returns the objects that the server does not have.
func (s *Server) Replace(
	ctx context.Context, gr schema.GroupResource, resourceVersion uint64, objects iter.Seq[StoredObject],
) ([]UnloadedObject, error) {
	storage, err := s.storageToPlay(gr)
	if err != nil {
		return nil, err
	}
	var unloaded []UnloadedObject
	var last StoredObject
	decoded := func(yield func(string, runtime.Object) bool) {
		for o := range objects {
			last = o
			obj, m, err := storage.decode(&o)
			if err != nil {
				unloaded = append(unloaded, o.unloaded(err))
				continue
			}
			if !yield(storage.key(m), obj) {
				return
			}
		}
	}
	failed := func(_ string, err error) { unloaded = append(unloaded, last.unloaded(err)) }
	err = s.backend.store.Replace(ctx, storage.config, storage.prefix, storage.mode, resourceVersion, decoded, failed)
	return unloaded, err
}

// ServesRecorded reports whether a recorded kind can be served: its objects, if not its requests. A built-in kind of
// another version of Kubernetes cannot. Custom resources are served if their definition is there.
func (s *Server) ServesRecorded(gr schema.GroupResource) bool {
	_, err := s.storageToPlay(gr)
	return err == nil
}

func (s *Server) storageToPlay(gr schema.GroupResource) (resourceStorage, error) {
	if s.recorded.find(gr) == nil {
		return resourceStorage{}, fmt.Errorf("playing %q: %w", gr, ErrNotRecorded)
	}
	storage, ok := s.backend.played(gr)
	if !ok {
		return resourceStorage{}, fmt.Errorf("playing %q: %w", gr, ErrNotServed)
	}
	return storage, nil
}
