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

// selection is a selector in a namespace.
type selection struct {
	namespace string
	labels.Selector
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

// spec is what is looked at of an object that selects pods or makes them.
type spec struct {
	Spec struct {
		Selector    json.RawMessage `json:"selector"`
		Template    template        `json:"template"`
		JobTemplate struct {
			Spec struct {
				Template template `json:"template"`
			} `json:"spec"`
		} `json:"jobTemplate"`
	} `json:"spec"`
}

type template struct {
	Metadata struct {
		Labels labels.Set `json:"labels"`
	} `json:"metadata"`
}

// selectsPods reports whether a kind that is no workload selects pods of which a controller counts all.
func selectsPods(resource schema.GroupResource) bool {
	return resource == schema.GroupResource{Resource: "services"} ||
		resource == schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}
}

// selectorOf returns the selector of an object; nil if it selects nothing.
func selectorOf(resource schema.GroupResource, data json.RawMessage) labels.Selector {
	if len(data) == 0 || string(data) == "null" {
		return nil
	}
	if resource.Group == "" { // Services and ReplicationControllers
		var set labels.Set
		if json.Unmarshal(data, &set) != nil || len(set) == 0 {
			return nil
		}
		return labels.SelectorFromSet(set)
	}
	var selector metav1.LabelSelector
	if json.Unmarshal(data, &selector) != nil {
		return nil
	}
	out, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return nil
	}
	return out
}

// wantSelected marks the pods as needed that the selections select, and reports whether any is new.
func (r *reading) wantSelected() bool {
	follow := r.selections()
	found := false
	for _, m := range r.related.members {
		if m.wanted || m.kind.Resource != "pods" {
			continue
		}
		followed := slices.ContainsFunc(follow, func(s selection) bool {
			return s.namespace == m.namespace && s.Matches(m.labels)
		})
		if followed {
			r.related.wantTree(m)
			found = true
		}
	}
	return found
}

// selections returns the selectors of what has been read, and of the objects of Options.Related. Services and budgets
// count if they select a pod that is needed, or one that would be made.
func (r *reading) selections() []selection {
	pods := map[string][]labels.Set{} // by namespace: labels of pods that are needed, or would be made
	for _, m := range r.related.members {
		if m.wanted && m.kind.Resource == "pods" {
			pods[m.namespace] = append(pods[m.namespace], m.labels)
		}
	}
	var follow, shared []selection
	look := func(resource schema.GroupResource, namespace string, data json.RawMessage, always bool) {
		var s spec
		if json.Unmarshal(data, &s) != nil {
			return
		}
		for _, t := range []template{s.Spec.Template, s.Spec.JobTemplate.Spec.Template} {
			if isWorkload(resource) && len(t.Metadata.Labels) > 0 {
				pods[namespace] = append(pods[namespace], t.Metadata.Labels)
			}
		}
		selector := selectorOf(resource, s.Spec.Selector)
		switch {
		case selector == nil:
		case always || isWorkload(resource):
			follow = append(follow, selection{namespace, selector})
		case selectsPods(resource):
			shared = append(shared, selection{namespace, selector})
		}
	}
	for k, object := range r.objects {
		if k.namespace != "" && (isWorkload(k.resource) && k.resource.Resource != "pods" || selectsPods(k.resource)) {
			look(k.resource, k.namespace, object.JSON, false)
		}
	}
	for _, root := range r.o.Related {
		resource := root.Kind.GroupResource()
		always := isWorkload(resource) || selectsPods(resource)
		if object, ok := r.objects[key{resource, root.Namespace, root.Name}]; ok && always {
			look(resource, root.Namespace, object.JSON, true)
		}
		if root.Object == nil || !always {
			continue
		}
		if data, err := root.Object.MarshalJSON(); err == nil {
			look(resource, root.Namespace, data, true)
		}
	}
	for _, s := range shared {
		if slices.ContainsFunc(pods[s.namespace], func(set labels.Set) bool { return s.Matches(set) }) {
			follow = append(follow, s)
		}
	}
	return follow
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
