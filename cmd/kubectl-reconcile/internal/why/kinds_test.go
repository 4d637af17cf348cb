package why

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// customKind is a kind that a definition is made of.
type customKind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Resource   string `json:"resource"`
	Cluster    bool   `json:"cluster,omitempty"`
}

// definition returns the CustomResourceDefinition of the kind.
func (k customKind) definition() map[string]any {
	group, version, _ := strings.Cut(k.APIVersion, "/")
	scope := "Namespaced"
	if k.Cluster {
		scope = "Cluster"
	}
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name":        k.Resource + "." + group,
			"annotations": map[string]any{"api-approved.kubernetes.io": "https://example.com/approved"}, // for groups of k8s.io
		},
		"spec": map[string]any{
			"group": group, "scope": scope,
			"names": map[string]any{"kind": k.Kind, "plural": k.Resource, "singular": strings.ToLower(k.Kind)},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{"spec": open, "status": open},
					"x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}
}

// definitions is the resource of CustomResourceDefinitions.
var definitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// define creates the definition, unless it is there.
func (k customKind) define(t *testing.T, on *stage) {
	t.Helper()
	definition := &unstructured.Unstructured{Object: k.definition()}
	_, err := on.client.Resource(definitions).Create(t.Context(), definition, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}
