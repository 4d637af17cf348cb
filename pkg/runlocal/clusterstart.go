package runlocal

import (
	"cmp"
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

const (
	// cachePollInterval is how often the progress of the caches is read.
	cachePollInterval = 50 * time.Millisecond
	// waitingNotice is how long a start waits until it reports what it waits for.
	waitingNotice = 3 * time.Second
	// refusalGrace is how long other answers are waited for after the first refusal, to report all at once, by default.
	refusalGrace = time.Second
	// troubleInterval is how often changes are reported: what happens at once is reported together.
	troubleInterval = 500 * time.Millisecond
)

// awaitCaches runs start, which waits for the caches, and ends it when they cannot be filled. After that it reports
// trouble with them until ctx ends.
func (s *Session) awaitCaches(
	ctx context.Context, c ClusterOptions, known *listings, start func(context.Context) (*controllers.Running, error),
) (*controllers.Running, error) {
	inner, cancel := context.WithCancelCause(ctx)
	filled := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watchStart(filled, c, known, cancel)
	}()
	running, err := start(inner)
	close(filled)
	<-watched
	hopeless := (*CacheError)(nil)
	if errors.As(context.Cause(inner), &hopeless) {
		if err == nil { // it was too late to end the start
			running.Wait()
		}
		s.findUndecodable(ctx, hopeless)
		return nil, hopeless
	}
	if err != nil {
		cancel(err)
		return nil, err
	}
	known.takeChanged() // drops those of the start
	s.watching.Go(func() { reportTrouble(ctx, c.Trouble, known) })
	return running, nil
}

// watchStart returns when the caches are filled. It reports what is waited for, and ends the start by end when a
// controller cannot list what it needs.
func watchStart(filled <-chan struct{}, c ClusterOptions, known *listings, end context.CancelCauseFunc) {
	ticker := time.NewTicker(cachePollInterval)
	defer ticker.Stop()
	began := time.Now()
	var refused time.Time
	for reported := false; ; {
		select {
		case <-filled:
			return
		case <-ticker.C:
		}
		if c.Filling != nil {
			c.Filling(known.filled())
		}
		if hopeless := known.unlistable(); len(hopeless) > 0 {
			if refused.IsZero() {
				refused = time.Now()
			}
			if !known.undecided() || time.Since(refused) > cmp.Or(c.refusalGrace, refusalGrace) {
				end(&CacheError{hopeless})
				return
			}
		}
		late := known.waiting(waitingNotice)
		if !reported && time.Since(began) > waitingNotice && len(late) > 0 && c.Waiting != nil {
			reported = true
			c.Waiting(late)
		}
	}
}

// reportTrouble calls report with what begins to fail and what works again, until ctx ends.
func reportTrouble(ctx context.Context, report func([]Listing), known *listings) {
	if report == nil {
		return
	}
	ticker := time.NewTicker(troubleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if news := known.takeChanged(); len(news) > 0 {
			report(news)
		}
	}
}

// findUndecodable sets the Object of each *UndecodableError, unless the resource cannot be listed.
func (s *Session) findUndecodable(ctx context.Context, e *CacheError) {
	for _, l := range e.Listings {
		undecodable := (*UndecodableError)(nil)
		if !errors.As(l.Err, &undecodable) {
			continue
		}
		kinds, err := s.knownKinds(ctx)
		if err != nil {
			continue
		}
		kind, err := kinds.Resolve(l.Resource.String())
		if err != nil {
			continue
		}
		list := pager.New(pager.SimplePageFunc(func(o metav1.ListOptions) (runtime.Object, error) {
			return s.dynamic.Resource(kind.GVR()).List(ctx, o)
		}))
		_ = list.EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
			text, err := runtime.Encode(unstructured.UnstructuredJSONScheme, obj)
			if err == nil {
				_, err = runtime.Decode(scheme.Codecs.UniversalDeserializer(), text)
			}
			if err != nil {
				object := obj.(*unstructured.Unstructured)
				undecodable.Object, undecodable.Err = cache.MetaObjectToName(object).String(), err
			}
			return err
		})
	}
}
