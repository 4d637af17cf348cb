package seed

import (
	"context"
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// adoptee is an object that a controller would adopt which selects its labels.
type adoptee struct {
	resource, namespace string
	labels              labels.Set
}

// adoptees returns what is needed and owned by no controller, and the objects of Options.Related, whose controllers may
// release them.
func (r *reading) adoptees() []adoptee {
	var out []adoptee
	for uid, m := range r.related.members {
		if target := &m.group.target; m.orphan && r.related.wanted[uid] {
			out = append(out, adoptee{target.Kind.Resource, target.Namespace, m.labels})
		}
	}
	for _, root := range r.o.Related {
		if root.Object != nil && isWorkload(root.Kind.GroupResource()) {
			out = append(out, adoptee{root.Kind.Resource, root.Namespace, root.Object.GetLabels()})
		}
	}
	return out
}

// adoptsFrom reports whether a workload of a kind may adopt the object.
func (a *adoptee) adoptsFrom(g *group) bool {
	resource := g.target.Kind.GroupResource()
	if a.namespace != g.target.Namespace {
		return false
	}
	if a.resource != "pods" {
		return adopts(resource) == a.resource
	}
	switch resource {
	case schema.GroupResource{Resource: "replicationcontrollers"},
		schema.GroupResource{Group: "apps", Resource: "replicasets"},
		schema.GroupResource{Group: "apps", Resource: "statefulsets"},
		schema.GroupResource{Group: "apps", Resource: "daemonsets"},
		schema.GroupResource{Group: "batch", Resource: "jobs"}:
		return true
	}
	return false
}

// wantAdopters marks the workloads as needed that adopt what is needed, and reports whether any is new. Their selectors
// are read for that, which metadata do not have.
func (r *reading) wantAdopters(ctx context.Context) bool {
	all := r.adoptees()
	for _, g := range r.related.groups {
		mayAdopt := func(a adoptee) bool { return a.adoptsFrom(g) && r.related.unknown(g, &a) }
		if !g.peeked && slices.ContainsFunc(all, mayAdopt) {
			r.readSelectors(ctx, g)
		}
	}
	found := false
	for uid, m := range r.related.members {
		if m.selector == nil || r.related.wanted[uid] {
			continue
		}
		adopts := func(a adoptee) bool { return a.adoptsFrom(m.group) && m.selector.Matches(a.labels) }
		if slices.ContainsFunc(all, adopts) {
			r.related.want(uid)
			found = true
		}
	}
	return found
}

// unknown reports whether a member of a group that was not read may select the object. A ReplicaSet of a Deployment
// does not unless the object has the hash of its template.
func (c *related) unknown(g *group, a *adoptee) bool {
	for _, m := range c.members {
		if m.group != g || m.read {
			continue
		}
		hash := m.labels[appsv1.DefaultDeploymentUniqueLabelKey]
		if m.orphan || hash == "" || hash == a.labels[appsv1.DefaultDeploymentUniqueLabelKey] {
			return true
		}
	}
	return false
}

// readSelectors reads the selectors of a kind of workload in a namespace. What cannot be read is recorded.
func (r *reading) readSelectors(ctx context.Context, g *group) {
	g.peeked = true
	_, err := r.o.Reader.ListJSON(ctx, g.target, cluster.ListOptions{At: r.at}, func(data json.RawMessage) error {
		var one struct {
			Metadata struct {
				UID types.UID `json:"uid"`
			} `json:"metadata"`
			spec
		}
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		if m := r.related.members[one.Metadata.UID]; m != nil {
			m.selector = selectorOf(g.target.Kind.GroupResource(), one.Spec.Selector)
		}
		return nil
	})
	if err != nil {
		r.fail(ctx, g.target, err)
	}
}
