package seed

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Related is an object of Options.Related.
type Related struct {
	Root
	// Object is the object as it is to be written to the copy; nil if it stays as it is. It need not exist.
	Object *unstructured.Unstructured
}

// isWorkload reports whether a kind is one of those of which a namespace has the most objects, and which controllers
// find by owner references and labels alone: pods, and what makes them.
func isWorkload(resource schema.GroupResource) bool {
	switch resource.Group {
	case "":
		return resource.Resource == "pods" || resource.Resource == "replicationcontrollers"
	case "apps":
		return true
	case "batch":
		return true
	}
	return false
}

// affectsNoOthers reports whether workloads are reached from an object of a kind, which is none itself, by labels or by
// nothing.
func affectsNoOthers(resource schema.GroupResource) bool {
	switch resource.Group {
	case "":
		return slices.Contains([]string{"configmaps", "secrets", "services", "serviceaccounts"}, resource.Resource)
	case "policy":
		return resource.Resource == "poddisruptionbudgets"
	case "networking.k8s.io":
		return slices.Contains([]string{"ingresses", "networkpolicies"}, resource.Resource)
	case "rbac.authorization.k8s.io":
		return true
	}
	return false
}

// related are the workloads of the copied namespaces, by their metadata, and those of them that are copied: what the
// objects of Options.Related own, what owns them, what is selected by the labels that they select by, and what is
// selected together with them by Services and budgets; of each whole trees of owners.
type related struct {
	members map[types.UID]*member
	ownedBy map[types.UID][]*member
}

// member is a workload.
type member struct {
	uid             types.UID
	kind            cluster.Kind
	namespace, name string
	labels          labels.Set
	owners          []types.UID
	wanted, read    bool
}

// restricted reports whether the copy can be restricted to what Options.Related needs.
func (o *Options) restricted() bool {
	return len(o.Related) > 0 && !o.AllNamespaces && !slices.ContainsFunc(o.Related, func(root Related) bool {
		resource := root.Kind.GroupResource()
		return !isWorkload(resource) && !affectsNoOthers(resource)
	})
}

// listMembers reads the metadata of all workloads.
func (r *reading) listMembers(ctx context.Context, targets []cluster.Target) {
	missing, _ := r.o.Reader.ListMetadata(ctx, targets, func(t cluster.Target, obj *metav1.PartialObjectMetadata) {
		m := &member{uid: obj.UID, kind: t.Kind, namespace: obj.Namespace, name: obj.Name, labels: obj.Labels}
		for _, owner := range obj.OwnerReferences {
			m.owners = append(m.owners, owner.UID)
			r.related.ownedBy[owner.UID] = append(r.related.ownedBy[owner.UID], m)
		}
		r.related.members[obj.UID] = m
	}) // the error is that of ctx
	r.mu.Lock()
	defer r.mu.Unlock()
	r.incomplete = append(r.incomplete, missing...)
	r.listed += len(targets) - len(missing)
}

// readRelated reads the workloads that are needed, when all other lists have been read: all, if a namespace has a
// quota, which counts them, or is being deleted.
func (r *reading) readRelated(ctx context.Context, targets []cluster.Target) {
	if r.needsAll() {
		r.related = nil
		var running sync.WaitGroup
		for _, target := range targets {
			running.Go(func() { r.list(ctx, target) })
		}
		running.Wait()
		return
	}
	for _, root := range r.o.Related {
		for _, m := range r.related.members {
			if m.kind.GroupResource() == root.Kind.GroupResource() &&
				m.namespace == root.Namespace && m.name == root.Name {
				r.related.wantTree(m)
			}
		}
		if object, ok := r.objects[key{root.Kind.GroupResource(), root.Namespace, root.Name}]; ok {
			for _, m := range r.related.ownedBy[object.UID] {
				r.related.wantTree(m)
			}
		}
	}
	for ctx.Err() == nil {
		var running sync.WaitGroup
		for _, m := range r.related.members {
			if m.wanted && !m.read {
				m.read = true
				running.Go(func() { _ = r.get(ctx, m.kind, m.namespace, m.name) }) // one that is gone is not there
			}
		}
		running.Wait()
		if !r.wantSelected() {
			return
		}
	}
}

// needsAll reports whether controllers look at all workloads of a namespace.
func (r *reading) needsAll() bool {
	for k, object := range r.objects {
		switch k.resource {
		case schema.GroupResource{Resource: "resourcequotas"}:
			return true
		case namespaces:
			var one metav1.PartialObjectMetadata
			if json.Unmarshal(object.JSON, &one) != nil || one.DeletionTimestamp != nil {
				return true
			}
		}
	}
	return false
}

// wantTree marks a workload, what owns it, and what all these own, as needed.
func (c *related) wantTree(m *member) {
	if m.wanted {
		return
	}
	m.wanted = true
	for _, owner := range m.owners {
		if o := c.members[owner]; o != nil {
			c.wantTree(o)
		}
		// The others that it owns, even if it is no workload, such as one of a custom resource.
		for _, other := range c.ownedBy[owner] {
			c.wantTree(other)
		}
	}
	for _, owned := range c.ownedBy[m.uid] {
		c.wantTree(owned)
	}
}

// dropUnrelated removes what belongs to workloads that are not copied: what they own, and their autoscalers.
func (r *reading) dropUnrelated(context.Context) error {
	if r.related == nil {
		return nil
	}
	left := map[ownerName]bool{}
	for _, m := range r.related.members {
		if !m.wanted {
			left[ownerName{m.kind.GroupKind(), m.namespace, m.name}] = true
		}
	}
	r.unrelated = map[key]bool{}
	r.skipped = len(left)
	for k, object := range r.objects {
		belongs := k.resource == autoscalers && left[scaleTarget(object)]
		for _, owner := range object.owners {
			m := r.related.members[owner.UID]
			belongs = belongs || m != nil && !m.wanted
		}
		if belongs {
			delete(r.objects, k)
			delete(r.uids, object.UID)
			r.unrelated[k] = true
			r.skipped++
		}
	}
	return nil
}

// scaleTarget returns what an autoscaler scales.
func scaleTarget(autoscaler Object) ownerName {
	var one struct {
		Spec struct {
			Target struct {
				APIVersion string `json:"apiVersion"`
				Kind       string `json:"kind"`
				Name       string `json:"name"`
			} `json:"scaleTargetRef"`
		} `json:"spec"`
	}
	if json.Unmarshal(autoscaler.JSON, &one) != nil {
		return ownerName{}
	}
	target := one.Spec.Target
	return ownerName{
		schema.FromAPIVersionAndKind(target.APIVersion, target.Kind).GroupKind(), autoscaler.Namespace, target.Name,
	}
}
