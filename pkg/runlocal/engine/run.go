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

// run reconciles until a stop, and returns when it is complete.
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
	err := c.release()
	c.mu.Unlock()
	if !synced {
		return errors.Join(fmt.Errorf("starting controller %q: %w", c.options.Name, ErrNotSynced), err)
	}
	return errors.Join(c.drain(&workers, cancel), err)
}

// waitForSync waits until all handlers have seen what there was, and reports whether that was before a stop.
func (c *Controller) waitForSync() bool {
	for _, done := range c.syncs() {
		select {
		case <-done.Done():
		case <-c.stop:
			return false
		}
	}
	return !c.stopping()
}

func (c *Controller) syncs() []cache.DoneChecker {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []cache.DoneChecker
	for _, s := range c.handlers {
		all = append(all, s.registration.HasSyncedChecker())
	}
	return all
}

// release takes the handlers out of the informers, which outlive the controller.
// The caller holds c.mu.
func (c *Controller) release() error {
	var errs []error
	for _, s := range c.handlers {
		if err := s.informer.RemoveEventHandler(s.registration); err != nil {
			errs = append(errs, fmt.Errorf("removing a handler of controller %q: %w", c.options.Name, err))
		}
	}
	c.handlers = nil
	return errors.Join(errs...)
}

// drain waits for the workers: a grace in which reconciles go on as if nothing were, then a grace with their context ended.
func (c *Controller) drain(workers *sync.WaitGroup, cancel context.CancelFunc) error {
	idle := make(chan struct{})
	go func() {
		workers.Wait()
		close(idle)
	}()
	if c.within(idle) {
		return nil
	}
	late := c.running.sorted()
	cancel()
	if c.within(idle) {
		return nil
	}
	return fmt.Errorf("stopping controller %q: reconciles of %v were still running after %v", c.options.Name, late, 2*c.options.Grace)
}

// within reports whether done was closed within the grace.
func (c *Controller) within(done <-chan struct{}) bool {
	timer := c.options.Clock.NewTimer(c.options.Grace)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C():
		return false
	}
}

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

// panicError is a panic of a reconciler, with the stack of its goroutine.
type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }
