package inspect

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// HiddenValue takes the place of a value that must not be shown, such as those of Secrets, as in `kubectl diff`.
const HiddenValue = "***"

// IsSecret reports whether an object is a Secret of the core group, in any version; false for nil.
func IsSecret(obj *unstructured.Unstructured) bool {
	return obj != nil && obj.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}
