package engine

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// Event is a change that an informer delivers. One of Old and New may be nil, not both. Objects are shared with the
// informer and must not be modified.
type Event struct {
	// Old is the object before the change; nil if it was added.
	Old metav1.Object
	// New is the object after the change; nil if it was deleted. For a resync it is Old.
	New metav1.Object
	// Initial means that the object existed before the informer started.
	Initial bool
}

// Object returns New, or Old for a deletion.
func (e Event) Object() metav1.Object {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

// MapFunc returns the requests that an event leads to. It is called on the informer's goroutine, for one event at a
// time for each Watch, and should not block. Requests may repeat.
type MapFunc func(e Event) []Request

// Self is a MapFunc that returns the request of the event's own object.
func Self(e Event) []Request {
	o := e.Object()
	return []Request{{Namespace: o.GetNamespace(), Name: o.GetName()}}
}

var _ MapFunc = Self

// Informer is what Watch needs of a cache.SharedIndexInformer.
type Informer interface {
	AddEventHandlerWithOptions(
		cache.ResourceEventHandler, cache.HandlerOptions,
	) (cache.ResourceEventHandlerRegistration, error)
	RemoveEventHandler(cache.ResourceEventHandlerRegistration) error
}

// registeredHandler is an informer with the registration of a handler.
type registeredHandler struct {
	informer     Informer
	registration cache.ResourceEventHandlerRegistration
}

// handler makes Events of what an informer delivers.
type handler struct {
	event   func(Event)
	invalid func(error)
}

var _ cache.ResourceEventHandler = (*handler)(nil)

// OnAdd implements cache.ResourceEventHandler.
func (h *handler) OnAdd(obj any, initial bool) {
	if o := h.object(obj); o != nil {
		h.event(Event{New: o, Initial: initial})
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (h *handler) OnUpdate(old, obj any) {
	before, after := h.object(old), h.object(obj)
	if before != nil && after != nil {
		h.event(Event{Old: before, New: after})
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (h *handler) OnDelete(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if o := h.object(obj); o != nil {
		h.event(Event{Old: o})
	}
}

func (h *handler) object(obj any) metav1.Object {
	o, ok := obj.(metav1.Object)
	if !ok {
		h.invalid(fmt.Errorf("reading a watch event: %T is not an API object", obj))
		return nil
	}
	return o
}
