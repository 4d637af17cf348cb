package access

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Permission is one thing that RBAC allows or does not. It is a value, fit for keys of maps.
type Permission struct {
	// Namespace is where; empty is everywhere, and for kinds that are in no namespace.
	Namespace string
	// Group and Resource are of what, such as "apps" and "deployments/status". "*" is every one, "*/scale" that subresource
	// of every one.
	Group, Resource string
	// Name is of which object; empty is any.
	Name string
	// Verb is as RBAC calls it, such as "list".
	Verb string
}

// IsRead says that nothing is changed by it.
func (r Permission) IsRead() bool { return r.Verb == "get" || r.Verb == "list" || r.Verb == "watch" }

// GroupResource is what it is for, without a subresource.
func (r Permission) GroupResource() schema.GroupResource {
	resource, _, _ := strings.Cut(r.Resource, "/")
	return schema.GroupResource{Group: r.Group, Resource: resource}
}

// isWildcard says that it is for more than one resource.
func (r Permission) isWildcard() bool { return r.Group == "*" || strings.HasPrefix(r.Resource, "*") }

// resourceText is the resource as users write it: "deployments.apps", "pods/status".
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

// String is "list pods", "update deployments.apps/status in shop".
func (r Permission) String() string {
	text := r.Verb + " " + r.resourceText()
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	return text
}

// Compare orders by namespace, group, resource, name and verb.
func (r Permission) Compare(other Permission) int {
	return cmp.Or(
		cmp.Compare(r.Namespace, other.Namespace), cmp.Compare(r.Group, other.Group), cmp.Compare(r.Resource, other.Resource),
		cmp.Compare(r.Name, other.Name), cmp.Compare(r.Verb, other.Verb),
	)
}

// Need is a right that controllers need.
type Need struct {
	Permission
	// Controllers are who needs it, by Controller.Short, sorted.
	Controllers []string
	// Optional says that controllers do their work without it: it is for recording Events.
	Optional bool
}

// needs collects needs, each right once.
type needs map[Permission]*Need

func (n needs) add(r Permission, optional bool, controllers ...string) {
	old := n[r]
	if old == nil {
		n[r] = &Need{Permission: r, Controllers: slices.Clone(controllers), Optional: optional}
		return
	}
	old.Controllers = append(old.Controllers, controllers...)
	old.Optional = old.Optional && optional
}

func (n needs) sorted() []Need {
	var out []Need
	for _, one := range n {
		slices.Sort(one.Controllers)
		one.Controllers = slices.Compact(one.Controllers)
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b Need) int { return a.Compare(b.Permission) })
	return out
}
