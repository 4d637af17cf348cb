package tap

import (
	"context"
	"runtime/pprof"
	"sync"
	"unsafe"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// A goroutine's profiler labels are the only thing that the goroutines it starts inherit, and the Go runtime offers no
// public way to read them back. These two functions are on the runtime's list of names that are kept for such use
// (go.dev/issue/67401): the linker allows them and their signatures stay. Should a Go release drop them, this package
// no longer links; should it no longer inherit labels, TestGoroutineInheritance fails. Either way no reconcile could be
// told for requests made by a controller's own goroutines, such as ReplicaSet's slow start.

//go:linkname getProfLabel runtime/pprof.runtime_getProfLabel
func getProfLabel() unsafe.Pointer

//go:linkname setProfLabel runtime/pprof.runtime_setProfLabel
func setProfLabel(labels unsafe.Pointer)

// activity is what the goroutines that bear its label are doing. It is immutable.
type activity struct {
	// controller is the one that is being built, or that the reconcile belongs to; nil if there is none.
	controller *Controller
	// reconcile is nil outside of a reconcile.
	reconcile *reconcile
	// event is the watch event that a handler is handling; nil outside of handlers.
	event *watchEvent
	// nextIteration is that of a loop; nil outside of turns, and where reconcile is set.
	iteration *iteration
	// startedBy is the reconcile that left this work to another goroutine, and may have ended; 0 if none did.
	startedBy trace.ReconcileID
	// inRequest says that a request is under way: what is logged there is the API server's, if it runs in this process.
	inRequest bool
}

// activities finds the scope of a goroutine by the identity of its label set. Goroutines are the process's, and so is this;
// a label set that is registered or borne by a goroutine is not collected, so that its address stands for nothing else.
var activities sync.Map // unsafe.Pointer -> *scope

// labelChange is a goroutine's stay in a scope.
type labelChange struct{ to, from unsafe.Pointer }

// labelContext is the least context that pprof.WithLabels takes. It carries labels to a goroutine and is never waited for.
type labelContext struct{ context.Context }

// FormatValue implements context.Context: a carrier holds no labels of its own.
func (labelContext) Value(any) any { return nil }

// enter puts the calling goroutine, and those it starts from here on, into s.
func (s *activity) enter(labels pprof.LabelSet) labelChange {
	l := labelChange{from: getProfLabel()}
	pprof.SetGoroutineLabels(pprof.WithLabels(labelContext{}, labels))
	l.to = getProfLabel()
	activities.Store(l.to, s)
	return l
}

// end ends the scope for every goroutine in it, those that outlive it included, and gives the calling one the labels
// that it had before. A goroutine that does not bear the scope's label keeps its own.
func (l labelChange) end() {
	activities.Delete(l.to)
	if getProfLabel() == l.to {
		setProfLabel(l.from)
	}
}

// restore gives the calling goroutine the labels that it had before, and leaves the scope to the others that are in it.
func (l labelChange) restore() {
	if getProfLabel() == l.to {
		setProfLabel(l.from)
	}
}

// noActivity spares callers the nil check.
var noActivity = &activity{}

// currentActivity is the scope of the calling goroutine, an empty one if it is in none.
func currentActivity() *activity {
	if p := getProfLabel(); p != nil {
		if s, ok := activities.Load(p); ok {
			return s.(*activity)
		}
	}
	return noActivity
}
