// Package watchloop is the loop of the commands that have --watch: what they follow is listed and watched, and each
// change, and the time that passes, is given to a view, which reads what it needs and shows it.
package watchloop

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// View is what a command shows of what it follows. Its methods are not called concurrently.
type View[Change any] interface {
	// Changed takes a change, and shows it now or by the next Tick.
	Changed(ctx context.Context, c Change) error
	// Tick is called every interval: also before the first change.
	Tick(ctx context.Context) error
}

// Run shows what changes until ctx ends, which is no error, or until the view or changes return an error.
//
// changes lists and watches, and calls its argument with what it finds, from as many goroutines as it likes: each call
// returns when the view has taken the change. It must return when its ctx ends, or when a call returns an error.
func Run[Change any](
	ctx context.Context, timer clock.WithTicker, interval time.Duration,
	changes func(ctx context.Context, changed func(Change) error) error, view View[Change],
) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex // held while the view is used
	var failed error  // the first error of the view
	use := func(do func() error) error {
		mu.Lock()
		defer mu.Unlock()
		if running.Err() != nil {
			return context.Cause(running)
		}
		if failed = do(); failed != nil {
			cancel()
		}
		return failed
	}
	var ticking sync.WaitGroup
	ticking.Go(func() {
		ticker := timer.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-running.Done():
				return
			case <-ticker.C():
			}
			if use(func() error { return view.Tick(running) }) != nil {
				return
			}
		}
	})
	err := changes(running, func(c Change) error {
		return use(func() error { return view.Changed(running, c) })
	})
	cancel()
	ticking.Wait()
	switch {
	case failed != nil:
		return failed
	case ctx.Err() != nil:
		return nil
	}
	return err
}
