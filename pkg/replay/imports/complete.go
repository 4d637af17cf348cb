package imports

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// ownerKey names an object as owner references do.
type ownerKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// ownersOf returns the uids that the owner references of objects have. It is empty if all objects have uids themselves.
func ownersOf(objects []*object) map[ownerKey]string {
	out := map[ownerKey]string{}
	anonymous := false
	for _, o := range objects {
		anonymous = anonymous || o.meta.UID == ""
	}
	if !anonymous {
		return out
	}
	for _, o := range objects {
		var content untyped.Map
		if utiljson.Unmarshal(o.text, (*map[string]any)(&content)) != nil {
			continue // complete reports it, if it matters
		}
		for _, reference := range content.Maps("metadata", "ownerReferences") {
			version, err := schema.ParseGroupVersion(reference.Text("apiVersion"))
			if err != nil {
				continue
			}
			kind := schema.GroupKind{Group: version.Group, Kind: reference.Text("kind")}
			for _, namespace := range []string{cmp.Or(o.meta.Namespace, corev1.NamespaceDefault), ""} {
				out[ownerKey{kind, namespace, reference.Text("name")}] = reference.Text("uid")
			}
		}
	}
	return out
}

// complete gives an object of a manifest what every object has that a server has stored, and without which it could not
// be told from others, or would not be served: the namespace default, if its kind is namespaced; a uid, which is that
// of the references to it if owners have one, and else the same for each object of its kind and name; and of a
// CustomResourceDefinition the status with which its kind is served.
func (o *object) complete(namespaced bool, owners map[ownerKey]string) error {
	noNamespace := namespaced && o.meta.Namespace == ""
	if !noNamespace && o.meta.UID != "" {
		return nil
	}
	var content untyped.Map
	if err := utiljson.Unmarshal(o.text, (*map[string]any)(&content)); err != nil {
		return fmt.Errorf("completing the %s %q: %w", o.gvk.Kind, o.meta.Name, err)
	}
	metadata := content.Sub("metadata")
	if metadata == nil {
		return fmt.Errorf("completing the %s %q: it has two fields metadata", o.gvk.Kind, o.meta.Name)
	}
	if noNamespace {
		o.meta.Namespace = corev1.NamespaceDefault
		metadata["namespace"] = o.meta.Namespace
	}
	if o.meta.UID == "" {
		key := ownerKey{o.gvk.GroupKind(), o.meta.Namespace, o.meta.Name}
		text := strings.Join([]string{key.kind.Group, key.kind.Kind, key.namespace, key.name}, "/")
		o.meta.UID = cmp.Or(owners[key], uuid.NewSHA1(uuid.Nil, []byte(text)).String())
		metadata["uid"] = o.meta.UID
	}
	isDefinition := o.gvk.GroupKind() == apiextensionsv1.Kind("CustomResourceDefinition")
	if names := content.Sub("spec", "names"); isDefinition && names != nil && content["status"] == nil {
		content["status"] = establishedStatus(names, content.Maps("spec", "versions"))
	}
	text, err := utiljson.Marshal(content)
	if err != nil {
		return fmt.Errorf("completing the %s %q: %w", o.gvk.Kind, o.meta.Name, err)
	}
	o.text = text
	return nil
}

// establishedStatus returns the status of a CustomResourceDefinition with these names and versions that is served.
func establishedStatus(names untyped.Map, versions []untyped.Map) map[string]any {
	accepted := maps.Clone(map[string]any(names))
	accepted["singular"] = cmp.Or(names.Text("singular"), strings.ToLower(names.Text("kind")))
	accepted["listKind"] = cmp.Or(names.Text("listKind"), names.Text("kind")+"List")
	var conditions []any
	for _, typ := range []apiextensionsv1.CustomResourceDefinitionConditionType{
		apiextensionsv1.NamesAccepted, apiextensionsv1.Established,
	} {
		conditions = append(conditions, map[string]any{"type": string(typ), "status": "True", "reason": "Manifest"})
	}
	stored := []any{}
	for _, version := range versions {
		if version.Flag("storage") {
			stored = append(stored, version.Text("name"))
		}
	}
	return map[string]any{"acceptedNames": accepted, "conditions": conditions, "storedVersions": stored}
}
