package ownertree

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

var serviceAccount = schema.GroupKind{Kind: rbacv1.ServiceAccountKind}

// referringOf is how objects of the kind refer to others; false if they do not.
func referringOf(kind *cluster.Kind) (referring, bool) {
	r, ok := relating[kind.GroupKind()]
	return r, ok
}

// ends reports whether relations are not followed beyond the node: the definition of a kind leads to all objects of that, and to
// the Service that converts them, which says next to nothing about one of them.
func (s *source) ends(n *Node) bool {
	return n.Kind.GroupKind().String() == definitions && !s.asked[n]
}

// isBinding reports whether the node gives roles to accounts. From a role, relations lead to the accounts, and not to all that
// runs as these.
func isBinding(n *Node) bool {
	return n.Kind.Group == rbacv1.GroupName && (n.Kind.Kind == "RoleBinding" || n.Kind.Kind == "ClusterRoleBinding")
}
