package fields

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestHideSecretValues(t *testing.T) {
	secret := func(data map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": data}}
	}
	applied := secret(nil)
	applied.SetAnnotations(map[string]string{
		corev1.LastAppliedConfigAnnotation: `{"kind":"Secret","stringData":{"password":"hunter2"}}`,
	})
	const key = "-----BEGIN KEY-----\nMIIB\"<1>\"\n-----END KEY-----\n"
	for _, tt := range []struct {
		reason string
		object *unstructured.Unstructured
		text   string
		want   string
	}{
		{"as it was sent", secret(map[string]any{"p": "aHVudGVyMg=="}), "bad: aHVudGVyMg==", "bad: ***"},
		{"decoded", secret(map[string]any{"p": "aHVudGVyMg=="}), "bad: hunter2!", "bad: ***!"},
		{"what is no base64, as text and encoded", secret(map[string]any{"p": "hunter2!"}),
			"bad: hunter2!, aHVudGVyMiE=", "bad: ***, ***"},
		{"a wrong type", secret(map[string]any{"p": int64(8080), "q": []any{"one-two", true}}),
			"bad: 8080 [one-two true] in version 80801", "bad: *** [*** ***] in version 80801"},
		{"within a patch within a message", &unstructured.Unstructured{Object: map[string]any{
			"kind": "Secret", "stringData": map[string]any{"k": key}}},
			fmt.Sprintf("bad: %q", fmt.Sprintf("{%q:%q}", "k", key)), `bad: "{\"k\":\"***\"}"`},
		{"a piece of a document", secret(map[string]any{"p": "correct horse battery staple"}),
			"found in ...|rse battery st|...", "found in ...|***|..."},
		{"what was applied before", applied, "was hunter2", "was ***"},
		{"a short value is no part of a word", secret(map[string]any{"p": "a"}), `data "a" is bad`, `data "***" is bad`},
		{"an empty one hides nothing", secret(map[string]any{"p": ""}), "is bad", "is bad"},
		{"another kind", &unstructured.Unstructured{Object: map[string]any{
			"kind": "ConfigMap", "data": map[string]any{"p": "hunter2"}}}, "hunter2", "hunter2"},
		{"no object", nil, "hunter2", "hunter2"},
	} {
		if got := HideSecretValues(tt.text, tt.object); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, got, tt.want)
		}
	}
}
