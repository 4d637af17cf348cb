package inspect

import (
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// HiddenValue takes the place of a value that must not be shown, such as those of Secrets, as in `kubectl diff`.
const HiddenValue = "***"

// IsSecret reports whether an object is a Secret of the core group, in any version; false for nil.
func IsSecret(obj *unstructured.Unstructured) bool {
	return obj != nil && obj.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}

// secretFields matches the fields of a Secret whose values must not be shown: kubectl and other tools keep a copy of
// all fields in an annotation.
var secretFields = regexp.MustCompile(`^(data|stringData)\b|^metadata\.annotations(\[[^\]]*applied[^\]]*\])?$`)

// HideSecret replaces the values in the changes of a Secret by HiddenValue: only that they differ is shown.
func HideSecret(changes []Change) {
	for i := range changes {
		if secretFields.MatchString(changes[i].Path) {
			changes[i].Hide()
		}
	}
}

// Hide replaces the values that there are by HiddenValue.
func (c *Change) Hide() {
	if c.Old != nil {
		c.Old = HiddenValue
	}
	if c.New != nil {
		c.New = HiddenValue
	}
}
