package tap

import (
	"runtime/pprof"
	"strconv"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// handler labels its goroutine with the watch event while the wrapped handler runs, so that what that queues knows why.
// An informer calls the methods of a handler one at a time.
type handler struct {
	informer   *informer
	controller *Controller // that was being built when the handler was registered; may be nil
	next       cache.ResourceEventHandler
	resynced   bool          // it is handed all objects again from time to time
	progress   atomic.Uint64 // the latest resourceVersion that was handled
	base       uint64        // see informer.since
}

// handled is the resourceVersion up to which the handler has handled everything. An object that was deleted before the
// handler could see it leaves no trace but that: what the handler was first given is not older than base.
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
	if d := h.begin(trace.Added, nil, obj, initial); d.kept {
		defer d.end()
		h.next.OnAdd(obj, initial)
	}
}

// OnUpdate implements cache.ResourceEventHandler. An update to the version that was there is a resync.
func (h *handler) OnUpdate(old, updated any) {
	event := trace.Modified
	if version(old) == version(updated) {
		event = trace.Resync
	}
	if d := h.begin(event, old, updated, false); d.kept {
		defer d.end()
		h.next.OnUpdate(old, updated)
	}
}

// OnDelete implements cache.ResourceEventHandler. Of an object whose deletion the informer has missed, the last known
// state is told, under its old resourceVersion.
func (h *handler) OnDelete(obj any) {
	if d := h.begin(trace.Deleted, nil, obj, false); d.kept {
		defer d.end()
		h.next.OnDelete(obj)
	}
}

// delivery is one call of a handler.
type delivery struct {
	h      *handler
	rv     uint64
	labels labelled
	kept   bool // the controllers have to do with the object; if not, the delivery has ended
}

func (h *handler) begin(event trace.WatchType, old, obj any, initial bool) delivery {
	m := metadata(obj)
	d := delivery{h: h, kept: h.keeps(obj, m)}
	if m != nil {
		d.rv = number(m.GetResourceVersion())
	}
	switch {
	case !d.kept:
		d.end()
	case m != nil && h.informer.tap.on():
		s := &scope{controller: h.controller, event: h.informer.seen(h, event, old, obj, m, initial)}
		d.labels = s.enter(handlerLabels)
	}
	return d
}

// handlerLabels tell handlers apart from other goroutines in a profile.
var handlerLabels = pprof.Labels("kubectl-reconcile", "handler")

func (d delivery) end() {
	if d.labels.own != nil {
		d.labels.leave()
	}
	if d.rv > d.h.progress.Load() {
		d.h.progress.Store(d.rv)
	}
	if done := d.h.informer.tap.handledOne.Load(); done != nil {
		(*done)()
	}
}

// metadata is that of an object or of the last known state of one; nil if there is none.
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

// number reads a resourceVersion; 0 if a server uses something else than numbers.
func number(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
