package tap

import (
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// watchEvent is a watch event that was or can be emitted.
type watchEvent struct {
	watch *trace.Watch
	seq   uint64        // its number, if it was emitted at once
	tell  func() uint64 // emits it when it is first called, and returns its number; nil if it was emitted at once
	by    []*handler    // that have seen it
	of    int           // that will, as far as is known
}

// number is that of the event, which is emitted if it was not. It may be called concurrently.
func (e *watchEvent) number() uint64 {
	if e.tell != nil {
		return e.tell()
	}
	return e.seq
}

// eventID tells watch events of an informer apart.
type eventID struct {
	uid     types.UID
	version string
	event   trace.WatchType
}

// seen returns the watch event that h is about to handle, and emits it for the first handler that is. What the last of them
// has seen is forgotten; the bound on the memory is for handlers that come and go meanwhile. What a handler sees again is
// another event: the next round of a resync.
func (i *informer) seen(h *handler, event trace.WatchType, old, obj any, m metav1.Object, initial bool) *watchEvent {
	id := eventID{uid: m.GetUID(), version: m.GetResourceVersion(), event: event}
	if id.uid == "" {
		id.uid = types.UID(m.GetNamespace() + "/" + m.GetName())
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if e, ok := i.events.get(id); ok && !slices.Contains(e.by, h) {
		if e.by = append(e.by, h); len(e.by) >= e.of {
			i.events.drop(id)
		}
		return e
	}
	w := &trace.Watch{Event: event, Object: i.object(m), ResourceVersion: m.GetResourceVersion(), Initial: initial}
	if event != trace.Resync {
		by := i.tap.writers.of(number(w.ResourceVersion))
		w.WrittenBy, w.Writer = by.id, by.controller
	}
	if event == trace.Modified {
		w.Change = changeOf(asObject(old), asObject(obj))
	}
	if w.WrittenBy == 0 && !initial {
		w.Manager = i.tap.manager(w, m)
	}
	e := &watchEvent{watch: w, by: []*handler{h}, of: i.handle(event, obj, m)}
	if i.sparing {
		e.tell = sync.OnceValue(func() uint64 { return i.tap.rec.Emit("", 0, "", w) })
	} else {
		e.seq = i.tap.rec.Emit("", 0, "", w)
	}
	if e.of > 1 {
		i.events.put(id, e)
	} else {
		i.events.drop(id)
	}
	return e
}

// handle counts the handlers that handle an event of the object.
func (i *informer) handle(event trace.WatchType, obj any, m metav1.Object) int {
	i.tap.mu.Lock()
	defer i.tap.mu.Unlock()
	n := 0
	for _, h := range i.handlers {
		if (event != trace.Resync || h.resynced) && h.keeps(obj, m) {
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

func asObject(obj any) runtime.Object {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	o, _ := obj.(runtime.Object)
	return o
}

// changeOf compares two versions of an object when it is asked to. Objects in an informer are never changed.
func changeOf(old, updated runtime.Object) *trace.Change {
	return trace.ChangeFrom(func() []inspect.Change { return compare(old, updated) })
}

// compare tells in place of a change that it could not be found, which only an object of no API does.
func compare(old, updated runtime.Object) []inspect.Change {
	changes, err := inspect.Changes(old, updated)
	if err != nil {
		return []inspect.Change{{New: err.Error()}}
	}
	if updated == nil || reflect.ValueOf(updated).IsNil() {
		return discreet(old, changes)
	}
	return discreet(updated, changes)
}
