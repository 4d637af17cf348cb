package tap

import (
	"context"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/recent"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// informer is an informer whose handlers are observed. Methods that it does not declare are those of the wrapped
// informer.
type informer struct {
	cache.SharedIndexInformer
	tap *Tap
	gvk schema.GroupVersionKind
	gvr schema.GroupVersionResource
	// base is the latest write when the informer was made: what it lists when it starts is not older.
	base uint64
	// lazy means that a watch event is recorded only if it turns out to be a cause.
	lazy bool

	mu     sync.Mutex // held while an event is emitted, so that all handlers of an event get its number; guards events
	events recent.Map[eventID, *watchEvent]

	handlers map[cache.ResourceEventHandlerRegistration]*handler // guarded by tap.mu
	// resync is how often handlers that do not ask for another period get all objects again; 0 means never, for all
	// handlers.
	resync time.Duration
}

var _ cache.SharedIndexInformer = (*informer)(nil)

// observe wraps an informer of obj's type with that resync period. It adds a handler that does nothing, so that events
// of an informer that only serves a lister are recorded too.
func (t *Tap) observe(obj runtime.Object, next cache.SharedIndexInformer, resync time.Duration) *informer {
	gvk, gvr := t.kinds().of(obj)
	i := t.wrapInformer(gvk, gvr, next, false)
	i.resync = resync
	// One that runs refuses the first, and one that is stopped the second: it does not run yet, and if it is stopped
	// there is nothing to see.
	if t.listFailed != nil {
		_ = next.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			t.listFailed(gvr, err)
			cache.DefaultWatchErrorHandler(ctx, r, err)
		})
	}
	_, _ = i.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{}, 0)
	return i
}

