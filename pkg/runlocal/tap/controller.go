package tap

import (
	"context"
	"net/http"
	"runtime/pprof"
	"slices"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/apirequest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Controller is the tap's side of one controller. All its methods may be called concurrently.
type Controller struct {
	tap          *Tap
	name         string
	calls        atomic.Int64 // requests without an answer
	preparing    atomic.Bool  // as told by Preparing
	asyncWork    atomic.Int64 // reconciles that Hold keeps open
	handoffs     handoffs
	traits       ControllerTraits
	history      history
	ignoresScope bool            // as told by KeepAll
	gate         func() bool     // as told by Gate; nil is always
	queues       []observedQueue // guarded by tap.mu
}

// ControllerTraits are how a controller differs from most. The zero value is that of most.
type ControllerTraits struct {
	// ErrorLevel is the highest level of log lines that tell why a reconcile failed; 0 is 2.
	ErrorLevel int
	// RequeuesWithoutError says that the controller also adds a key again by AddRateLimited, and reports no error, when it has not failed
	// but wants to look again later.
	RequeuesWithoutError bool
	// Bare says what the controller's keys are that have no slash.
	Bare BareKeys
	// BegunKey says which key, as it is spelt in the trace, the calling goroutine has begun to work on, by a line that it logs at
	// ErrorLevel or below; empty for other lines. It is for a controller whose keys are taken from the queue by one goroutine
	// and worked on by another: a reconcile begins with that line. Nil for all others. It may be called concurrently.
	BegunKey func(message string, keysAndValues []any) string
	// FormatValue makes text of a logged value; empty for those that are made text as usual. Nil for none. It may be called
	// concurrently.
	FormatValue func(any) string
	// FormatError makes an error's text, as it is logged or handled, fit to read; nil leaves it.
	FormatError func(string) string
}

// SetTraits tells the tap how the controller differs from most. It must be called before anything of the controller is
// observed: before its queues are and its workers run. Its constructor may call it.
func (c *Controller) SetTraits(h ControllerTraits) { c.traits = h }

// IgnoreScope has the controller see and work on everything, whatever Options.Keep says: for one whose work on an object cannot be
// divided by namespaces, and which whoever divides them runs once. It must be called before anything of the controller is
// observed.
func (c *Controller) IgnoreScope() { c.ignoresScope = true }

// Gate has the controller's workers wait for a key until open returns true; what they have been handed they go on with. A
// queue that is shut down while they wait hands out nothing more. open is called for each key, under a lock of the queue: it
// must be quick, may be called concurrently, and must not use the queue. When it may have become true Opened must be called. Gate
// must be called before anything of the controller is observed.
func (c *Controller) Gate(open func() bool) { c.gate = open }

// GateOpened has workers that wait ask again whether the gate is open.
func (c *Controller) GateOpened() {
	c.tap.mu.Lock()
	waiting := slices.Clone(c.queues)
	c.tap.mu.Unlock()
	for _, a := range waiting {
		a.gateOpened()
	}
}

// gateClosed reports whether the gate is.
func (c *Controller) gateClosed() bool { return c.gate != nil && !c.gate() }

// errorText is the text of an error of the controller's. The error may be nil, or may panic when asked.
func (c *Controller) errorText(err error) string {
	if err == nil {
		return ""
	}
	text := wholeText(err)
	if c.traits.FormatError != nil {
		text = c.traits.FormatError(text)
	}
	return truncate(text)
}

// Name is the short name that the controller was asked for by.
func (c *Controller) Name() string { return c.name }

// Context returns a context with the logger whose lines become the controller's log events. Both its constructor and
// its Run need it.
func (c *Controller) Context(ctx context.Context) context.Context {
	return klog.NewContext(ctx, logr.New(&sink{c: c}))
}

// SetPreparing reports whether the controller, which runs, does not see all yet that it is to act on.
func (c *Controller) SetPreparing(is bool) { c.preparing.Store(is) }

// Build runs build, a controller's constructor, with the context of Context. Event handlers that it registers with an
// informer of the tap are known to be this controller's. The error is build's.
func (c *Controller) Build(ctx context.Context, build func(ctx context.Context) error) error {
	s := &activity{controller: c}
	defer s.enter(pprof.Labels("controller", c.name)).end()
	return build(c.Context(ctx))
}

// Config returns a copy of base for the controller's clients: its requests are observed, and have the user agent
// kubectl-reconcile/NAME.
func (c *Controller) Config(base *rest.Config) *rest.Config {
	config := rest.CopyConfig(base)
	config.UserAgent = "kubectl-reconcile/" + c.name
	prefix := apirequest.Prefix(base)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &transport{c: c, next: next, prefix: prefix}
	})
	return config
}

// Outcome tells how the reconcile ends that the calling goroutine works on, for a loop that knows it: the tap need not
// guess from what is logged and queued. It must come before Done. err is the reason, nil for trace.Done. It does
// nothing outside of a reconcile.
func (c *Controller) Outcome(outcome trace.Outcome, err error) {
	if r := currentActivity().reconcile; r != nil {
		r.conclude(outcome, err)
	}
}
