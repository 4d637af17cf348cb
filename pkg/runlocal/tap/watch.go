package tap

import (
	"reflect"
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
	left  int           // handlers that have yet to see it
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

// seen returns the watch event that a handler is about to handle, and emits it for the first handler that is. What the
// last of them has seen is forgotten; the bound on the memory is for handlers that were added later.
func (i *informer) seen(event trace.WatchType, old, obj any, m metav1.Object, initial bool) *watchEvent {
	id := eventID{uid: m.GetUID(), version: m.GetResourceVersion(), event: event}
	if id.uid == "" {
		id.uid = types.UID(m.GetNamespace() + "/" + m.GetName())
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if e, ok := i.events.get(id); ok {
		if e.left--; e.left <= 0 {
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
	e := &watchEvent{watch: w, left: int(i.handlerCount.Load()) - 1}
	if i.sparing {
		e.tell = sync.OnceValue(func() uint64 { return i.tap.rec.Emit("", 0, "", w) })
	} else {
		e.seq = i.tap.rec.Emit("", 0, "", w)
	}
	if e.left > 0 {
		i.events.put(id, e)
	}
	return e
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
