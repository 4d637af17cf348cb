package trace

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CreatedResources is a Sink that keeps the resources of which reconciles created objects. Its methods may be called
// concurrently.
type CreatedResources struct {
	ignored []string // short names of controllers

	mu        sync.Mutex
	resources map[schema.GroupVersionResource]bool
}

// NewCreatedResources returns a CreatedResources that ignores what these controllers create.
func NewCreatedResources(ignored ...string) *CreatedResources {
	return &CreatedResources{ignored: ignored, resources: map[schema.GroupVersionResource]bool{}}
}

// Record implements Sink.
func (c *CreatedResources) Record(e *Event) {
	r, ok := e.Detail.(*Request)
	if !ok || e.Reconcile == 0 || slices.Contains(c.ignored, e.Controller) || !r.CreatesObject() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resources[schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}] = true
}

// CreatesObject reports whether the request created an object that a user may look for. Events are not, and reviews are
// answered without creating one.
func (r *Request) CreatesObject() bool {
	creates := r.Verb == "create" || r.Code == http.StatusCreated // as by server-side apply
	return creates && !r.Failed() && r.Recorded == nil && r.Subresource == "" && !r.isReview()
}

// Resources returns the resources, sorted by resource and group.
func (c *CreatedResources) Resources() []schema.GroupVersionResource {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Keys(c.resources), func(a, b schema.GroupVersionResource) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Group, b.Group))
	})
}
