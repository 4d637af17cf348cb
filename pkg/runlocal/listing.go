package runlocal

import (
	"cmp"
	"fmt"
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
	// Err is why it cannot be listed. It is nil while an answer is under way, and once it has come.
	Err error
	// Listed says that the cache holds it, or has held it before Err.
	Listed bool
}

// CacheError says that controllers cannot run because what they read cannot be listed.
type CacheError struct {
	// Listings have an Err each. They are sorted by resource.
	Listings []Listing
}

// Error implements error.
func (e *CacheError) Error() string {
	var parts []string
	for _, l := range e.Listings {
		parts = append(parts, fmt.Sprintf("listing %s for %s: %v", l.Resource, strings.Join(l.Controllers, ", "), l.Err))
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

// listings is what is known of the caches of a session, by what their informers ask for and are answered. It may be used
// concurrently.
type listings struct {
	readers map[schema.GroupResource][]string

	mu      sync.Mutex
	of      map[schema.GroupResource]*listing
	changed map[schema.GroupResource]bool // since news were last asked for
}

// listing is what is known of one resource.
type listing struct {
	began  time.Time
	listed bool
	err    error
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

// note changes what is known of a resource.
func (l *listings) note(r schema.GroupResource, change func(*listing)) {
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

func (l *listings) asked(r schema.GroupResource) { l.note(r, func(*listing) {}) }
func (l *listings) listed(r schema.GroupResource) {
	l.note(r, func(k *listing) { k.listed, k.err = true, nil })
}
func (l *listings) failed(r schema.GroupResource, err error) {
	l.note(r, func(k *listing) { k.err = err })
}

// those returns the listings that the choice is true for, sorted.
func (l *listings) those(choice func(schema.GroupResource, *listing) bool) []Listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Listing
	for r, known := range l.of {
		if choice(r, known) {
			out = append(out, Listing{Resource: r, Controllers: l.readers[r], Err: known.err, Listed: known.listed})
		}
	}
	slices.SortFunc(out, func(a, b Listing) int {
		return cmp.Or(cmp.Compare(a.Resource.Resource, b.Resource.Resource), cmp.Compare(a.Resource.Group, b.Resource.Group))
	})
	return out
}

// waiting are the resources that are not listed, and were asked for so long ago.
func (l *listings) waiting(since time.Duration) []Listing {
	return l.those(func(_ schema.GroupResource, k *listing) bool { return !k.listed && time.Since(k.began) >= since })
}

// filled counts the resources that are listed, or were, and all that a start waits for as far as is known.
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

// hopeless are those that a controller cannot do without and that waiting will not bring.
func (l *listings) hopeless() []Listing {
	return l.those(func(r schema.GroupResource, k *listing) bool {
		return !k.listed && l.readers[r] != nil && (apierrors.IsForbidden(k.err) || apierrors.IsNotFound(k.err))
	})
}

// Unreadable are the resources that a cluster refuses to list or watch at the time, sorted; what caches hold of them gets old.
// There are none without a cluster.
func (s *Session) Unreadable() []Listing {
	if s.listings == nil {
		return nil
	}
	return s.listings.those(func(_ schema.GroupResource, k *listing) bool { return k.err != nil })
}

// undecided reports whether some resource has no answer yet.
func (l *listings) undecided() bool {
	return len(l.those(func(_ schema.GroupResource, k *listing) bool { return !k.listed && k.err == nil })) > 0
}

// news are the listings that began to fail, or ceased to, since it was last called.
func (l *listings) news() []Listing {
	l.mu.Lock()
	changed := l.changed
	l.changed = map[schema.GroupResource]bool{}
	l.mu.Unlock()
	if len(changed) == 0 {
		return nil
	}
	return l.those(func(r schema.GroupResource, _ *listing) bool { return changed[r] })
}
