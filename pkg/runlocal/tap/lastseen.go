package tap

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/recent"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// seenObject is a version of an object that the session has seen. It is immutable.
type seenObject interface {
	version() uint64
	object() (runtime.Object, error)
}

// cachedObject is an object in an informer's store.
type cachedObject struct{ obj runtime.Object }

func (s cachedObject) version() uint64                 { return snapshot.VersionNumber(version(s.obj)) }
func (s cachedObject) object() (runtime.Object, error) { return s.obj, nil }

// lastSeen returns the latest version of the object that an informer or an answer has shown; nil if there is none.
func (t *Tap) lastSeen(o *trace.Object) seenObject {
	var latest seenObject
	if a := t.answers.get(o); a != nil {
		latest = a
	}
	for _, i := range t.informersOf(schema.GroupResource{Group: o.Group, Resource: o.Resource}) {
		item, exists, err := i.GetIndexer().GetByKey(objectKey(o.Namespace, o.Name))
		if obj, ok := item.(runtime.Object); ok && exists && err == nil {
			if s := (cachedObject{obj}); latest == nil || s.version() > latest.version() {
				latest = s
			}
		}
	}
	return latest
}

// objectKey returns the key of an object in informers' stores and in most queues.
func objectKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func (t *Tap) informersOf(gr schema.GroupResource) []*informer {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*informer
	for _, i := range t.informers {
		if i.gvr.GroupResource() == gr {
			out = append(out, i)
		}
	}
	return out
}

// answers keeps the latest answers until informers show the same versions. The zero value is empty. Its methods may be
// called concurrently.
type answers struct {
	mu       sync.Mutex // guards byObject
	byObject recent.Map[trace.Object, *answer]
}

const (
	// answersKept bounds the answers in a generation: bodies are some kilobytes each, and maxKept bytes at most.
	answersKept = 256
	maxKept     = 256 << 10
)

// identity returns what identifies an object in all its versions.
func identity(o *trace.Object) trace.Object {
	return trace.Object{Group: o.Group, Resource: o.Resource, Namespace: o.Namespace, Name: o.Name}
}

func (a *answers) get(o *trace.Object) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, _ := a.byObject.Get(identity(o))
	return found
}

// put keeps the answer unless a later one is known, or drops that of an object which was deleted or is large.
func (a *answers) put(o *trace.Object, latest *answer, deleted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.byObject.Capacity = answersKept
	before, known := a.byObject.Get(identity(o))
	switch {
	case deleted || len(latest.body) > maxKept:
		a.byObject.Delete(identity(o))
	case !known || before.version() <= latest.version():
		a.byObject.Put(identity(o), latest)
	}
}
