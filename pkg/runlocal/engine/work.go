package engine

import (
	"context"
	"errors"
	"runtime/debug"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// work reconciles keys until the queue is shut down.
func (c *Controller) work(ctx context.Context) {
	for {
		r, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		c.process(ctx, r)
	}
}

// process reconciles r, which was taken from the queue, and gives it back. What is still queued when a stop begins is
// left undone.
func (c *Controller) process(ctx context.Context, r Request) {
	defer c.queue.Done(r)
	if c.stopping() {
		return
	}
	c.running.add(r)
	defer c.running.remove(r)
	result, err := c.reconcile(ctx, r)
	c.settle(ctx, r, result, err)
}

// reconcile calls the Reconciler and turns a panic into an error. Goexit (t.FailNow in a test) is left alone.
func (c *Controller) reconcile(ctx context.Context, r Request) (result Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: string(debug.Stack())}
		}
	}()
	return c.options.Reconciler.Reconcile(ctx, r)
}

// settle decides what becomes of r after a reconcile.
func (c *Controller) settle(ctx context.Context, r Request, result Result, err error) {
	logger := klog.FromContext(ctx)
	var panicked *panicError
	switch {
	case err == nil:
		c.done(r, result)
	case IsTerminal(err):
		logger.Error(err, "Giving up: no retry mends this", "key", r.String())
		c.giveUp(r, err)
	case apierrors.IsConflict(err) && c.limiter.conflict(r):
		logger.V(3).Info("Retrying after a conflict", "key", r.String(), "err", err.Error())
		c.options.Observer.Outcome(trace.Failed, err)
		c.queue.AddRateLimited(r)
	case c.options.MaxRetries >= 0 && c.limiter.failed(r) >= c.options.MaxRetries:
		logger.Error(err, "Giving up: too many retries", "key", r.String(), "retries", c.queue.NumRequeues(r))
		c.giveUp(r, err)
	case errors.As(err, &panicked):
		logger.Error(err, "Reconciler panicked", "key", r.String(), "stack", panicked.stack)
		c.options.Observer.Outcome(trace.Panicked, err)
		c.queue.AddRateLimited(r)
	default:
		logger.Error(err, "Reconciling failed", "key", r.String())
		c.options.Observer.Outcome(trace.Failed, err)
		c.queue.AddRateLimited(r)
	}
}

func (c *Controller) done(r Request, result Result) {
	c.options.Observer.Outcome(trace.Done, nil)
	c.queue.Forget(r)
	if result.RequeueAfter > 0 {
		c.queue.AddAfter(r, result.RequeueAfter)
	}
}

func (c *Controller) giveUp(r Request, err error) {
	c.options.Observer.Outcome(trace.GaveUp, err)
	c.queue.Forget(r)
}
