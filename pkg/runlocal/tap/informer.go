package tap

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// informer is an informer whose handlers are observed. Everything else is the wrapped one's own.
type informer struct {
	cache.SharedIndexInformer
	tap *Tap
	gvk schema.GroupVersionKind
	gvr schema.GroupVersionResource
	// base is the latest write when the informer was made: what it lists when it starts is not older.
	base uint64
	// sparing says that a watch event is told only when it turns out to be a cause.
	sparing bool

	mu     sync.Mutex // held while an event is emitted, so that handlers of one event wait for its number
	events memory[eventID, *watchEvent]

	handlers map[cache.ResourceEventHandlerRegistration]*handler // guarded by tap.mu
	// resync is how often handlers that do not ask for another period are handed all objects again; 0 is never, for all.
	resync time.Duration
}

var _ cache.SharedIndexInformer = (*informer)(nil)

// observe wraps an informer of obj's type, which hands all objects to handlers again after each resync. It adds a handler of the tap's own, so that the events of an informer that
// only serves a lister are seen too.
func (t *Tap) observe(obj runtime.Object, next cache.SharedIndexInformer, resync time.Duration) *informer {
	gvk, gvr := t.kinds().of(obj)
	i := t.watching(gvk, gvr, next)
	i.resync = resync
	// An informer refuses handlers only when it is stopped; then there is nothing to see.
	_, _ = i.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{}, 0)
	return i
}

// watching wraps an informer that was not started, and accounts for it until dropped.
func (t *Tap) watching(gvk schema.GroupVersionKind, gvr schema.GroupVersionResource, next cache.SharedIndexInformer) *informer {
	i := &informer{
		SharedIndexInformer: next, tap: t, gvk: gvk, gvr: gvr, base: t.newest.Load(),
		handlers: map[cache.ResourceEventHandlerRegistration]*handler{},
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.informers = append(t.informers, i)
	return i
}

// dropped ends the account of an informer that was stopped, or is about to be.
func (t *Tap) dropped(i *informer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.informers = slices.DeleteFunc(t.informers, func(other *informer) bool { return other == i })
}

// handled is the least of what the handlers have handled. tap.mu must be held.
func (i *informer) handled() uint64 {
	var least uint64
	first := true
	for registration, h := range i.handlers {
		if rv := h.handled(registration); first || rv < least {
			least, first = rv, false
		}
	}
	return least
}

// since is the version up to which a handler that is registered at this moment has handled everything once it has got
// what the informer holds. tap.mu must be held.
func (i *informer) since() uint64 {
	if !i.HasSynced() || len(i.handlers) == 0 {
		return i.base
	}
	return i.handled()
}

// AddEventHandler implements cache.SharedInformer.
func (i *informer) AddEventHandler(next cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.added(next, i.resync, func(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
		return i.SharedIndexInformer.AddEventHandler(h)
	})
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer.
func (i *informer) AddEventHandlerWithResyncPeriod(next cache.ResourceEventHandler, resync time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.added(next, resync, func(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
		return i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(h, resync)
	})
}

// AddEventHandlerWithOptions implements cache.SharedInformer.
func (i *informer) AddEventHandlerWithOptions(next cache.ResourceEventHandler, o cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	resync := i.resync
	if o.ResyncPeriod != nil {
		resync = *o.ResyncPeriod
	}
	return i.added(next, resync, func(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
		return i.SharedIndexInformer.AddEventHandlerWithOptions(h, o)
	})
}

// added registers a wrapped handler by register.
func (i *informer) added(
	next cache.ResourceEventHandler, resync time.Duration,
	register func(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error),
) (cache.ResourceEventHandlerRegistration, error) {
	h := &handler{informer: i, controller: current().controller, next: next, resynced: resync > 0 && i.resync > 0}
	i.tap.mu.Lock()
	h.base = i.since()
	i.tap.mu.Unlock()
	registration, err := register(h)
	if err != nil {
		return nil, err
	}
	i.tap.mu.Lock()
	defer i.tap.mu.Unlock()
	i.handlers[registration] = h
	return registration, nil
}

// RemoveEventHandler implements cache.SharedInformer.
func (i *informer) RemoveEventHandler(registration cache.ResourceEventHandlerRegistration) error {
	i.tap.mu.Lock()
	delete(i.handlers, registration)
	i.tap.mu.Unlock()
	return i.SharedIndexInformer.RemoveEventHandler(registration)
}
