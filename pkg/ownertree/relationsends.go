package ownertree

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

var (
	serviceAccount = schema.GroupKind{Kind: rbacv1.ServiceAccountKind}
	definition     = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// referringOf is how objects of the kind refer to others; false if they do not.
func (s *relationSource) referringOf(kind *cluster.Kind) (referring, bool) {
	r, known := relating[kind.GroupKind()]
	if known || !isCustom(kind) {
		return r, known
	}
	return s.customReferring(kind), true
}

// stopsAt reports whether relations are not followed beyond the node: the definition of a kind leads to all objects of
// that, and to the Service that converts them, and a release to all that it has installed. That is of
// little interest for one of them.
func (s *relationSource) stopsAt(n *Node) bool {
	return (isDefinition(n) || isRelease(n)) && !s.asked[n]
}

// stopsUsersAt reports whether what uses the node has nothing to do with each other beside that: accounts that a binding
// gives rights to, and objects of the kind that a definition defines. What uses these is not looked for.
func stopsUsersAt(n *Node) bool {
	isBinding := n.Kind.Group == rbacv1.GroupName && (n.Kind.Kind == "RoleBinding" || n.Kind.Kind == "ClusterRoleBinding")
	return isBinding || isDefinition(n)
}

func isDefinition(n *Node) bool { return n.Kind.GroupKind() == definition }
