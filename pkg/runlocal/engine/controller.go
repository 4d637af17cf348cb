// Package engine runs reconcilers: watch events are mapped to keys, keys wait in a deduplicating, rate-limited queue,
// and workers hand them to a Reconciler, with retries, backoff and an orderly stop. [New] makes a controller,
// [Controller.Watch] gives it an informer, and [Controller.Start] starts it.
//
// It is a small worker loop for controllers that are traced as upstream's are: an Observer can wrap its queue and
// replace its context. It is not a manager: it makes no informers and no clients, elects no leader and serves nothing.
// Time is that of Options.Clock.
//
// Its files: controller.go has the Controller, its Options and its Observer; source.go maps watch events to requests;
// run.go has the workers, from start to stop; limiter.go has the delays of retries; reconciler.go is what a caller
// implements.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// ErrNotSynced is returned by Wait when a stop came before the informers had delivered what there was.
var ErrNotSynced = errors.New("the informers did not sync before the stop")

// Controller watches, queues and reconciles. New makes it, Watch maps events to requests, Start starts it, Stop or the
// end of the context stops it, Wait waits for its end. Its methods may be called concurrently, but Watch only before
// Start.
type Controller struct {
	options Options
	limiter *limiter // of queue
	queue   Queue
	running requestSet // requests that workers reconcile

	mu       sync.Mutex // guards handlers and started
	handlers []registeredHandler
	started  bool

	stop     chan struct{} // closed when a stop begins
	stopOnce sync.Once
	finished chan struct{} // closed when the Controller has stopped, after err was set
	err      error         // may be read when finished is closed
}

// New returns a Controller that is not started, or an error for invalid options. Stop must be called in the end, or the
// context of Start must end; this holds also if it is never started, since its queue has goroutines.
func New(o Options) (*Controller, error) {
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("making controller %q: %w", o.Name, err)
	}
	limiter := newLimiter(o)
	config := workqueue.TypedRateLimitingQueueConfig[Request]{Clock: o.Clock}
	queue := workqueue.NewTypedRateLimitingQueueWithConfig[Request](limiter, config)
	return &Controller{
		options:  o,
		limiter:  limiter,
		queue:    o.Observer.Queue(queue),
		stop:     make(chan struct{}),
		finished: make(chan struct{}),
	}, nil
}

// Watch makes the events of the informer add requests to the queue. Events that cannot be read are logged by the logger
// of ctx. resync is how often the informer repeats all objects, 0 for never; an informer that was started without a
// resync period does not. A stop removes the handler.
func (c *Controller) Watch(ctx context.Context, informer Informer, m MapFunc, resync time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started {
		return fmt.Errorf("watching for controller %q: it has started", c.options.Name)
	}
	h := &handler{
		event: func(e Event) { c.Enqueue(m(e)...) },
		invalid: func(err error) {
			klog.FromContext(ctx).Error(err, "Watch event left out", "controller", c.options.Name)
		},
	}
	registration, err := informer.AddEventHandlerWithOptions(h, cache.HandlerOptions{ResyncPeriod: &resync})
	if err != nil {
		return fmt.Errorf("watching for controller %q: %w", c.options.Name, err)
	}
	c.handlers = append(c.handlers, registeredHandler{informer, registration})
	return nil
}

// Enqueue adds requests to the queue. A request that is added several times before a worker takes it is reconciled
// once. After a stop began it does nothing.
func (c *Controller) Enqueue(requests ...Request) {
	if c.stopping() {
		return
	}
	for _, r := range requests {
		c.queue.Add(r)
	}
}

// EnqueueAfter adds r to the queue after the delay, at once if that is not positive. Of several delays of a request the
// earliest counts. After a stop began it does nothing.
func (c *Controller) EnqueueAfter(r Request, delay time.Duration) {
	if !c.stopping() {
		c.queue.AddAfter(r, delay)
	}
}

// Len returns the number of requests that can be taken from the queue.
func (c *Controller) Len() int { return c.queue.Len() }

