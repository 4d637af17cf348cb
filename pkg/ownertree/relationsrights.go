package ownertree

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

func roleBindingReferences(b *rbacv1.RoleBinding) []reference {
	return bindingReferences(b.Namespace, b.RoleRef, b.Subjects)
}

func clusterRoleBindingReferences(b *rbacv1.ClusterRoleBinding) []reference {
	return bindingReferences("", b.RoleRef, b.Subjects)
}

func bindingReferences(namespace string, role rbacv1.RoleRef, subjects []rbacv1.Subject) []reference {
	kind := schema.GroupKind{Group: rbacv1.GroupName, Kind: role.Kind}
	to := reference{kind: "grants", inverse: "granted by", to: kind, name: role.Name}
	if role.Kind == "Role" {
		to.namespace = namespace
	}
	out := []reference{to}
	for _, s := range subjects {
		if ref, ok := subjectReference(s); ok {
			out = append(out, ref)
		}
	}
	return out
}

// subjectReference is the accounts that a subject stands for: one of its name, or those of a group; false if it stands
// for none. The names of users and groups are those of k8s.io/apiserver/pkg/authentication/serviceaccount.
func subjectReference(s rbacv1.Subject) (reference, bool) {
	ref := core(serviceAccount.Kind, s.Namespace, s.Name, "granted rights by", "grants to")
	ref.backward = true
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		return ref, strings.TrimSpace(s.Name) != ""
	case rbacv1.UserKind:
		var err error
		ref.namespace, ref.name, err = serviceaccount.SplitUsername(s.Name)
		return ref, err == nil
	case rbacv1.GroupKind:
		ref.inverse, ref.name, ref.match = "grants to its group", "", &matcher{labels: labels.Everything()}
		if namespace, ok := strings.CutPrefix(s.Name, serviceaccount.ServiceAccountGroupPrefix); ok {
			ref.namespace = namespace
			return ref, true
		}
		ref.namespace, ref.asked = allNamespaces, true
		return ref, s.Name == serviceaccount.AllServiceAccountsGroup || s.Name == user.AllAuthenticated
	}
	return reference{}, false
}

// clusterRoleReferences are the roles whose rules a role is made of
// (k8s.io/kubernetes/pkg/controller/clusterroleaggregation).
func clusterRoleReferences(r *rbacv1.ClusterRole) []reference {
	if r.AggregationRule == nil {
		return nil
	}
	var out []reference
	for i := range r.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&r.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			continue
		}
		out = append(out, reference{
			kind: "aggregates", inverse: "aggregated into", to: schema.GroupKind{Group: rbacv1.GroupName, Kind: "ClusterRole"},
			match: &matcher{labels: selector},
		})
	}
	return out
}
