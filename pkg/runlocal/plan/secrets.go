package plan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// HideSecrets hides what two versions of an object must not show: the values of Secrets, of which it can only be seen
// which differ, and kubectl's copy of all fields. It modifies the objects, each of which may be nil.
func HideSecrets(before, after *unstructured.Unstructured) {
	for _, obj := range []*unstructured.Unstructured{before, after} {
		if obj == nil {
			continue
		}
		annotations := obj.GetAnnotations()
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		if len(annotations) == 0 {
			annotations = nil
		}
		obj.SetAnnotations(annotations)
	}
	fields.MaskObjects(before, after)
}
