// Package drift compares what objects are with what is wanted of them, from the objects alone: specs that their
// controllers have not seen, replicas that are not there, and fields that someone has set against what a controller or
// an applier wants. It says who set a field and when as far as managedFields have it.
//
// It reads no cluster and predicts nothing. What controllers would do about it is found out by package plan of
// runlocal.
//
// drift.go has Find and what it returns, counts.go what is wanted beside what is there, oldpods.go which pods are of an
// older revision, setfields.go the fields that someone has set, applied.go those of them that the next apply takes
// back.
package drift

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// Report is what Find finds. All lists are sorted by object.
type Report struct {
	// Unseen are the objects whose controllers have not seen the latest generation, or none at all.
	Unseen []Unseen
	// Counts are the objects whose numbers are not those that are wanted.
	Counts []Count
	// OldPods are pods of older revisions than their StatefulSet or DaemonSet is to have.
	OldPods []OldPods
	// SetFields are fields that someone has set against what a controller or an applier wants.
	SetFields []SetField
}

// Unseen is an object whose controller has not seen its latest spec.
type Unseen struct {
	Object *unstructured.Unstructured
	Drift  inspect.Drift
	// Writer is who wrote to the object last, as far as managedFields have it.
	Writer *fields.Writer
}

// Count is an object, and numbers of what it wants and what is there.
type Count struct {
	Object *unstructured.Unstructured
	// Wanted is how many replicas, pods or healthy pods are wanted. The others are how many there are, of the latest
	// template, ready and available; nil if the kind does not count them.
	Wanted                           int64
	There, Updated, Ready, Available *int64
}

// SetField is a field that someone has set against what is wanted.
type SetField struct {
	Object *unstructured.Unstructured
	Path   string
	// Wanted and Actual are JSON values, nil if the field is not there. Those of Secrets are hidden.
	Wanted, Actual any
	// WantedBy is the object that wants it, nil if it is an applier: then the next apply of the same file takes the
	// field back.
	WantedBy *unstructured.Unstructured
	// By is who has set it, as far as managedFields have it; the time is when it last wrote any field.
	By *fields.Writer
}

// Find looks for drift among objects, such as all of a namespace. Owners that are not among them are not compared with.
// The objects are not changed; they may be of any content.
func Find(objects []*unstructured.Unstructured) Report {
	var r Report
	byUID := map[types.UID]*unstructured.Unstructured{}
	for _, obj := range objects {
		byUID[obj.GetUID()] = obj
	}
	r.OldPods = oldPods(objects)
	for _, obj := range objects {
		report := inspect.Inspect(obj, nil)
		if report.Drifted() {
			one := Unseen{Object: obj, Drift: report.Drift}
			if w, ok := fields.LastWriter(obj); ok {
				one.Writer = &w
			}
			r.Unseen = append(r.Unseen, one)
		}
		if c, ok := countsOf(obj); ok {
			r.Counts = append(r.Counts, c)
		}
		r.SetFields = append(r.SetFields, againstOwner(obj, byUID)...)
		r.SetFields = append(r.SetFields, againstApplied(obj)...)
	}
	slices.SortStableFunc(r.Unseen, func(a, b Unseen) int { return compareObjects(a.Object, b.Object) })
	slices.SortStableFunc(r.Counts, func(a, b Count) int { return compareObjects(a.Object, b.Object) })
	slices.SortStableFunc(r.SetFields, func(a, b SetField) int {
		return cmp.Or(compareObjects(a.Object, b.Object), cmp.Compare(a.Path, b.Path))
	})
	return r
}

// Empty reports whether nothing was found.
func (r *Report) Empty() bool {
	return len(r.Unseen)+len(r.Counts)+len(r.OldPods)+len(r.SetFields) == 0
}

func compareObjects(a, b *unstructured.Unstructured) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetKind(), b.GetKind()),
		cmp.Compare(a.GetAPIVersion(), b.GetAPIVersion()), cmp.Compare(a.GetName(), b.GetName()))
}
