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

	mu      sync.Mutex // guards the fields below
	sources []source
	started bool

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
	c.sources = append(c.sources, source{informer, registration})
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
