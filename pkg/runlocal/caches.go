package runlocal

import (
	"context"
	"errors"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

const (
	// cacheLook is how often it is looked how far the caches are.
	cacheLook = 50 * time.Millisecond
	// cachePatience is how long a start waits silently.
	cachePatience = 3 * time.Second
	// cacheGrace is how long other answers are waited for after the first refusal, to tell of all at once.
	cacheGrace = time.Second
	// troubleLook is how often trouble is told: what happens at once is told together.
	troubleLook = 500 * time.Millisecond
)

// awaitCaches runs start, which waits for the caches, and ends it when they will not be filled. It then watches over them
// until ctx ends.
func (s *Session) awaitCaches(
	ctx context.Context, o ClusterOptions, known *listings, start func(context.Context) (*controllers.Running, error),
) (*controllers.Running, error) {
	inner, cancel := context.WithCancelCause(ctx)
	filled := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watchStart(filled, o, known, cancel)
	}()
	running, err := start(inner)
	close(filled)
	<-watched
	if err != nil {
		if cause := (*CacheError)(nil); errors.As(context.Cause(inner), &cause) {
			err = cause
		}
		cancel(err)
		return nil, err
	}
	if cause := (*CacheError)(nil); errors.As(context.Cause(inner), &cause) { // it was too late to end the start
		running.Wait()
		return nil, cause
	}
	known.news() // of the start
	s.watching.Go(func() { tellTrouble(ctx, o.Trouble, known) })
	return running, nil
}

// watchStart returns when the caches are filled. It tells what is waited for, and ends the start when that is in vain.
func watchStart(filled <-chan struct{}, o ClusterOptions, known *listings, end context.CancelCauseFunc) {
	ticker := time.NewTicker(cacheLook)
	defer ticker.Stop()
	began := time.Now()
	var refused time.Time
	for told := false; ; {
		select {
		case <-filled:
			return
		case <-ticker.C:
		}
		if o.Filling != nil {
			o.Filling(known.filled())
		}
		if hopeless := known.hopeless(); len(hopeless) > 0 {
			if refused.IsZero() {
				refused = time.Now()
			}
			if !known.undecided() || time.Since(refused) > cacheGrace {
				end(&CacheError{hopeless})
				return
			}
		}
		late := known.waiting(cachePatience)
		if !told && time.Since(began) > cachePatience && len(late) > 0 && o.Waiting != nil {
			told = true
			o.Waiting(late)
		}
	}
}

// tellTrouble tells what begins to fail and what works again, until ctx ends.
func tellTrouble(ctx context.Context, tell func([]Listing), known *listings) {
	if tell == nil {
		return
	}
	ticker := time.NewTicker(troubleLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if news := known.news(); len(news) > 0 {
			tell(news)
		}
	}
}
