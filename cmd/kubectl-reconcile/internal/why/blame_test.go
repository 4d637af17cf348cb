package why

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
)

// TestFieldBlameSchema: whatever the type of the value, the document is as its schema says.
func TestFieldBlameSchema(t *testing.T) {
	for _, value := range []any{nil, true, int64(3), "x", []any{"x"}, map[string]any{"a": int64(1)}} {
		doc := &v1alpha1.FieldBlame{
			APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.FieldBlameKind, Field: "spec.x", Value: value,
			Object: v1alpha1.ObjectRef{APIVersion: "v1", Kind: "X", Name: "x"},
			Owners: []fields.FieldOwner{{
				Writer: fields.Writer{Manager: "m", Operation: "Apply"}, Owns: fields.OwnsField, Fields: []string{"spec.x"},
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
		path, err := fields.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := isSecret(secret, path); got != hidden {
			t.Errorf("%s: hidden %t, want %t", text, got, hidden)
		}
	}
}

// TestManagersSetBack: a manager is named once, however many entries of managedFields it has.
func TestManagersSetBack(t *testing.T) {
	owner := func(manager, operation, subresource string) fields.FieldOwner {
		return fields.FieldOwner{Writer: fields.Writer{Manager: manager, Operation: operation, Subresource: subresource}}
	}
	const (
		applied = "its next server-side apply sets it, or reports a conflict"
		status  = "it is a status, which it writes again when it reconciles"
	)
	for _, row := range []struct {
		reason string
		path   string
		owners []fields.FieldOwner
		want   []v1alpha1.SetBack
	}{
		{"a known one, in two API versions", "spec.x", []fields.FieldOwner{owner("argocd", "Apply", ""), owner("argocd", "Apply", "")},
			[]v1alpha1.SetBack{{By: "argocd", When: "Argo CD sets it again when it syncs, at once with selfHeal"}}},
		{"another that applies, too", "spec.x", []fields.FieldOwner{owner("my", "Apply", ""), owner("my", "Apply", "")},
			[]v1alpha1.SetBack{{By: "my", When: applied}}},
		{"a known one through a subresource", "spec.x", []fields.FieldOwner{owner("helm", "Update", "scale")}, nil},
		{"what it did otherwise counts", "spec.x", []fields.FieldOwner{owner("my", "Update", ""), owner("my", "Apply", "")},
			[]v1alpha1.SetBack{{By: "my", When: applied}}},
		{"kubectl edit sets nothing back", "spec.x", []fields.FieldOwner{owner("kubectl-edit", "Update", "")}, nil},
		{"a status", "status.x", []fields.FieldOwner{owner("my", "Update", "status"), owner("my", "Update", ""), owner("b", "Update", "")},
			[]v1alpha1.SetBack{{By: "my", When: status}, {By: "b", When: status}}},
	} {
		got := managersSetBack(fields.Value{Path: row.path, Owners: row.owners})
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}
