package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/client-go/tools/cache"
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
	for _, s := range c.sources {
		all = append(all, s.registration.HasSyncedChecker())
	}
	return all
}

// release takes the handlers out of the informers, which outlive the controller.
// The caller holds c.mu.
func (c *Controller) release() error {
	var errs []error
	for _, s := range c.sources {
		if err := s.informer.RemoveEventHandler(s.registration); err != nil {
			errs = append(errs, fmt.Errorf("removing a handler of controller %q: %w", c.options.Name, err))
		}
	}
	c.sources = nil
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
