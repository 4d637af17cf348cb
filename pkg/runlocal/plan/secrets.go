package plan

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// What takes the place of values of Secrets that differ, as in `kubectl diff`.
const (
	hiddenBefore = inspect.HiddenValue + " (before)"
	hiddenAfter  = inspect.HiddenValue + " (after)"
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
	if !inspect.IsSecret(before) && !inspect.IsSecret(after) {
		return
	}
	for _, field := range []string{"data", "stringData"} {
		a, b := mapField(before, field), mapField(after, field)
		for k := range a {
			switch other, both := b[k]; {
			case !both:
				a[k] = inspect.HiddenValue
			case reflect.DeepEqual(a[k], other):
				a[k], b[k] = inspect.HiddenValue, inspect.HiddenValue
			default:
				a[k], b[k] = hiddenBefore, hiddenAfter
			}
		}
		for k := range b {
			if _, both := a[k]; !both {
				b[k] = inspect.HiddenValue
			}
		}
	}
}

func mapField(obj *unstructured.Unstructured, field string) map[string]any {
	if obj == nil {
		return nil
	}
	m, _ := obj.Object[field].(map[string]any)
	return m
}

// asRuntime returns the object as an interface that is nil if the object is.
func asRuntime(obj *unstructured.Unstructured) runtime.Object {
	if obj == nil {
		return nil
	}
	return obj
}
