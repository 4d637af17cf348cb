package drift

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// againstApplied returns the fields of an object that are not what `kubectl apply` made them, as its annotation has it:
// the next apply of the same file takes them back. Fields of server-side apply are not known: managedFields have no
// values.
func againstApplied(obj *unstructured.Unstructured) []SetField {
	text := obj.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	if text == "" {
		return nil
	}
	applied := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &applied.Object); err != nil || applied.Object == nil {
		return nil // whatever wrote it, it is not kubectl's
	}
	if applied.GetKind() != obj.GetKind() || applied.GetName() != obj.GetName() {
		return nil // controllers copy the annotation to what they make, such as ControllerRevisions
	}
	secret := fields.IsSecret(obj)
	if secret {
		storeText(applied)
	}
	mask := fields.Mask{Kind: obj.GroupVersionKind().GroupKind(), Hides: func(string) bool { return secret }}
	var out []SetField
	err := fields.CompareValues(applied, obj, func(path string, wanted, actual any) {
		if wanted == nil || isWithin(wanted, actual) {
			return // not applied, or completed by defaults
		}
		c := mask.Change(path, wanted, actual)
		out = append(out, SetField{
			Object: obj, Path: path, Wanted: c.Old, Actual: c.New, By: setBy(obj, path, actual == nil),
		})
	})
	if err != nil {
		return nil
	}
	return out
}

// storeText makes the stringData of an applied Secret what the API stores: data, in whose values it takes precedence.
// It mirrors Convert_v1_Secret_To_core_Secret of k8s.io/kubernetes/pkg/apis/core/v1/conversion.go.
func storeText(secret *unstructured.Unstructured) {
	text, _ := secret.Object["stringData"].(map[string]any)
	delete(secret.Object, "stringData")
	if len(text) == 0 {
		return
	}
	data, _ := secret.Object["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for key, value := range text {
		if value, ok := value.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(value))
		}
	}
	secret.Object["data"] = data
}

// isWithin reports whether an applied value is what is there, or a part of it: the server completes maps and lists, and
// normalizes quantities.
func isWithin(applied, actual any) bool {
	switch applied := applied.(type) {
	case nil:
		return true
	case map[string]any:
		m, ok := actual.(map[string]any)
		if len(applied) == 0 && actual == nil {
			return true
		}
		for k, v := range applied {
			if !ok || !isWithin(v, m[k]) {
				return false
			}
		}
		return ok
	case []any:
		list, ok := actual.([]any)
		if len(applied) == 0 && actual == nil {
			return true
		}
		return ok && slices.EqualFunc(applied, list, isWithin)
	case bool:
		return applied == actual || !applied && actual == nil
	case string:
		if applied == "" && actual == nil {
			return true
		}
	}
	return reflect.DeepEqual(applied, actual) || sameQuantity(applied, actual)
}

// sameQuantity reports whether two values are the same number or quantity: 1 and "1", "1000m" and 1.
func sameQuantity(a, b any) bool {
	if a == nil || b == nil {
		return false
	}
	x, err := resource.ParseQuantity(fmt.Sprint(a))
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(fmt.Sprint(b))
	return err == nil && x.Cmp(y) == 0
}
