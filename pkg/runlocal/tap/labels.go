package tap

import (
	"context"
	"runtime/pprof"
	"sync"
	"unsafe"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// The labels of a goroutine for profiles are the only thing that goroutines which it starts inherit, and the Go runtime
// has no public function that returns them. These two functions are on the runtime's list of names that are kept for
// such use (go.dev/issue/67401): the linker allows them, and their signatures stay. If a Go release drops them, this
// package does not link; if goroutines no longer inherit labels, TestGoroutineInheritance fails. Without them, requests
// of goroutines that a controller starts, such as those of ReplicaSet's slow start, could not be attributed.

//go:linkname getProfLabel runtime/pprof.runtime_getProfLabel
func getProfLabel() unsafe.Pointer

//go:linkname setProfLabel runtime/pprof.runtime_setProfLabel
func setProfLabel(labels unsafe.Pointer)

// activity is what the goroutines with its label are doing. It is immutable.
type activity struct {
	// controller is the one that is being built, or whose reconcile or handler runs; nil if there is none.
	controller *Controller
	// reconcile is nil outside of a reconcile.
	reconcile *reconcile
	// event is the watch event that a handler is handling; nil outside of handlers.
	event *watchEvent
	// iteration is that of a timer loop; nil outside of such loops, and where reconcile is set.
	iteration *iteration
	// startedBy is the reconcile that passed this work to another goroutine, and may have ended; 0 if there is none.
	startedBy trace.ReconcileID
	// program is the name of the program outside whose request is served; empty if none is.
	program string
	// inRequest means that a request is under way: lines logged there are the API server's, if it runs in this process.
	inRequest bool
}

// activities maps label sets, by address, to activities. It is global because goroutines and their labels are the
// process's. A label set that is a key here or the label of a goroutine is not collected, so that no other can have its
// address.
var activities sync.Map // unsafe.Pointer -> *activity

// labelChange is a change of the labels of a goroutine, to those of an activity. The zero value is none.
type labelChange struct{ to, from unsafe.Pointer }

// labelContext is the smallest context that pprof.WithLabels accepts. It carries labels to a goroutine and never ends.
type labelContext struct{ context.Context }

// Value implements context.Context: it has no labels.
func (labelContext) Value(any) any { return nil }

// enter labels the calling goroutine, and those that it starts after this, with a. The caller must end the change.
func (a *activity) enter(labels pprof.LabelSet) labelChange {
	l := labelChange{from: getProfLabel()}
	pprof.SetGoroutineLabels(pprof.WithLabels(labelContext{}, labels))
	l.to = getProfLabel()
	activities.Store(l.to, a)
	return l
}

// end ends the activity for all goroutines in it, including those that outlive it, and gives the calling one the labels
// that it had before. A goroutine with other labels keeps them.
func (l labelChange) end() {
	activities.Delete(l.to)
	if getProfLabel() == l.to {
		setProfLabel(l.from)
	}
}

// restore gives the calling goroutine the labels that it had before, and leaves the activity to the others in it.
func (l labelChange) restore() {
	if getProfLabel() == l.to {
		setProfLabel(l.from)
	}
}

// noActivity saves callers the check for nil.
var noActivity = &activity{}

// currentActivity returns the activity of the calling goroutine, an empty one if it is in none.
func currentActivity() *activity {
	if p := getProfLabel(); p != nil {
		if s, ok := activities.Load(p); ok {
			return s.(*activity)
		}
	}
	return noActivity
}

// Current returns the controller, the key and the reconcile that the calling goroutine works for, or the one that
// has started it: for what serves the requests of controllers in this process. All are zero if it works for none; key
// and id are zero outside of reconciles.
func Current() (controller, key string, id trace.ReconcileID) {
	a := currentActivity()
	if a.controller != nil {
		controller = a.controller.name
	}
	if a.reconcile != nil {
		controller, key, id = a.reconcile.c.name, a.reconcile.key, a.reconcile.id
	}
	return controller, key, id
}