// wrapInformer wraps an informer that was not started, and includes it in State until dropInformer. lazy means that a
// watch event is recorded only if it turns out to be a cause.
func (t *Tap) wrapInformer(
	gvk schema.GroupVersionKind, gvr schema.GroupVersionResource, next cache.SharedIndexInformer, lazy bool,
) *informer {
	i := &informer{
		SharedIndexInformer: next, tap: t, gvk: gvk, gvr: gvr, base: t.newest.Load(), lazy: lazy,
		handlers: map[cache.ResourceEventHandlerRegistration]*handler{},
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.informers = append(t.informers, i)
	return i
}

// dropInformer excludes an informer that was stopped, or is about to be, from State.
func (t *Tap) dropInformer(i *informer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.informers = slices.DeleteFunc(t.informers, func(other *informer) bool { return other == i })
}

// Cached returns the objects of a resource that an informer of the controllers has, in no order, without those that are
// out of scope; none if there is no such informer. They must not be changed.
func (t *Tap) Cached(resource schema.GroupResource) []any {
	t.mu.Lock()
	at := slices.IndexFunc(t.informers, func(i *informer) bool { return !i.lazy && i.gvr.GroupResource() == resource })
	if at < 0 {
		t.mu.Unlock()
		return nil
	}
	i := t.informers[at]
	t.mu.Unlock()
	return slices.DeleteFunc(i.GetStore().List(), func(obj any) bool { return !i.inScope(obj, metadata(obj)) })
}

// handled returns the least of what the handlers have handled. tap.mu must be held.
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

// since returns the version up to which a handler that is registered at this moment will have handled everything when
// it has got all that the informer stores. tap.mu must be held.
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
func (i *informer) AddEventHandlerWithResyncPeriod(
	next cache.ResourceEventHandler, resync time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.added(next, resync, func(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
		return i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(h, resync)
	})
}

// AddEventHandlerWithOptions implements cache.SharedInformer.
func (i *informer) AddEventHandlerWithOptions(
	next cache.ResourceEventHandler, o cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	resync := i.resync
	if o.ResyncPeriod != nil {
		resync = *o.ResyncPeriod
	}
	return i.added(next, resync, func(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
		return i.SharedIndexInformer.AddEventHandlerWithOptions(h, o)
	})
}

// added wraps a handler and registers it by register. It belongs to the controller that the calling goroutine builds.
func (i *informer) added(
	next cache.ResourceEventHandler, resync time.Duration,
	register func(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error),
) (cache.ResourceEventHandlerRegistration, error) {
	h := &handler{
		informer: i, controller: currentActivity().controller, next: next,
		resynced: resync > 0 && i.resync > 0,
	}
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

// handler labels its goroutine with the watch event while the wrapped handler runs, so that keys which that adds have a
// cause. An informer calls the methods of a handler one at a time.
type handler struct {
	informer   *informer
	controller *Controller // the one being built when the handler was registered; may be nil
	next       cache.ResourceEventHandler
	resynced   bool          // it gets all objects again from time to time
	progress   atomic.Uint64 // the latest resourceVersion that it has handled
	base       uint64        // see informer.since
}

// handled returns the resourceVersion up to which the handler has handled everything. An object that was deleted before
// the handler could see it has no event; but what the handler got first is not older than base.
func (h *handler) handled(registration cache.ResourceEventHandlerRegistration) uint64 {
	progress := h.progress.Load()
	if progress < h.base && registration.HasSynced() {
		return h.base
	}
	return progress
}

var _ cache.ResourceEventHandler = (*handler)(nil)

// OnAdd implements cache.ResourceEventHandler.
func (h *handler) OnAdd(obj any, initial bool) {
	if d := h.begin(trace.Added, nil, obj, initial); d.inScope {
		defer d.end()
		h.next.OnAdd(obj, initial)
	}
}

// OnUpdate implements cache.ResourceEventHandler. An update to the same version is a resync.
func (h *handler) OnUpdate(old, updated any) {
	event := trace.Modified
	if version(old) == version(updated) {
		event = trace.Resync
	}
	if d := h.begin(event, old, updated, false); d.inScope {
		defer d.end()
		h.next.OnUpdate(old, updated)
	}
}

// OnDelete implements cache.ResourceEventHandler. If the informer has missed the deletion, the last known state is
// recorded, with its old resourceVersion.
func (h *handler) OnDelete(obj any) {
	if d := h.begin(trace.Deleted, nil, obj, false); d.inScope {
		defer d.end()
		h.next.OnDelete(obj)
	}
}

// delivery is one call of a handler.
type delivery struct {
	h       *handler
	rv      uint64
	labels  labelChange
	inScope bool // if not, the delivery has ended
}

func (h *handler) begin(event trace.WatchType, old, obj any, initial bool) delivery {
	m := metadata(obj)
	d := delivery{h: h, inScope: h.inScope(obj, m)}
	if m != nil {
		d.rv = snapshot.VersionNumber(m.GetResourceVersion())
	}
	switch {
	case !d.inScope:
		d.end()
	case m != nil && h.informer.tap.recording():
		s := &activity{controller: h.controller, event: h.informer.event(h, event, old, obj, m, initial)}
		d.labels = s.enter(handlerLabels)
	}
	return d
}

// handlerLabels show the goroutines of handlers in a profile.
var handlerLabels = pprof.Labels("kubectl-reconcile", "handler")

func (d delivery) end() {
	if d.labels.to != nil {
		d.labels.end()
	}
	if d.rv > d.h.progress.Load() {
		d.h.progress.Store(d.rv)
	}
	if done := d.h.informer.tap.onHandled.Load(); done != nil {
		(*done)()
	}
}

// metadata returns the metadata of an object, or of the last known state of a deleted one; nil if there is none.
func metadata(obj any) metav1.Object {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return m
}

func version(obj any) string {
	if m := metadata(obj); m != nil {
		return m.GetResourceVersion()
	}
	return ""
}

// watchEvent is a watch event that was recorded, or will be when it turns out to be a cause.
type watchEvent struct {
	watch    *trace.Watch
	seq      uint64        // if it was recorded at once
	emit     func() uint64 // records it on the first call, and returns its Seq; nil if it was recorded at once
	seenBy   []*handler    // guarded by the informer's mu
	handlers int           // how many will see it, as far as is known
}

// seqNumber returns the Seq of the event, which it records if necessary. It may be called concurrently.
func (e *watchEvent) seqNumber() uint64 {
	if e.emit != nil {
		return e.emit()
	}
	return e.seq
}

// eventID identifies a watch event of an informer.
type eventID struct {
	uid     types.UID
	version string
	event   trace.WatchType
}

// event returns the watch event that h is about to handle, and records it for the first handler. It is dropped from
// events when the last handler has seen it, or when the map is full, since handlers may be removed before that. If a
// handler sees it again, it is another event: the next round of a resync.
func (i *informer) event(h *handler, event trace.WatchType, old, obj any, m metav1.Object, initial bool) *watchEvent {
	id := eventID{uid: m.GetUID(), version: m.GetResourceVersion(), event: event}
	if id.uid == "" {
		id.uid = types.UID(m.GetNamespace() + "/" + m.GetName())
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if e, ok := i.events.Get(id); ok && !slices.Contains(e.seenBy, h) {
		if e.seenBy = append(e.seenBy, h); len(e.seenBy) >= e.handlers {
			i.events.Delete(id)
		}
		return e
	}
	w := &trace.Watch{
		Event: event, Object: i.object(m), ResourceVersion: m.GetResourceVersion(), Initial: initial,
		Owners: ownersOf(m),
	}
	if event != trace.Resync {
		by := i.tap.writers.get(snapshot.VersionNumber(w.ResourceVersion))
		w.WrittenBy, w.Writer = by.id, by.controller
	}
	if event == trace.Modified {
		w.Change = i.changeOf(asObject(old), asObject(obj), w.WrittenBy != 0)
	}
	if w.WrittenBy == 0 && !initial {
		w.Manager = i.tap.manager(w, m)
	}
	e := &watchEvent{watch: w, seenBy: []*handler{h}, handlers: i.countHandlers(event, obj, m)}
	if i.lazy {
		e.emit = sync.OnceValue(func() uint64 { return i.tap.rec.Emit("", 0, "", w) })
	} else {
		e.seq = i.tap.rec.Emit("", 0, "", w)
	}
	if e.handlers > 1 {
		i.events.Put(id, e)
	} else {
		i.events.Delete(id)
	}
	return e
}

// countHandlers returns how many handlers handle an event of the object.
func (i *informer) countHandlers(event trace.WatchType, obj any, m metav1.Object) int {
	i.tap.mu.Lock()
	defer i.tap.mu.Unlock()
	n := 0
	for _, h := range i.handlers {
		if (event != trace.Resync || h.resynced) && h.inScope(obj, m) {
			n++
		}
	}
	return n
}

func (i *informer) object(m metav1.Object) trace.Object {
	return trace.Object{
		Group: i.gvk.Group, Version: i.gvk.Version, Kind: i.gvk.Kind, Resource: i.gvr.Resource,
		Namespace: m.GetNamespace(), Name: m.GetName(), UID: string(m.GetUID()),
	}
}

// ownersOf returns the owners of an object.
func ownersOf(m metav1.Object) []trace.Object {
	var out []trace.Object
	for _, r := range m.GetOwnerReferences() {
		gv, _ := schema.ParseGroupVersion(r.APIVersion) // what it returns for a wrong one names no kind
		out = append(out, trace.Object{
			Group: gv.Group, Version: gv.Version, Kind: r.Kind,
			Namespace: m.GetNamespace(), Name: r.Name, UID: string(r.UID),
		})
	}
	return out
}
