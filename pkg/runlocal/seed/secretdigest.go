package seed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
)

// SecretDigest replaces the values of Secrets by keyed digests: equal values have equal ones, so that a change is seen,
// and without the key, which is random and never stored, no value can be guessed and tried. It may be used
// concurrently. Nil makes the values empty.
type SecretDigest struct{ key []byte }

// NewSecretDigest returns a SecretDigest whose key is read from random, which must be cryptographically secure.
func NewSecretDigest(random io.Reader) (*SecretDigest, error) {
	d := &SecretDigest{key: make([]byte, sha256.Size)}
	if _, err := io.ReadFull(random, d.key); err != nil {
		return nil, fmt.Errorf("making a key for digests of Secrets: %w", err)
	}
	return d, nil
}

// Hide replaces the values of a Secret, also in the manifest that kubectl apply has left in an annotation. It modifies
// the object.
func (d *SecretDigest) Hide(secret map[string]any) {
	d.replaceValues(secret)
	metadata, _ := secret["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if manifest, ok := annotations[corev1.LastAppliedConfigAnnotation].(string); ok {
		annotations[corev1.LastAppliedConfigAnnotation] = d.hiddenManifest(manifest)
	}
}

// hidden returns a Secret with its keys and without its values.
func (d *SecretDigest) hidden(data json.RawMessage) (json.RawMessage, error) {
	var secret map[string]any
	if err := decodeJSON(data, &secret); err != nil {
		return nil, fmt.Errorf("removing the data of a Secret: %w", err)
	}
	d.Hide(secret)
	return json.Marshal(secret)
}

// replaceValues replaces the values of a Secret's keys.
func (d *SecretDigest) replaceValues(secret map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		values, ok := secret[field].(map[string]any)
		if !ok {
			delete(secret, field)
			continue
		}
		for name, value := range values {
			text, _ := value.(string)
			values[name] = d.replacement(text, field == "data")
		}
	}
}

// replacement returns what stands for a value, which is in base64 or text, in the same form. It is JSON, since the API
// checks that some values are.
func (d *SecretDigest) replacement(value string, encoded bool) string {
	if d == nil {
		return ""
	}
	content := []byte(value)
	if encoded {
		if decoded, err := base64.StdEncoding.DecodeString(value); err == nil {
			content = decoded
		}
	}
	h := hmac.New(sha256.New, d.key)
	h.Write(content)
	text := fmt.Sprintf(`{"digest":%q}`, hex.EncodeToString(h.Sum(nil)))
	if encoded {
		return base64.StdEncoding.EncodeToString([]byte(text))
	}
	return text
}

// hiddenManifest returns the manifest of a Secret without its values; empty if it cannot be read.
func (d *SecretDigest) hiddenManifest(manifest string) string {
	var secret map[string]any
	if decodeJSON([]byte(manifest), &secret) != nil {
		return ""
	}
	d.replaceValues(secret)
	out, err := json.Marshal(secret)
	if err != nil {
		return ""
	}
	return string(out)
}
