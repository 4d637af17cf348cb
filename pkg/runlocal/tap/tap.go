// Package tap observes controllers that know nothing of it: what reaches them through informers, which keys they queue
// and why, what they log, what they ask of the API and how each reconcile ends. It emits package trace's events and
// keeps the account that reports whether a session has settled.
//
// Everything that touches private parts of upstream or of the Go runtime lives here, each part behind a test that fails
// when it moves. The tap changes nothing that a controller does: it neither reorders nor drops, and delays only for as
// long as a sink of the recorder takes. Two things are for controllers that would destroy what they do not see: Gate keeps
// keys from their workers, and SwapOrderedRelay orders what several informers show.
package tap

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// DefaultVerbosity is the highest level of log lines that most upstream controllers use for their decisions.
const DefaultVerbosity = 4

// Options say what a Tap does with what it observes.
type Options struct {
	// Recorder gets the events. Nil records nothing and costs little; the account for State is kept all the same, but for work
	// that Hold, Turns or a controller's log lines tell of.
	Recorder *trace.Recorder
	// Clock tells the time, and times the delays of the observed queues; nil is the real one.
	Clock clock.WithTicker
	// Verbosity is the highest level of log lines that are recorded; 0 means DefaultVerbosity, less means level 0 only.
	Verbosity int
	// DryRun says that the API server is not to keep any write: all are told with trace.Request.DryRun.
	DryRun bool
	// FieldManager is the field manager of the controllers' own writes, if watches may show these before they are answered; empty if
	// not. An event of that manager names none then: it may be of such a write.
	FieldManager string
	// Unsent reports whether the server did not get a write, by its answer or the error in its place; nil if it gets all. It may
	// be called concurrently.
	Unsent func(resp *http.Response, err error) bool
	// InScope reports whether the controllers have to do with a namespace; nil if with all. What watches show of others is not
	// handled, and keys of others are not queued, both silently; listers show all that there is. It is asked with "" for
	// keys that are in no namespace, but for Namespaces, which count as in themselves; what watches show of objects in no
	// namespace is always handled. Of what BareKeys and KeepAll except it is not asked. It may be called concurrently.
	InScope func(namespace string) bool
}

// Tap observes the controllers of one session. All its methods may be called concurrently.
type Tap struct {
	rec       *trace.Recorder
	clock     clock.WithTicker
	verbosity int
	dryRun    bool
	// fieldManager is Options.Manager.
	fieldManager string
	unsent       func(*http.Response, error) bool // nil if all are sent
	inScope      func(namespace string) bool      // nil keeps all
	writers      writers
	managers     managers
	stacks       stacks
	answers      answers
	kindTable    func() kinds
	newest       atomic.Uint64 // resourceVersion that was committed
	draining     atomic.Bool   // no key is handed out any more
	// onHandled is called when a handler is done with a watch event; nil is not.
	onHandled atomic.Pointer[func()]

	mu          sync.Mutex // guards the maps here and every account that State reads; no event is emitted under it
	controllers map[string]*Controller
	informers   []*informer
}

// New returns a Tap. The first one of a process hooks into utilruntime.ErrorHandlers, which upstream does not guard: it
// must be made before goroutines that may report errors there are started, those of an API server included.
func New(o Options) *Tap {
	t := &Tap{
		rec: o.Recorder, clock: o.Clock, verbosity: max(o.Verbosity, 0), dryRun: o.DryRun,
		unsent: o.Unsent, inScope: o.InScope, fieldManager: o.FieldManager,
		controllers: map[string]*Controller{}, kindTable: lazyKinds(),
	}
	if t.clock == nil {
		t.clock = clock.RealClock{}
	}
	if o.Verbosity == 0 {
		t.verbosity = DefaultVerbosity
	}
	hookErrorHandlers()
	return t
}

// recording reports whether anybody is there to see events.
func (t *Tap) recording() bool { return t.rec != nil }

// Controller returns the one controller of that short name ("deployment"), which is made if it is not there.
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
	return slices.SortedFunc(maps.Values(t.controllers), func(a, b *Controller) int { return cmp.Compare(a.name, b.name) })
}

// Committed tells that the calling goroutine, or the one that it was started by, wrote what has this resourceVersion. An
// API server in this process calls it before any watcher can see the write; then Watch.WrittenBy is never missing. The
// context is not looked at: what it carries does not reach the store of a server that keeps requests apart.
func (t *Tap) Committed(_ context.Context, resourceVersion uint64) {
	for newest := t.newest.Load(); resourceVersion > newest && !t.newest.CompareAndSwap(newest, resourceVersion); {
		newest = t.newest.Load()
	}
	if r := currentActivity().reconcile; r != nil {
		t.writers.put(resourceVersion, r)
	}
}
