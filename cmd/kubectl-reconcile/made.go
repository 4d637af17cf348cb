package main

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// made is a trace.Sink that notes which resources the controllers created objects of.
type made struct {
	mu        sync.Mutex
	resources map[schema.GroupVersionResource]bool
}

func newMade() *made { return &made{resources: map[schema.GroupVersionResource]bool{}} }

// Record implements trace.Sink. Events, and what the simulated nodes need for themselves, are not what a user looks for.
func (m *made) Record(e *trace.Event) {
	r, ok := e.Detail.(*trace.Request)
	if !ok || r.Verb != "create" || r.Failed() || r.Recorded != nil || r.Subresource != "" || e.Reconcile == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resources[schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}] = true
}

// list returns the resources, sorted by name.
func (m *made) list() []schema.GroupVersionResource {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []schema.GroupVersionResource
	for r := range m.resources {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b schema.GroupVersionResource) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Group, b.Group))
	})
	return out
}
