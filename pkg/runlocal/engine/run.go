package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// run reconciles until a stop, and returns when that is complete. Start's goroutine runs it and owns the workers.
func (c *Controller) run(ctx context.Context) error {
	unhook := context.AfterFunc(ctx, c.Stop)
	defer unhook()
	work, cancel := context.WithCancel(c.options.Observer.Context(context.WithoutCancel(ctx)))
	defer cancel()

	var workers sync.WaitGroup
	synced := c.waitForSync()
	if synced {
		for range c.options.Workers {
			workers.Go(func() { c.work(work) })
		}
	}
	<-c.stop
	c.mu.Lock()
	err := c.removeHandlers()
	c.mu.Unlock()
	if !synced {
		return errors.Join(fmt.Errorf("starting controller %q: %w", c.options.Name, ErrNotSynced), err)
	}
	return errors.Join(c.drain(&workers, cancel), err)
}

// waitForSync waits until all handlers have handled what existed when they were added; it reports false if a stop began
// before.
func (c *Controller) waitForSync() bool {
	for _, done := range c.syncCheckers() {
		select {
		case <-done.Done():
		case <-c.stop:
			return false
		}
	}
	return !c.stopping()
}

func (c *Controller) syncCheckers() []cache.DoneChecker {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []cache.DoneChecker
	for _, s := range c.handlers {
		all = append(all, s.registration.HasSyncedChecker())
	}
	return all
}

// removeHandlers removes the handlers from the informers, which outlive the controller. c.mu must be held.
func (c *Controller) removeHandlers() error {
	var errs []error
	for _, s := range c.handlers {
		if err := s.informer.RemoveEventHandler(s.registration); err != nil {
			errs = append(errs, fmt.Errorf("removing a handler of controller %q: %w", c.options.Name, err))
		}
	}
	c.handlers = nil
	return errors.Join(errs...)
}

// drain waits for the workers: for a grace in which reconciles continue as before, and for a second one after it has
// ended their context.
func (c *Controller) drain(workers *sync.WaitGroup, cancel context.CancelFunc) error {
	idle := make(chan struct{})
	go func() {
		workers.Wait()
		close(idle)
	}()
	if c.closedWithinGrace(idle) {
		return nil
	}
	late := c.running.sorted()
	cancel()
	if c.closedWithinGrace(idle) {
		return nil
	}
	return fmt.Errorf("stopping controller %q: reconciles of %v were still running after %v",
		c.options.Name, late, 2*c.options.Grace)
}

// closedWithinGrace reports whether done was closed within the grace.
func (c *Controller) closedWithinGrace(done <-chan struct{}) bool {
	timer := c.options.Clock.NewTimer(c.options.Grace)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C():
		return false
	}
}

// work reconciles requests until the queue is shut down.
func (c *Controller) work(ctx context.Context) {
	for {
		r, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		c.process(ctx, r)
	}
}

// process reconciles r, which was taken from the queue, and marks it done. Requests that are queued when a stop begins
// are not reconciled.
func (c *Controller) process(ctx context.Context, r Request) {
	defer c.queue.Done(r)
	if c.stopping() {
		return
	}
	c.running.add(r)
	defer c.running.remove(r)
	result, err := c.reconcile(ctx, r)
	c.handleResult(ctx, r, result, err)
}

// reconcile calls the Reconciler and returns a panic as an error. runtime.Goexit, as by t.FailNow in a test, is not
// caught.
func (c *Controller) reconcile(ctx context.Context, r Request) (result Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: string(debug.Stack())}
		}
	}()
	return c.options.Reconciler.Reconcile(ctx, r)
}

// handleResult adds r to the queue again, or forgets it, by the result of its reconcile.
func (c *Controller) handleResult(ctx context.Context, r Request, result Result, err error) {
	logger := klog.FromContext(ctx)
	var panicked *panicError
	switch {
	case err == nil:
		c.done(r, result)
	case apierrors.IsConflict(err) && c.limiter.conflict(r):
		logger.V(3).Info("Retrying after a conflict", "key", r.String(), "err", err.Error())
		c.options.Observer.Outcome(trace.Failed, err)
		c.queue.AddRateLimited(r)
	case c.options.MaxRetries >= 0 && c.limiter.failed(r) >= c.options.MaxRetries:
		logger.Error(err, "Giving up: too many retries", "key", r.String(), "retries", c.queue.NumRequeues(r))
		c.options.Observer.Outcome(trace.GaveUp, err)
		c.queue.Forget(r)
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

// panicError is a panic of a reconciler, with the stack of its goroutine.
type panicError struct {
	value any
	stack string
}

// Error implements error.
func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }
