package inspect

import (
	"regexp"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// HiddenValue takes the place of a value that must not be shown, such as those of Secrets, as in `kubectl diff`.
const HiddenValue = "***"

// IsSecret reports whether an object is a Secret of the core group, in any version; false for nil.
func IsSecret(obj *unstructured.Unstructured) bool {
	return obj != nil && obj.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}

// masked match the fields of a kind whose values must not be shown.
var masked = map[schema.GroupKind]*regexp.Regexp{
	{Kind: "Secret"}: regexp.MustCompile(`^(data|stringData)\b|` + copies),
	{Group: authenticationv1.GroupName, Kind: "TokenRequest"}: regexp.MustCompile(`^status(\.token)?$`),
	// Metadata alone does not tell the kind of its object, which may be a Secret.
	metadataAlone: regexp.MustCompile(copies),
}

// copies matches the annotations of a Secret: kubectl and other tools keep a copy of all fields in one.
const copies = `^metadata\.annotations(\[[^\]]*applied[^\]]*\])?$`

var metadataAlone = schema.GroupKind{Group: metav1.GroupName, Kind: "PartialObjectMetadata"}

// Mask replaces the values in the changes of an object of the kind by HiddenValue, if they must not be shown, such as
// those of Secrets: only that they differ is shown. Changes that are printed, logged or exported have been masked.
func Mask(kind schema.GroupKind, changes []Change) {
	fields := masked[kind]
	if fields == nil {
		return
	}
	for i := range changes {
		if fields.MatchString(changes[i].Path) {
			changes[i].Hide()
		}
	}
}

// maskedKind returns the kind of an object as Mask knows it; the zero kind for all that it leaves as they are.
func maskedKind(obj runtime.Object) schema.GroupKind {
	switch obj := obj.(type) {
	case *corev1.Secret:
		return schema.GroupKind{Kind: "Secret"}
	case *authenticationv1.TokenRequest:
		return schema.GroupKind{Group: authenticationv1.GroupName, Kind: "TokenRequest"}
	case *metav1.PartialObjectMetadata:
		return metadataAlone
	case *unstructured.Unstructured:
		return obj.GroupVersionKind().GroupKind()
	}
	return schema.GroupKind{}
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
