package runlocal

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// Listing is a resource that a cache of the session is to hold, and does not.
type Listing struct {
	Resource schema.GroupResource
	// Controllers are the short names of those that read it; empty if it is one that acts on whatever kinds there are.
	Controllers []string
	// Err is why it cannot be listed. It is nil before there is an answer, and when it can be listed.
	Err error
	// Listed reports whether the cache holds it, or held it before Err.
	Listed bool
}

// CacheError is the error of controllers that cannot run because what they read cannot be listed.
type CacheError struct {
	// Listings have an Err each. They are sorted by resource.
	Listings []Listing
}

// Error implements error.
func (e *CacheError) Error() string {
	var parts []string
	for _, l := range e.Listings {
		parts = append(parts, fmt.Sprintf("listing %s for %s: %v", l.Resource, strings.Join(l.Controllers, ", "),
			l.Err))
	}
	return strings.Join(parts, "; ")
}

// Unwrap lists the errors of the listings.
func (e *CacheError) Unwrap() []error {
	var errs []error
	for _, l := range e.Listings {
		errs = append(errs, l.Err)
	}
	return errs
}

// UndecodableError means that a resource was listed, and that the answer cannot be decoded.
type UndecodableError struct {
	// Object is the first object that cannot be decoded, as "namespace/name" or "name"; empty if none was found.
	Object string

	// Err is what the decoder said, of the list or of Object.
	Err error
}

// Error implements error.
func (e *UndecodableError) Error() string {
	if e.Object == "" {
		return "the list cannot be decoded: " + e.Err.Error()
	}
	return e.Object + " cannot be decoded: " + e.Err.Error()
}

// Unwrap returns Err.
func (e *UndecodableError) Unwrap() error { return e.Err }

// listings is what is known of the caches of a session, by the requests of their informers and the answers. It may be
// used concurrently.
type listings struct {
	readers map[schema.GroupResource][]string

	mu      sync.Mutex
	of      map[schema.GroupResource]*listing
	changed map[schema.GroupResource]bool // since takeChanged was last called
}

// listing is what is known of one resource.
type listing struct {
	began  time.Time
	listed bool
	err    error
	// answered means that a list arrived whole, and that no watch was requested since, as informers do once they have
	// decoded it.
	answered bool
}

func newListings(of []controllers.Controller) *listings {
	l := &listings{
		readers: map[schema.GroupResource][]string{},
		of:      map[schema.GroupResource]*listing{}, changed: map[schema.GroupResource]bool{},
	}
	for _, c := range of {
		for _, r := range c.Reads {
			l.readers[r] = append(l.readers[r], c.Short)
		}
	}
	return l
}

// update calls change with what is known of a resource, and notes whether it began to fail or to work.
func (l *listings) update(r schema.GroupResource, change func(*listing)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.of[r]
	if known == nil {
		known = &listing{began: time.Now()}
		l.of[r] = known
	}
	before := known.err
	change(known)
	if (before == nil) != (known.err == nil) {
		l.changed[r] = true
	}
}

func (l *listings) requested(r schema.GroupResource) { l.update(r, func(*listing) {}) }
func (l *listings) listed(r schema.GroupResource) {
	l.update(r, func(k *listing) { k.listed, k.err = true, nil })
}
func (l *listings) answered(r schema.GroupResource, whole bool) {
	l.update(r, func(k *listing) { k.answered = whole })
}

// ended records why an informer's list or watch ended, if it was because the answer cannot be decoded: all else is
// known from the answer itself.
func (l *listings) ended(r schema.GroupResource, err error) {
	if errors.As(err, new(apierrors.APIStatus)) || errors.As(err, new(*url.Error)) {
		return
	}
	l.update(r, func(k *listing) {
		if k.answered {
			k.answered, k.listed, k.err = false, false, &UndecodableError{Err: err}
		}
	})
}
func (l *listings) failed(r schema.GroupResource, err error) {
	l.update(r, func(k *listing) { k.err = err })
}

// filtered returns the listings for which choice is true, sorted.
func (l *listings) filtered(choice func(schema.GroupResource, *listing) bool) []Listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Listing
	for r, known := range l.of {
		if choice(r, known) {
			out = append(out, Listing{Resource: r, Controllers: l.readers[r], Err: known.err, Listed: known.listed})
		}
	}
	slices.SortFunc(out, func(a, b Listing) int {
		return cmp.Or(cmp.Compare(a.Resource.Resource, b.Resource.Resource),
			cmp.Compare(a.Resource.Group, b.Resource.Group))
	})
	return out
}

// waiting returns the resources that were requested at least that long ago and are not listed.
func (l *listings) waiting(since time.Duration) []Listing {
	return l.filtered(func(_ schema.GroupResource, k *listing) bool {
		return !k.listed &&
			time.Since(k.began) >= since
	})
}

// filled returns the number of resources that are listed, or were, and of all that a start waits for as far as is
// known.
func (l *listings) filled() (filled, all int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all = len(l.readers)
	for r, known := range l.of {
		if l.readers[r] == nil {
			all++
		}
		if known.listed {
			filled++
		}
	}
	return filled, all
}

// unlistable returns the resources that a controller needs and that the cluster refuses to list, or that cannot be
// decoded.
func (l *listings) unlistable() []Listing {
	return l.filtered(func(r schema.GroupResource, k *listing) bool {
		return !k.listed && l.readers[r] != nil && (apierrors.IsForbidden(k.err) || apierrors.IsNotFound(k.err) ||
			errors.As(k.err, new(*UndecodableError)))
	})
}

// Unreadable returns the resources that the cluster refuses to list or watch at the moment, sorted; what caches hold of
// them is out of date. In the sandbox there are none.
func (s *Session) Unreadable() []Listing {
	if s.listings == nil {
		return nil
	}
	return s.listings.filtered(func(_ schema.GroupResource, k *listing) bool { return k.err != nil })
}

// undecided reports whether some resource has no answer yet, or was not even requested.
func (l *listings) undecided() bool {
	l.mu.Lock()
	for r := range l.readers {
		if l.of[r] == nil {
			l.mu.Unlock()
			return true
		}
	}
	l.mu.Unlock()
	return len(l.filtered(func(_ schema.GroupResource, k *listing) bool { return !k.listed && k.err == nil })) > 0
}

// takeChanged returns the listings that began to fail, or to work again, since it was last called.
func (l *listings) takeChanged() []Listing {
	l.mu.Lock()
	changed := l.changed
	l.changed = map[schema.GroupResource]bool{}
	l.mu.Unlock()
	if len(changed) == 0 {
		return nil
	}
	return l.filtered(func(r schema.GroupResource, _ *listing) bool { return changed[r] })
}
