package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/drift"
)

// driftIn looks for drift of the objects that were asked for and of what they own, among those of a copy, whose times
// are moved back.
func driftIn(state *State, a asked) (*drift.Report, error) {
	copied := state.Copy
	var objects []*unstructured.Unstructured
	for i := range copied.Objects {
		obj := &copied.Objects[i]
		if !copied.HasNamespace(obj.Namespace) && !a.names(obj.Kind.GroupKind(), obj.Namespace, obj.Name) {
			continue
		}
		decoded, err := obj.Unstructured()
		if err != nil {
			return nil, err
		}
		if err := moveTimes(decoded, -state.moved); err != nil {
			return nil, err
		}
		objects = append(objects, decoded)
	}
	report := driftOf(drift.Find(objects), objects, a)
	return &report, nil
}

// driftOf returns the drift of the objects that were asked for and of what they own; all if none were.
func driftOf(report drift.Report, objects []*unstructured.Unstructured, a asked) drift.Report {
	if len(a) == 0 {
		return report
	}
	byUID := map[types.UID]*unstructured.Unstructured{}
	for _, obj := range objects {
		byUID[obj.GetUID()] = obj
	}
	isAsked := func(obj *unstructured.Unstructured) bool {
		for range len(byUID) + 1 { // owners may own each other in a circle
			if obj == nil {
				return false
			}
			if a.has(obj) {
				return true
			}
			c := metav1.GetControllerOfNoCopy(obj)
			if c == nil {
				return false
			}
			obj = byUID[c.UID]
		}
		return false
	}
	var out drift.Report
	for _, u := range report.Unseen {
		if isAsked(u.Object) {
			out.Unseen = append(out.Unseen, u)
		}
	}
	for _, old := range report.OldPods {
		if isAsked(old.Object) {
			out.OldPods = append(out.OldPods, old)
		}
	}
	for _, c := range report.Counts {
		if isAsked(c.Object) {
			out.Counts = append(out.Counts, c)
		}
	}
	for _, f := range report.SetFields {
		if isAsked(f.Object) {
			out.SetFields = append(out.SetFields, f)
		}
	}
	return out
}
