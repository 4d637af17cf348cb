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

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/internal/apirequest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Controller observes one controller of a session. All its methods may be called concurrently, except those that must
// be called before anything of the controller is observed: what they set is read without a lock.
type Controller struct {
	tap          *Tap
	name         string
	calls        atomic.Int64 // requests without an answer
	preparing    atomic.Bool  // of SetPreparing
	asyncWork    atomic.Int64 // calls of BeginAsyncWork, and reconciles of timer loops, that have not ended
	handoffs     handoffs
	traits       ControllerTraits
	history      history
	stale        staleKeys
	ignoresScope bool            // of IgnoreScope
	gate         func() bool     // of Gate; nil is always open
	queues       []observedQueue // guarded by tap.mu
}

// ControllerTraits are how a controller differs from most. The zero value is right for most.
type ControllerTraits struct {
	// ErrorLevel is the highest level of the log lines that give the reason why a reconcile failed; 0 means 2.
	ErrorLevel int
	// RequeuesWithoutError means that the controller also calls AddRateLimited, and reports no error, to look at a key
	// again later without having failed.
	RequeuesWithoutError bool
	// Bare is what the controller's keys without a slash are.
	Bare BareKeys
	// BegunKey returns the key, as it is spelt in the trace, that the calling goroutine has begun to work on, by a line
	// that it logs at ErrorLevel or below; empty for other lines. It is for a controller one of whose goroutines takes
	// keys from the queue for another: the reconcile begins with that line. It is nil for all others. It may be called
	// concurrently.
	BegunKey func(message string, keysAndValues []any) string
	// FormatValue returns the text of a logged value, empty to have it formatted as usual; nil if all are. It may be
	// called concurrently.
	FormatValue func(any) string
	// FormatError makes the text of an error readable before it is recorded; nil leaves it as it is. It may be called
	// concurrently.
	FormatError func(string) string
}

// SetTraits sets how the controller differs from most. It must be called before anything of the controller is observed,
// which is before its queues are swapped and its workers run. Its constructor may call it.
func (c *Controller) SetTraits(t ControllerTraits) { c.traits = t }

// IgnoreScope makes the controller work on all namespaces, whatever Options.InScope reports: for a controller whose
// work cannot be divided by namespaces, and which therefore must run only once where several sessions share a cluster.
// It must be called before anything of the controller is observed.
func (c *Controller) IgnoreScope() { c.ignoresScope = true }

// Gate makes the controller's workers wait for keys until open returns true; keys that they have taken before they
// finish. A queue that is shut down while they wait returns no more keys. open is called for each key, under a lock of
// the queue: it must be quick, may be called concurrently, and must not use the queue. GateOpened must be called when
// the result of open may have become true. Gate must be called before anything of the controller is observed.
func (c *Controller) Gate(open func() bool) { c.gate = open }

// GateOpened makes workers that wait call the function of Gate again.
func (c *Controller) GateOpened() {
	c.tap.mu.Lock()
	waiting := slices.Clone(c.queues)
	c.tap.mu.Unlock()
	for _, q := range waiting {
		q.gateOpened()
	}
}

// gateClosed reports whether workers must wait.
func (c *Controller) gateClosed() bool { return c.gate != nil && !c.gate() }

// errorText returns the text of an error of the controller's as it is recorded. The error may be nil, and its Error
// method may panic.
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

// Name returns the name that Tap.Controller was called with.
func (c *Controller) Name() string { return c.name }

// Context returns a context with the logger whose lines become the controller's log events. Both its constructor and
// its Run need it.
func (c *Controller) Context(ctx context.Context) context.Context {
	return klog.NewContext(ctx, logr.New(&sink{c: c}))
}

// SetPreparing sets whether the controller, although it runs, does not yet see all objects that it acts on. A session
// with such a controller has not settled.
func (c *Controller) SetPreparing(preparing bool) { c.preparing.Store(preparing) }

// Build calls build, which is a controller's constructor, with the context that Context returns. Event handlers that it
// registers with an informer of the tap belong to this controller. The error is that of build.
func (c *Controller) Build(ctx context.Context, build func(ctx context.Context) error) error {
	s := &activity{controller: c}
	defer s.enter(pprof.Labels("controller", c.name)).end()
	return build(c.Context(ctx))
}

// Config returns a copy of base for the controller's clients: their requests are observed and have the user agent
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

// Outcome sets how the reconcile that the calling goroutine works on ends, for a worker loop that knows it: otherwise
// it is inferred from what is logged and queued. It must be called before the queue's Done. err is the reason, nil for
// trace.Done. Outside of a reconcile it does nothing.
func (c *Controller) Outcome(outcome trace.Outcome, err error) {
	if r := currentActivity().reconcile; r != nil {
		r.conclude(outcome, err)
	}
}
