// Package tap observes unmodified controllers: which watch events reach them through informers, which keys they queue
// and why, what they log, which requests they make and how each reconcile ends. It emits the events of package trace,
// and counts what is queued, running and in flight, so that a session can tell when its controllers have settled.
//
// Sessions of package runlocal use it: a program that only wants the trace of one needs nothing of it but a [State].
// Others begin with [New], build controllers on [Tap.Informers] and the clients of [Controller.Config], and have their
// queues wrapped by [SwapQueue].
//
// A program that imports it has one handler more in utilruntime.ErrorHandlers, from the start (log.go): it records the
// errors that observed controllers report, and ignores all others.
//
// It is not a framework for controllers (package engine is), and it does not change what a controller does: it neither
// reorders nor drops keys, events or requests, and delays them only for as long as a sink of the recorder takes. There
// are exceptions, each asked for by its caller: Options.InScope leaves out namespaces, HoldKeys lets the caller decide
// when each key is taken, and Options.ListOrder in which order controllers see what they list; and for controllers that
// would delete what they do not see, Gate keeps keys from their workers and SwapOrderedRelay orders what several
// informers show.
//
// # How the parts work together
//
// A Tap belongs to one session and has a Controller for each controller of it. What is observed, from an event to its
// effect:
//
//   - factory.go, metadatainformers.go: informer factories whose informers are wrapped.
//   - informer.go: the wrapped informer and its handlers. While a handler runs, its goroutine is labelled with the
//     watch event.
//   - writers.go: who wrote what a watch event shows, a reconcile of the session or a field manager; change.go: what
//     differs from the version before, without the values of Secrets.
//   - swap.go: replaces the queues in the fields of controllers by wrapped ones.
//   - queue.go, cause.go: the wrapped queue. An addition finds the watch event or the reconcile that it is made in by
//     the label of its goroutine, and the handler by the call stack. Taking a key starts a reconcile.
//   - queuestate.go: what is queued, delayed and running in a queue, and why.
//   - hold.go: keys that wait until they are released, one at a time; ordered.go: what controllers list, in one order.
//   - relay.go: queues that pass watch events on within a controller and make no reconciles.
//   - timerloops.go, timedwork.go: reconciles of controllers that work by timers, without a queue.
//   - reconcile.go, asyncwork.go: a reconcile from its start to its outcome, also when several goroutines work on it.
//   - log.go: the logger and the error handlers, whose lines belong to the reconcile of their goroutine.
//   - transport.go, answer.go, lastseen.go: requests, their answers, and the version of an object before a write.
//   - labels.go, stack.go: labels of goroutines, and names of functions on the call stack.
//   - controller.go, scope.go, state.go: what callers configure and read.
//
// # Private parts of upstream and of Go
//
// All code that depends on what upstream or Go does not export is here. For each part, a test fails when it moves:
//
//   - the fields in which upstream's controllers hold queues (swap.go; the table in upstreamqueues_test.go);
//   - the layout of keys whose types are not exported (privatefields.go);
//   - the rate limiter, the delaying queue and the retries metric in client-go's queues (privatefields.go, swap.go);
//   - the garbage collector's object references (privatefields.go);
//   - the labels that goroutines inherit (labels.go), by the runtime's functions for profiling labels;
//   - the names of the functions of controllers' worker loops (stack.go) and of apimachinery's loop (timerloops.go).
//
// # Locks
//
// Tap.mu guards what State reads of all controllers, queues and informers, so that a State is of one moment. It is the
// last lock to be taken: under it no other lock of this package is. No event is emitted under it, since a sink may be
// slow. What other locks guard is written beside them.
package tap

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// DefaultVerbosity is the highest level of log lines that most upstream controllers use for their decisions.
const DefaultVerbosity = 4

