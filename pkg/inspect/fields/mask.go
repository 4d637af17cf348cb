package fields

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// HiddenValue takes the place of a value that must not be shown, such as those of Secrets, as in `kubectl diff`.
const HiddenValue = "***"

// Mask is what must not be shown of an object: the values of a Secret, the token of a TokenRequest, and what Hides
// names. Each Change is made with one, so that none has such a value: by Changes and ChangesWithOrder, or by Change of
// a single field. Values that differ are HiddenValue on both sides.
//
// An object says by its kind, or by its Go type, what it is. Kind and Resource say it of others, such as parts of
// objects. What nothing is known of may be a Secret, and is hidden like one: the zero Mask is right for whole objects
// and safe for all. A Mask may be used concurrently if Hides may be called so.
type Mask struct {
	// Kind and Resource are what the objects are, besides what they say themselves. Either may be zero.
	Kind     schema.GroupKind
	Resource schema.GroupResource
	// Hides reports whether a field is hidden besides, by its path as Change has it; nil hides no more.
	Hides func(path string) bool
}

// The kinds and the resource of which fields are hidden. Metadata alone does not have the kind of its object.
var (
	secretKind       = schema.GroupKind{Kind: "Secret"}
	secretResource   = schema.GroupResource{Resource: "secrets"}
	tokenRequestKind = schema.GroupKind{Group: authenticationv1.GroupName, Kind: "TokenRequest"}
	metadataKind     = schema.GroupKind{Group: metav1.GroupName, Kind: "PartialObjectMetadata"}
)

// applied is a part of the names of annotations in which kubectl and other tools keep a copy of all fields.
const applied = "applied"

// copies matches these annotations, and what they are in.
const copies = `^metadata(\.annotations([.\[].*(?i:` + applied + `).*)?)?$`

// hiddenFields match the fields of a kind whose values must not be shown.
var hiddenFields = map[schema.GroupKind]*regexp.Regexp{
	secretKind:       regexp.MustCompile(`^(data|stringData)\b|` + copies),
	tokenRequestKind: regexp.MustCompile(`^status(\.token)?$`),
	metadataKind:     regexp.MustCompile(copies),
}

// Change returns the change of one field of an object that is of Kind or Resource. Its values are hidden if they must
// not be shown; nil, which is absent, remains nil.
func (m Mask) Change(path string, old, updated any) Change {
	return masked(Change{Path: path, Old: old, New: updated}, m.of())
}

// of returns a function that reports whether a field of objects, each of which may be nil, is hidden.
func (m Mask) of(objects ...runtime.Object) func(path string) bool {
	kinds := []schema.GroupKind{m.Kind}
	for _, obj := range objects {
		if !isNil(obj) {
			kinds = append(kinds, kindOf(obj))
		}
	}
	isKnown := m.Resource.Resource != "" ||
		slices.ContainsFunc(kinds, func(kind schema.GroupKind) bool { return kind.Kind != "" })
	if !isKnown || m.Resource == secretResource {
		kinds = append(kinds, secretKind)
	}
	return func(path string) bool {
		return m.Hides != nil && m.Hides(path) || slices.ContainsFunc(kinds, func(kind schema.GroupKind) bool {
			fields := hiddenFields[kind]
			return fields != nil && fields.MatchString(path)
		})
	}
}

func isNil(obj runtime.Object) bool { return obj == nil || reflect.ValueOf(obj).IsNil() }

// kindOf returns the kind of an object; the zero kind if it does not say it. Objects of Go types have mostly lost their
// group: the types are named like the kinds.
func kindOf(obj runtime.Object) schema.GroupKind {
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return obj.GroupVersionKind().GroupKind()
	case *authenticationv1.TokenRequest:
		return tokenRequestKind
	case *metav1.PartialObjectMetadata:
		return metadataKind
	}
	return schema.GroupKind{Kind: reflect.TypeOf(obj).Elem().Name()}
}

// masked returns a change without the values that are hidden.
func masked(c Change, isHidden func(path string) bool) Change {
	if !isHidden(c.Path) {
		return c
	}
	if c.Old != nil {
		c.Old = HiddenValue
	}
	if c.New != nil {
		c.New = HiddenValue
	}
	return c
}

// MaskObjects hides in two versions of an object, each of which may be nil, the values of a Secret: of those that
// differ it can only be seen that they do, as in `kubectl diff`. It modifies the objects.
func MaskObjects(old, updated *unstructured.Unstructured) {
	if !IsSecret(old) && !IsSecret(updated) {
		return
	}
	before, after := contentOf(old), contentOf(updated)
	for _, field := range []string{"data", "stringData"} {
		maskEntries(before, after, field, func(string) bool { return true })
	}
	isCopy := func(name string) bool { return strings.Contains(strings.ToLower(name), applied) }
	before, _ = before["metadata"].(map[string]any)
	after, _ = after["metadata"].(map[string]any)
	maskEntries(before, after, "annotations", isCopy)
}

func contentOf(obj *unstructured.Unstructured) map[string]any {
	if obj == nil {
		return nil
	}
	return obj.Object
}

// maskEntries hides the values of a field's keys that isHidden is true for, or the field if it is no map in one of two
// versions.
func maskEntries(before, after map[string]any, field string, isHidden func(key string) bool) {
	old, isMap := before[field].(map[string]any)
	updated, both := after[field].(map[string]any)
	if before[field] != nil && !isMap || after[field] != nil && !both {
		maskEntry(before, after, field)
		return
	}
	for _, entries := range []map[string]any{old, updated} {
		for key := range entries {
			if isHidden(key) {
				maskEntry(old, updated, key)
			}
		}
	}
}

// maskEntry hides the value of a key in two maps, each of which may lack it.
func maskEntry(before, after map[string]any, key string) {
	old, isOld := before[key]
	updated, isNew := after[key]
	shownOld, shownNew := HiddenValue, HiddenValue
	if isOld && isNew && !reflect.DeepEqual(old, updated) {
		shownOld, shownNew = HiddenValue+" (before)", HiddenValue+" (after)"
	}
	if isOld {
		before[key] = shownOld
	}
	if isNew {
		after[key] = shownNew
	}
}

// IsSecret reports whether an object is a Secret of the core group, in any version; false for nil.
func IsSecret(obj *unstructured.Unstructured) bool {
	return obj != nil && obj.GroupVersionKind().GroupKind() == secretKind
}
