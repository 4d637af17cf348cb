package cluster

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of objects as a server serves it, in one version. It is only read once it is made; copies share slices.
type Kind struct {
	schema.GroupVersionKind
	// Resource is the plural name in the kind's URL; Singular is empty if the server does not say it.
	Resource, Singular string
	// Namespaced is false for kinds whose objects live in no namespace.
	Namespaced bool
	// HasStatus says that the kind has the subresource status.
	HasStatus bool
	// ShortNames, Categories and Verbs are as the server lists them; each may be nil.
	ShortNames, Categories, Verbs []string
}

// GVR is what names the kind in URLs.
func (k Kind) GVR() schema.GroupVersionResource { return k.GroupVersion().WithResource(k.Resource) }

// GroupResource names the kind whatever the version.
func (k Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}
}

// Can reports whether the server allows verb on the kind at all; whether a user may is another matter.
func (k Kind) Can(verb string) bool { return slices.Contains(k.Verbs, verb) }

// Collected reports whether the garbage collector watches the kind: it must be able to delete, list and watch it, and it
// leaves Events out (GetDeletableResources and DefaultIgnoredResources of k8s.io/kubernetes/pkg/controller/garbagecollector).
func (k Kind) Collected() bool {
	return k.Can("delete") && k.Can("list") && k.Can("watch") && !k.isEvent()
}

func (k Kind) isEvent() bool {
	return k.Resource == "events" && (k.Group == "" || k.Group == "events.k8s.io")
}

// String is the kind as `kubectl get -o name` writes it: deployment.apps, pod.
func (k Kind) String() string {
	kind := strings.ToLower(k.Kind)
	if k.Group == "" {
		return kind
	}
	return kind + "." + k.Group
}

// Compare orders kinds by kind, group, resource and version, as trees and tables list them.
func (k Kind) Compare(other Kind) int {
	return cmp.Or(
		cmp.Compare(k.Kind, other.Kind),
		cmp.Compare(k.Group, other.Group),
		cmp.Compare(k.Resource, other.Resource),
		cmp.Compare(k.Version, other.Version),
	)
}

// Target is a kind to list.
type Target struct {
	Kind Kind
	// Namespace is the only one to read; empty reads all. It does not matter for kinds that are not namespaced.
	Namespace string
}

// Compare orders targets by kind, then namespace.
func (t Target) Compare(other Target) int {
	return cmp.Or(t.Kind.Compare(other.Kind), cmp.Compare(t.Namespace, other.Namespace))
}
