package access

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Permission is a verb on a resource, as RBAC allows it. It can be a key of a map.
type Permission struct {
	// Namespace is where the permission is needed; empty for all namespaces and for cluster-scoped kinds.
	Namespace string
	// Group and Resource are such as "apps" and "deployments/status". "*" means all, "*/scale" the subresource of all.
	Group, Resource string
	// Name is the name of the object; empty for all.
	Name string
	// Verb is RBAC's verb, such as "list".
	Verb string
}

// IsRead reports whether the verb changes nothing.
func (r Permission) IsRead() bool { return r.Verb == "get" || r.Verb == "list" || r.Verb == "watch" }

// GroupResource returns the resource, without a subresource.
func (r Permission) GroupResource() schema.GroupResource {
	resource, _, _ := strings.Cut(r.Resource, "/")
	return schema.GroupResource{Group: r.Group, Resource: resource}
}

// isWildcard reports whether the permission is for more than one resource.
func (r Permission) isWildcard() bool { return r.Group == "*" || strings.HasPrefix(r.Resource, "*") }

// resourceText returns the resource as users write it, such as "deployments.apps" or "pods/status", and the name.
func (r Permission) resourceText() string {
	resource, sub, _ := strings.Cut(r.Resource, "/")
	text := resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if sub != "" {
		text += "/" + sub
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	return text
}

// String returns such as "list pods" or "update deployments.apps/status in shop".
func (r Permission) String() string {
	text := r.Verb + " " + r.resourceText()
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	return text
}

// Compare orders permissions by namespace, group, resource, name and verb.
func (r Permission) Compare(other Permission) int {
	return cmp.Or(
		cmp.Compare(r.Namespace, other.Namespace), cmp.Compare(r.Group, other.Group),
		cmp.Compare(r.Resource, other.Resource), cmp.Compare(r.Name, other.Name), cmp.Compare(r.Verb, other.Verb),
	)
}

// SortedPermissions returns the keys of a map, sorted.
func SortedPermissions[V any](of map[Permission]V) []Permission {
	out := slices.Collect(maps.Keys(of))
	sort.Slice(out, func(i, j int) bool { return out[i].Compare(out[j]) < 0 })
	return out
}

// Need is a permission that controllers need.
type Need struct {
	Permission
	// Controllers are the controllers that need it, by Controller.Short, sorted.
	Controllers []string
	// Optional is whether the controllers work without it: it is for recording Events.
	Optional bool
}

// needs are needs by their permission.
type needs map[Permission]*Need

// add adds a need, or its controllers to the need for the same permission. A need is optional if it is for all of them.
func (n needs) add(r Permission, optional bool, controllers ...string) {
	old := n[r]
	if old == nil {
		n[r] = &Need{Permission: r, Controllers: slices.Clone(controllers), Optional: optional}
		return
	}
	old.Controllers = append(old.Controllers, controllers...)
	old.Optional = old.Optional && optional
}

// sorted returns the needs in the order of Permission.Compare.
func (n needs) sorted() []Need {
	var out []Need
	for _, need := range n {
		slices.Sort(need.Controllers)
		need.Controllers = slices.Compact(need.Controllers)
		out = append(out, *need)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Compare(out[j].Permission) < 0 })
	return out
}
