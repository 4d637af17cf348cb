// Package engine runs reconcilers: watch events are mapped to keys, keys wait in a deduplicating, rate-limited queue, and
// workers hand them to a Reconciler, with retries, backoff and an orderly stop.
//
// It is a small loop for controllers of one's own that shall be traced like upstream's: its queue can be wrapped, and its
// context replaced, by whoever observes it (see Observer). It is not a manager: it makes no informers and no clients, elects no
// leader and serves nothing. Time comes from a clock that is handed in.
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

// Controller watches, queues and reconciles. New makes it, Watch says what leads to which request, Start begins, Stop or the
// context's end stops, Wait reports. Its methods may be called concurrently, but Watch only before Start.
type Controller struct {
	options Options
	limiter *limiter // of queue
	queue   Queue
	running set

	mu       sync.Mutex // guards the fields below
	handlers []registeredHandler
	started  bool

	stop     chan struct{} // closed when a stop begins
	stopOnce sync.Once
	finished chan struct{} // closed after err was set
	err      error
}

// New returns a Controller that does nothing yet, or an error for options that lack what is needed or cannot be. Stop must be called in the end, even if it was never started, or the context of
// Start must end.
func New(o Options) (*Controller, error) {
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("making controller %q: %w", o.Name, err)
	}
	limiter := newLimiter(o)
	queue := workqueue.NewTypedRateLimitingQueueWithConfig[Request](limiter, workqueue.TypedRateLimitingQueueConfig[Request]{Clock: o.Clock})
	return &Controller{
		options:  o,
		limiter:  limiter,
		queue:    o.Observer.Queue(queue),
		stop:     make(chan struct{}),
		finished: make(chan struct{}),
	}, nil
}

// Watch makes the events of the informer add requests to the queue. The logger of ctx is told of events that cannot be read. resync asks the informer to repeat all objects that often,
// 0 for never; an informer that was started without a resync period does not. The handler is removed by a stop.
func (c *Controller) Watch(ctx context.Context, informer Informer, m Map, resync time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started {
		return fmt.Errorf("watching for controller %q: it has started", c.options.Name)
	}
	h := &handler{
		event: func(e Event) { c.Enqueue(m(e)...) },
		broken: func(err error) {
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

// Enqueue adds requests to the queue, each once however often it is added before a worker takes it. After a stop began it
// does nothing.
func (c *Controller) Enqueue(requests ...Request) {
	if c.stopping() {
		return
	}
	for _, r := range requests {
		c.queue.Add(r)
	}
}

// EnqueueAfter adds r to the queue after the delay, at once if it is 0 or less. Of several delays of a request the
// earliest counts. After a stop began it does nothing.
func (c *Controller) EnqueueAfter(r Request, delay time.Duration) {
	if !c.stopping() {
		c.queue.AddAfter(r, delay)
	}
}

// Len is the number of requests that could be taken from the queue.
func (c *Controller) Len() int { return c.queue.Len() }

// Start begins to reconcile once the informers have delivered what there is. It does not block: Wait reports. The end of
// ctx is a Stop; reconciles get its values, not its end.
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

// Stop begins a stop and does not wait for it: no request is added or taken any more, and running reconciles finish
// within Options.Grace. It may be called more than once.
func (c *Controller) Stop() {
	c.stopOnce.Do(func() {
		close(c.stop)
		c.queue.ShutDown()
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.started {
			c.started = true
			c.err = c.release()
			close(c.finished)
		}
	})
}

// Wait waits until a started Controller has stopped, with all its goroutines. It returns nil after an orderly stop,
// ErrNotSynced if it never began to reconcile, and an error that names the requests whose reconciles outlasted twice the grace: their
// goroutines are still running then. Several may wait.
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

// Options configure a Controller. Name and Reconciler are needed.
type Options struct {
	// Name appears in logs and errors.
	Name       string
	Reconciler Reconciler
	// Workers is how many reconciles may run at once; 0 means 1, less than 0 is an error.
	Workers int
	// BaseDelay is the delay after the first failure, and doubles with each one in a row; 0 means 5 milliseconds.
	BaseDelay time.Duration
	// MaxDelay bounds it; 0 means 1,000 seconds.
	MaxDelay time.Duration
	// MaxRetries is how often a request that fails is tried again before it is given up; 0 means 15, less than 0 means
	// without end.
	MaxRetries int
	// ConflictDelay is the delay after a conflict; 0 means 10 milliseconds. After five of them in a row, a conflict counts as
	// any other error; before, it is a retry that does not count against MaxRetries.
	ConflictDelay time.Duration
	// Grace is how long running reconciles may go on after a stop before their context ends, and then how long they may take
	// to notice; 0 means one second.
	Grace time.Duration
	// Clock is the time of the queue's delays and of Grace; nil means the real one.
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
		o.Observer = unobserved{}
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

// Observer sees what a Controller does. Its methods may be called concurrently.
type Observer interface {
	// Context returns the context that reconciles get, derived from ctx; its logger may be another one.
	Context(ctx context.Context) context.Context
	// Queue returns what the Controller uses in place of q, whose rate limiter must go on to be asked: it gives the delays, and
	// counts the failures. It is called once, by New.
	Queue(q Queue) Queue
	// Outcome tells how the reconcile ended that the calling goroutine works on, before its key is added again or marked
	// done. err is nil for trace.Done only.
	Outcome(outcome trace.Outcome, err error)
}

// unobserved is the Observer of a Controller that has none.
type unobserved struct{}

var _ Observer = unobserved{}

func (unobserved) Context(ctx context.Context) context.Context { return ctx }
func (unobserved) Queue(q Queue) Queue                         { return q }
func (unobserved) Outcome(trace.Outcome, error)                {}