// Options say what a Tap does with what it observes.
type Options struct {
	// Recorder gets the events. If it is nil nothing is recorded, and State does not count asynchronous work,
	// iterations of timer loops and work that is known only from log lines; all else is counted.
	Recorder *trace.Recorder
	// Clock is the time of events and of the delays of observed queues; nil means the real clock.
	Clock clock.WithTicker
	// Verbosity is the highest level of log lines that are recorded; 0 means DefaultVerbosity, less means level 0 only.
	Verbosity int
	// DryRun means that the API server keeps no write: all writes are recorded with trace.Request.DryRun.
	DryRun bool
	// FieldManager is the field manager of the controllers' own writes, for a session whose watches may show a write
	// before its answer arrives; empty for others. A watch event of that manager is recorded without a manager, since
	// it may be of such a write.
	FieldManager string
	// Unsent reports whether a write did not reach the API server, by its answer or the error in its place; nil if all
	// writes do. It may be called concurrently.
	Unsent func(resp *http.Response, err error) bool
	// InScope reports whether the controllers work on a namespace; nil if they work on all. Watch events of other
	// namespaces do not reach handlers, and keys of other namespaces are not queued, both silently; listers return all
	// objects. It is called with "" for keys of cluster-scoped objects, except that a Namespace counts as in itself.
	// Watch events of other cluster-scoped objects are always handled. BareKeys and IgnoreScope make exceptions. It may
	// be called concurrently, also with locks of the Tap held, whose methods it must not call.
	InScope func(namespace string) bool
	// ListOrder returns a text by which controllers see the objects sorted that they list from informers' caches, whose
	// order is otherwise random; nil leaves it so. It gets a namespace, empty for cluster-scoped objects, and a name.
	// It may be called concurrently.
	ListOrder func(namespace, name string) string
	// ListFailed is called when an informer's list or watch ends with an error, which client-go logs too; nil if
	// nothing is. It may be called concurrently.
	ListFailed func(resource schema.GroupVersionResource, err error)
}

// Tap observes the controllers of one session. All its methods may be called concurrently.
type Tap struct {
	rec       *trace.Recorder
	clock     clock.WithTicker
	verbosity int
	dryRun    bool
	// The next five are those of Options.
	fieldManager string
	unsent       func(*http.Response, error) bool
	inScope      func(namespace string) bool
	listOrder    func(namespace, name string) string
	listFailed   func(schema.GroupVersionResource, error)
	writers      writers
	programs     programs
	managers     managers
	stacks       stacks
	answers      answers
	changes      changes
	kindTable    func() kinds
	newest       atomic.Uint64 // the latest resourceVersion of Committed
	draining     atomic.Bool   // set by Drain: queues return no more keys
	holding      atomic.Bool   // set by HoldKeys: queues keep keys until ReleaseKey
	// onHandled is called after each watch event that a handler has handled, on its goroutine; nil if nothing is.
	onHandled atomic.Pointer[func()]

	mu          sync.Mutex // guards what follows and all that State reads; see the package comment
	controllers map[string]*Controller
	informers   []*informer
}

// New returns a Tap.
func New(o Options) *Tap {
	t := &Tap{
		rec: o.Recorder, clock: o.Clock, verbosity: max(o.Verbosity, 0), dryRun: o.DryRun,
		unsent: o.Unsent, inScope: o.InScope, fieldManager: o.FieldManager, listOrder: o.ListOrder,
		listFailed:  o.ListFailed,
		controllers: map[string]*Controller{}, kindTable: sync.OnceValue(newKinds),
	}
	if t.clock == nil {
		t.clock = clock.RealClock{}
	}
	if o.Verbosity == 0 {
		t.verbosity = DefaultVerbosity
	}
	return t
}

// recording reports whether events are recorded.
func (t *Tap) recording() bool { return t.rec != nil }

// Controller returns the Controller of that short name ("deployment"); it makes one if there is none.
func (t *Tap) Controller(name string) *Controller {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.controllers[name]
	if c == nil {
		c = &Controller{tap: t, name: name}
		t.controllers[name] = c
	}
	return c
}

// byName returns the controllers in a stable order. t.mu must be held.
func (t *Tap) byName() []*Controller {
	byName := func(a, b *Controller) int { return cmp.Compare(a.name, b.name) }
	return slices.SortedFunc(maps.Values(t.controllers), byName)
}

// Committed records that the calling goroutine, or the one that started it, wrote the version of an object. An API
// server in this process calls it before any watcher can see the write; then no trace.Watch.WrittenBy is missing. The
// context is not used: an API server may serve a request with a context that has no values of the client's.
func (t *Tap) Committed(_ context.Context, resourceVersion uint64) {
	for newest := t.newest.Load(); resourceVersion > newest && !t.newest.CompareAndSwap(newest, resourceVersion); {
		newest = t.newest.Load()
	}
	switch a := currentActivity(); {
	case a.reconcile != nil:
		t.writers.put(resourceVersion, a.reconcile)
	case a.program != "":
		t.programs.put(resourceVersion, a.program)
	}
}
