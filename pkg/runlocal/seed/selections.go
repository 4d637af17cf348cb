package seed

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// selection is a selector of pods in a namespace, and of what is adopted by what has it.
type selection struct {
	of        types.UID // the Service or budget that has it; empty for others
	namespace string
	adopts    string // a resource; empty if it is pods alone
	labels.Selector
}

// selects reports whether a member is selected.
func (s *selection) selects(m *member) bool {
	resource := m.group.target.Kind.Resource
	return (resource == "pods" || resource == s.adopts && m.orphan) &&
		s.namespace == m.group.target.Namespace && s.Matches(m.labels)
}

// adopts returns the resource of the objects, beside pods, that the controller of a workload adopts if they have its
// labels and no controller; empty if there is none: see k8s.io/kubernetes/pkg/controller/controller_ref_manager.go.
func adopts(resource schema.GroupResource) string {
	switch resource.String() {
	case "deployments.apps":
		return "replicasets"
	case "statefulsets.apps", "daemonsets.apps":
		return "controllerrevisions"
	}
	return ""
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

// findShared finds the selectors of the Services and budgets that were read.
func (r *reading) findShared() {
	for k, object := range r.objects {
		var s spec
		if !selectsPods(k.resource) || json.Unmarshal(object.JSON, &s) != nil {
			continue
		}
		if selector := selectorOf(k.resource, s.Spec.Selector); selector != nil {
			shared := selection{of: object.UID, namespace: k.namespace, Selector: selector}
			r.related.shared = append(r.related.shared, shared)
		}
	}
}

// selectsLeft reports whether a selection has a workload that is not needed.
func (c *related) selectsLeft(s *selection) bool {
	for uid, m := range c.members {
		if !c.wanted[uid] && s.selects(m) {
			return true
		}
	}
	return false
}

// wantSelected marks what the selections select as needed, and reports whether any is new. A Service or budget whose
// pods are needed is needed itself.
func (r *reading) wantSelected() bool {
	follow := r.selections()
	found := false
	for _, s := range follow {
		if s.of != "" && !r.related.wanted[s.of] {
			r.related.want(s.of)
			found = true
		}
	}
	for uid, m := range r.related.members {
		if r.related.wanted[uid] {
			continue
		}
		if slices.ContainsFunc(follow, func(s selection) bool { return s.selects(m) }) {
			r.related.want(uid)
			found = true
		}
	}
	return found
}

// selections returns the selectors of what has been read, and of the objects of Options.Related. Services and budgets
// count if they are needed, or select a pod that is needed, or one that would be made.
func (r *reading) selections() []selection {
	pods := map[string][]labels.Set{} // by namespace: labels of pods that are needed, or would be made
	for uid, m := range r.related.members {
		if target := &m.group.target; r.related.wanted[uid] && target.Kind.Resource == "pods" {
			pods[target.Namespace] = append(pods[target.Namespace], m.labels)
		}
	}
	var follow []selection
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
		if selector != nil && (always || isWorkload(resource)) {
			follow = append(follow, selection{namespace: namespace, adopts: adopts(resource), Selector: selector})
		}
	}
	for k, object := range r.objects {
		if k.namespace != "" && isWorkload(k.resource) && k.resource.Resource != "pods" {
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
	for _, s := range r.related.shared {
		if r.related.wanted[s.of] ||
			slices.ContainsFunc(pods[s.namespace], func(set labels.Set) bool { return s.Matches(set) }) {
			follow = append(follow, s)
		}
	}
	return follow
}
