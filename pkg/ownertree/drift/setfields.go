package drift

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// setBy returns who has set a field, as far as managedFields have it. Of a field that is gone it is not known.
func setBy(obj *unstructured.Unstructured, path string, gone bool) *fields.Writer {
	if gone {
		return nil
	}
	p, err := fields.ParsePath(path)
	if err != nil {
		return nil
	}
	field, err := fields.Owners(obj, p)
	if err != nil || len(field.Owners) == 0 {
		return nil
	}
	return &field.Owners[0].Writer
}

// components are managers that write to objects of others as their work.
var components = []string{"kube-controller-manager", "kube-scheduler", "kubelet", "kube-apiserver", "kubectl-reconcile"}

// againstOwner returns the fields of an object that a controller has made and that someone else has set.
func againstOwner(obj *unstructured.Unstructured, byUID map[types.UID]*unstructured.Unstructured) []SetField {
	c := metav1.GetControllerOfNoCopy(obj)
	if c == nil {
		return nil
	}
	owner := byUID[c.UID]
	if owner == nil || owner.GetKind() == "Node" || !hasTemplate(owner) {
		return nil
	}
	var out []SetField
	seen := map[string]bool{}
	if obj.GetKind() == "ReplicaSet" && isNewest(obj, owner) {
		for _, f := range againstTemplate(obj, owner) {
			seen[f.Path] = true
			out = append(out, f)
		}
	}
	someoneElse := func(w fields.Writer) bool {
		return !slices.Contains(components, w.Manager) && !createdBy(obj, w) &&
			(w.Subresource == "" || w.Subresource == "scale")
	}
	for _, m := range fields.OfManagers(obj, someoneElse) {
		for _, path := range m.Fields {
			if !isSpecified(path) || seen[path] {
				continue
			}
			by := m.Writer
			wanted := valueAt(owner, templatePath(obj, path))
			actual := valueAt(obj, path)
			if wanted != nil && isWithin(wanted, actual) {
				continue // it is what the owner wants
			}
			out = append(out, SetField{
				Object: obj, Path: path, Wanted: wanted, Actual: actual, WantedBy: owner, By: &by,
			})
		}
	}
	return append(out, released(obj, owner)...)
}

// hasTemplate reports whether an owner has a template of what it owns.
func hasTemplate(owner *unstructured.Unstructured) bool {
	spec, _ := owner.Object["spec"].(map[string]any)
	return spec["template"] != nil || spec["jobTemplate"] != nil
}

// revisionAnnotation numbers the templates of a Deployment, at it and at its ReplicaSets.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// isNewest reports whether the ReplicaSet is that of the Deployment's latest template, which the controller has seen.
func isNewest(set, deployment *unstructured.Unstructured) bool {
	revision := deployment.GetAnnotations()[revisionAnnotation]
	report := inspect.Inspect(deployment, nil)
	return revision != "" && set.GetAnnotations()[revisionAnnotation] == revision && !report.Drifted()
}

// templateHashLabel is the label that the Deployment controller adds to templates.
const templateHashLabel = "pod-template-hash"

// againstTemplate returns the fields of the template of a ReplicaSet that differ from that of its Deployment.
func againstTemplate(set, deployment *unstructured.Unstructured) []SetField {
	wanted, actual := templateOf(deployment), templateOf(set)
	changes, err := fields.Changes(wanted, actual, fields.Mask{})
	if err != nil {
		return nil
	}
	var out []SetField
	for _, c := range changes {
		if strings.HasPrefix(c.Path, "spec.template.metadata.creationTimestamp") {
			continue
		}
		out = append(out, SetField{
			Object: set, Path: c.Path, Wanted: c.Old, Actual: c.New,
			WantedBy: deployment, By: setBy(set, c.Path, c.New == nil),
		})
	}
	return out
}

// templateOf returns an object with the template of another only, without the label of its hash.
func templateOf(obj *unstructured.Unstructured) *unstructured.Unstructured {
	template, _, err := unstructured.NestedMap(obj.Object, "spec", "template")
	if err != nil {
		template = nil
	}
	unstructured.RemoveNestedField(template, "metadata", "labels", templateHashLabel)
	return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": template}}}
}

// createdBy reports whether the manager is the one that wrote first: what creates an object sets most of its fields.
func createdBy(obj *unstructured.Unstructured, w fields.Writer) bool {
	created := obj.GetCreationTimestamp()
	return w.Time != nil && w.Subresource == "" && !w.Time.After(created.Time)
}

// isSpecified reports whether a path is of what an owner specifies: the spec, labels and owners.
func isSpecified(path string) bool {
	return strings.HasPrefix(path, "spec.") || strings.HasPrefix(path, "metadata.labels") ||
		strings.HasPrefix(path, "metadata.ownerReferences")
}

// templatePath returns the path in an owner that a path in what it has made comes from; empty if there is none.
func templatePath(obj *unstructured.Unstructured, path string) string {
	switch {
	case obj.GetKind() == "Job":
		return "spec.jobTemplate." + path
	case obj.GetKind() == "Pod":
		return "spec.template." + path
	case strings.HasPrefix(path, "spec.template"):
		return path
	}
	return ""
}

// valueAt returns the value at a path; nil if there is none.
func valueAt(obj *unstructured.Unstructured, path string) any {
	if path == "" {
		return nil
	}
	p, err := fields.ParsePath(path)
	if err != nil {
		return nil
	}
	field, err := fields.Owners(obj, p)
	if err != nil {
		return nil
	}
	return field.Value
}

// released returns the labels of an object that its owner selects by and that are not what they must be: the owner's
// controller releases the object, and makes another.
func released(obj, owner *unstructured.Unstructured) []SetField {
	selector, _, err := unstructured.NestedStringMap(owner.Object, "spec", "selector", "matchLabels")
	if err != nil {
		return nil
	}
	labels := obj.GetLabels()
	var out []SetField
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		actual, has := labels[key]
		if has && actual == selector[key] {
			continue
		}
		path := "metadata.labels." + key
		if strings.ContainsAny(key, "./[]") {
			path = "metadata.labels[" + key + "]"
		}
		f := SetField{Object: obj, Path: path, Wanted: selector[key], WantedBy: owner, By: setBy(obj, path, !has)}
		if has {
			f.Actual = actual
		}
		out = append(out, f)
	}
	return out
}
