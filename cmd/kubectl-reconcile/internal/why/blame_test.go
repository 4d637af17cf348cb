package why

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
)

// TestFieldBlameSchema: whatever the type of the value, the document is as its schema says.
func TestFieldBlameSchema(t *testing.T) {
	for _, value := range []any{nil, true, int64(3), "x", []any{"x"}, map[string]any{"a": int64(1)}} {
		doc := &v1alpha1.FieldBlame{
			APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.FieldBlameKind, Field: "spec.x", Value: value,
			Object: v1alpha1.ObjectRef{APIVersion: "v1", Kind: "X", Name: "x"},
			Owners: []inspect.FieldOwner{{
				Writer: inspect.Writer{Manager: "m", Operation: "Apply"}, Owns: inspect.OwnsField, Fields: []string{"spec.x"},
			}},
			SetBack: []v1alpha1.SetBack{{By: "m", When: "at its next apply"}},
		}
		if problem := againstSchema(doc); problem != "" {
			t.Errorf("%v: %s", value, problem)
		}
	}
}

// TestSecretsAreNotShown: of a Secret only what holds none of its data is shown, however the path is written.
func TestSecretsAreNotShown(t *testing.T) {
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	for text, hidden := range map[string]bool{
		"data": true, "data.key": true, "[data][key]": true, "metadata": true, "metadata.annotations": true,
		"metadata.managedFields": true, "metadata.labelsx": true, "type": false, "metadata.labels": false,
		"metadata.labels.app": false,
	} {
		path, err := inspect.ParseFieldPath(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := isSecret(secret, path); got != hidden {
			t.Errorf("%s: hidden %t, want %t", text, got, hidden)
		}
	}
}
