package inspect

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestIsSecret(t *testing.T) {
	for _, tt := range []struct {
		reason string
		object map[string]any
		want   bool
	}{
		{"a Secret", map[string]any{"apiVersion": "v1", "kind": "Secret"}, true},
		{"one of a later version has values too", map[string]any{"apiVersion": "v2", "kind": "Secret"}, true},
		{"a custom resource of that name", map[string]any{"apiVersion": "example.com/v1", "kind": "Secret"}, false},
		{"another kind", map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}, false},
		{"no apiVersion", map[string]any{"kind": "Secret"}, true},
		{"fields of other types", map[string]any{"apiVersion": 1, "kind": []any{"Secret"}}, false},
		{"no object", nil, false},
	} {
		if got := IsSecret(&unstructured.Unstructured{Object: tt.object}); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.reason, got, tt.want)
		}
	}
	if IsSecret(nil) {
		t.Error("nil is a Secret")
	}
}
