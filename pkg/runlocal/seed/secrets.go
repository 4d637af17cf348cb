package seed

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// withoutSecretData returns a Secret with its keys and without its values, also in the manifest that kubectl apply has
// left in an annotation.
func withoutSecretData(data json.RawMessage) (json.RawMessage, error) {
	var secret map[string]any
	if err := decodeJSON(data, &secret); err != nil {
		return nil, fmt.Errorf("removing the data of a Secret: %w", err)
	}
	emptyValues(secret)
	metadata, _ := secret["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if manifest, ok := annotations[corev1.LastAppliedConfigAnnotation].(string); ok {
		annotations[corev1.LastAppliedConfigAnnotation] = emptiedManifest(manifest)
	}
	return json.Marshal(secret)
}

// emptyValues makes the values of a Secret's keys empty.
func emptyValues(secret map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		values, ok := secret[field].(map[string]any)
		if !ok {
			delete(secret, field)
			continue
		}
		for name := range values {
			values[name] = ""
		}
	}
}

// emptiedManifest returns the manifest of a Secret without its values; empty if it cannot be read.
func emptiedManifest(manifest string) string {
	var secret map[string]any
	if decodeJSON([]byte(manifest), &secret) != nil {
		return ""
	}
	emptyValues(secret)
	out, err := json.Marshal(secret)
	if err != nil {
		return ""
	}
	return string(out)
}
