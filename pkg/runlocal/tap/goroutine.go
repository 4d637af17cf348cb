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

// scope is what the goroutines that bear its label are doing. It is immutable.
type scope struct {
	// controller is the one that is being built, or that the reconcile belongs to; nil if there is none.
	controller *Controller
	// reconcile is nil outside of a reconcile.
	reconcile *reconcile
	// event is the watch event that a handler is handling; nil outside of handlers.
	event *watchEvent
	// turn is that of a loop; nil outside of turns, and where reconcile is set.
	turn *turn
	// behind is the reconcile that left this work to another goroutine, and may have ended; 0 if none did.
	behind trace.ReconcileID
	// inCall says that a request is under way: what is logged there is the API server's, if it runs in this process.
	inCall bool
}

// scopes finds the scope of a goroutine by the identity of its label set. Goroutines are the process's, and so is this;
// a label set that is registered or borne by a goroutine is not collected, so that its address stands for nothing else.
var scopes sync.Map // unsafe.Pointer -> *scope

// labelled is a goroutine's stay in a scope.
type labelled struct{ own, before unsafe.Pointer }

// carrier is the least context that pprof.WithLabels takes. It carries labels to a goroutine and is never waited for.
type carrier struct{ context.Context }

// Value implements context.Context: a carrier holds no labels of its own.
func (carrier) Value(any) any { return nil }

// enter puts the calling goroutine, and those it starts from here on, into s.
func (s *scope) enter(labels pprof.LabelSet) labelled {
	l := labelled{before: getProfLabel()}
	pprof.SetGoroutineLabels(pprof.WithLabels(carrier{}, labels))
	l.own = getProfLabel()
	scopes.Store(l.own, s)
	return l
}

// leave ends the scope for every goroutine in it, those that outlive it included, and gives the calling one the labels
// that it had before. A goroutine that does not bear the scope's label keeps its own.
func (l labelled) leave() {
	scopes.Delete(l.own)
	if getProfLabel() == l.own {
		setProfLabel(l.before)
	}
}

// depart gives the calling goroutine the labels that it had before, and leaves the scope to the others that are in it.
func (l labelled) depart() {
	if getProfLabel() == l.own {
		setProfLabel(l.before)
	}
}

// noScope spares callers the nil check.
var noScope = &scope{}

// current is the scope of the calling goroutine, an empty one if it is in none.
func current() *scope {
	if p := getProfLabel(); p != nil {
		if s, ok := scopes.Load(p); ok {
			return s.(*scope)
		}
	}
	return noScope
}
