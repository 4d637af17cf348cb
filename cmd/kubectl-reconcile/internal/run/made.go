package run

import (
	"cmp"
	"slices"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// everywhere are the controllers that make what every namespace or cluster has, whatever is run in it.
var everywhere = []string{"serviceaccount", "root-ca-cert-publisher", "kube-apiserver-serving-clustertrustbundle-publisher"}

// made is a trace.Sink that notes which resources the controllers created objects of.
type made struct {
	mu        sync.Mutex
	resources map[schema.GroupVersionResource]bool
}

func newMade() *made { return &made{resources: map[schema.GroupVersionResource]bool{}} }

// Record implements trace.Sink.
func (m *made) Record(e *trace.Event) {
	r, ok := e.Detail.(*trace.Request)
	if !ok || e.Reconcile == 0 || slices.Contains(everywhere, e.Controller) || !makesObject(r) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resources[schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}] = true
}

// makesObject reports whether a request has made an object that a user may look for. Events are none, and reviews are answered
// without any.
func makesObject(r *trace.Request) bool {
	return r.Verb == "create" && !r.Failed() && r.Recorded == nil && r.Subresource == "" && !isReview(r)
}

// isReview reports whether a request asks something by creating it.
func isReview(r *trace.Request) bool {
	return r.Group == authorizationv1.GroupName || r.Group == authenticationv1.GroupName
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