// Start begins to reconcile once the informers have delivered what exists. It does not block. The end of ctx is a Stop;
// reconciles get its values, but not its end.
func (c *Controller) Start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started {
		return fmt.Errorf("starting controller %q: it has started before", c.options.Name)
	}
	c.started = true
	go func() {
		defer close(c.finished)
		c.err = c.run(ctx)
	}()
	return nil
}

// Stop begins a stop and does not wait for it: no request is added or taken any more, and running reconciles may finish
// within Options.Grace. It may be called more than once.
func (c *Controller) Stop() {
	c.stopOnce.Do(func() {
		close(c.stop)
		c.queue.ShutDown()
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.started {
			c.started = true
			c.err = c.removeHandlers()
			close(c.finished)
		}
	})
}

// Wait waits until a started Controller and all its goroutines have stopped. It returns nil after an orderly stop,
// ErrNotSynced if reconciling never began, and an error with the requests whose reconciles outlasted twice the grace:
// their goroutines are still running then. It may be called concurrently.
func (c *Controller) Wait() error {
	<-c.finished
	return c.err
}

func (c *Controller) stopping() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// Options configure a Controller. Name and Reconciler are required.
type Options struct {
	// Name appears in logs and errors.
	Name       string
	Reconciler Reconciler
	// Workers is how many reconciles may run at once; 0 means 1, a negative number is an error.
	Workers int
	// BaseDelay is the delay after the first failure, which doubles with each failure in a row; 0 means 5 milliseconds.
	BaseDelay time.Duration
	// MaxDelay bounds the delay after failures; 0 means 1,000 seconds.
	MaxDelay time.Duration
	// MaxRetries is how often a request that fails is retried before it is given up; 0 means 15, a negative number
	// means without limit.
	MaxRetries int
	// ConflictDelay is the delay after a conflict; 0 means 10 milliseconds. After five conflicts in a row, a conflict
	// counts as any other error; before that, its retry does not count against MaxRetries.
	ConflictDelay time.Duration
	// Grace is how long reconciles may continue after a stop before their context ends, and again how long they may
	// take to return after that; 0 means one second.
	Grace time.Duration
	// Clock is used for the queue's delays and for Grace; nil means the real clock.
	Clock clock.WithTicker
	// Observer may be nil.
	Observer Observer
}

// complete returns o with its defaults filled in.
func (o Options) complete() (Options, error) {
	if o.Name == "" || o.Reconciler == nil {
		return o, errors.New("a controller needs a name and a reconciler")
	}
	if o.Workers < 0 {
		return o, fmt.Errorf("%d workers cannot be", o.Workers)
	}
	o.Workers = defaultTo(o.Workers, 1)
	o.BaseDelay = defaultTo(o.BaseDelay, 5*time.Millisecond)
	o.MaxDelay = defaultTo(o.MaxDelay, 1000*time.Second)
	o.MaxRetries = defaultTo(o.MaxRetries, 15)
	o.ConflictDelay = defaultTo(o.ConflictDelay, 10*time.Millisecond)
	o.Grace = defaultTo(o.Grace, time.Second)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Observer == nil {
		o.Observer = noObserver{}
	}
	return o, nil
}

func defaultTo[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Queue is the queue of a Controller.
type Queue = workqueue.TypedRateLimitingInterface[Request]

// Observer observes a Controller. Its methods may be called concurrently.
type Observer interface {
	// Context returns the context for reconciles, derived from ctx; it may have another logger.
	Context(ctx context.Context) context.Context
	// Queue returns the queue that the Controller uses instead of q. It must use the rate limiter of q, which counts
	// failures and returns the delays. It is called once, by New.
	Queue(q Queue) Queue
	// Outcome is called with the end of the reconcile that the calling goroutine works on, before its key is added
	// again or marked done. err is nil for trace.Done only.
	Outcome(outcome trace.Outcome, err error)
}

// noObserver is the Observer of a Controller that has none.
type noObserver struct{}

var _ Observer = noObserver{}

// Context implements Observer.
func (noObserver) Context(ctx context.Context) context.Context { return ctx }

// Queue implements Observer.
func (noObserver) Queue(q Queue) Queue { return q }

// Outcome implements Observer.
func (noObserver) Outcome(trace.Outcome, error) {}
