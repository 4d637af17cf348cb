package tree

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// kindNames holds the names that kinds of several groups have, as Service of the core group and of Knative. The zero
// value holds none.
type kindNames map[string]bool

// kindNamesOf looks at the kinds of the objects and of the owners that they refer to.
func kindNamesOf(nodes []*ownertree.Node) kindNames {
	groups, out := map[string]string{}, kindNames{}
	note := func(group, kind string) {
		if known, there := groups[kind]; there && known != group {
			out[kind] = true
		}
		groups[kind] = group
	}
	for _, n := range nodes {
		note(n.Kind.Group, n.Kind.Kind)
		for i := range n.Owners {
			note(ownerGroup(&n.Owners[i]), n.Owners[i].Kind)
		}
	}
	return out
}

// kind names a kind: Service, or where that is the name of several Service.serving.knative.dev. A kind of the core
// group has no group to add.
func (k kindNames) kind(group, kind string) string {
	if !k[kind] || group == "" {
		return kind
	}
	return kind + "." + group
}

// of names the kind of an object.
func (k kindNames) of(n *ownertree.Node) string { return k.kind(n.Kind.Group, n.Kind.Kind) }

// label names an object: Deployment/web.
func (k kindNames) label(n *ownertree.Node) string { return k.of(n) + "/" + n.Name }

// ownerLabel names the owner of a reference.
func (k kindNames) ownerLabel(o *ownertree.Owner) string {
	return k.kind(ownerGroup(o), o.Kind) + "/" + o.Name
}

func ownerGroup(o *ownertree.Owner) string {
	return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group
}
