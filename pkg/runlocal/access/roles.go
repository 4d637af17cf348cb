package access

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sort"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// Roles returns objects that grant the missing permissions to the user: a ClusterRole for those in all namespaces, a
// Role for each namespace, and a binding of each to the user. Their names have a hash of their rules, so that roles
// that were applied before are not replaced. It returns nil if nothing is missing.
func Roles(missing []Need, user authenticationv1.UserInfo) []runtime.Object {
	byNamespace := map[string][]Need{}
	for _, n := range missing {
		byNamespace[n.Namespace] = append(byNamespace[n.Namespace], n)
	}
	var out []runtime.Object
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		rules := rulesFor(byNamespace[namespace])
		out = append(out, roleAndBinding(namespace, "kubectl-reconcile-"+rulesHash(rules), rules, subject(user))...)
	}
	return out
}

func roleAndBinding(namespace, name string, rules []rbacv1.PolicyRule, to rbacv1.Subject) []runtime.Object {
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
	kind := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
	}
	ref := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	if namespace == "" {
		return []runtime.Object{
			&rbacv1.ClusterRole{TypeMeta: kind("ClusterRole"), ObjectMeta: meta, Rules: rules},
			&rbacv1.ClusterRoleBinding{
				TypeMeta: kind("ClusterRoleBinding"), ObjectMeta: meta,
				Subjects: []rbacv1.Subject{to}, RoleRef: ref("ClusterRole"),
			},
		}
	}
	return []runtime.Object{
		&rbacv1.Role{TypeMeta: kind("Role"), ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{TypeMeta: kind("RoleBinding"), ObjectMeta: meta, Subjects: []rbacv1.Subject{to},
			RoleRef: ref("Role")},
	}
}

// subject returns the user as a binding names it.
func subject(user authenticationv1.UserInfo) rbacv1.Subject {
	if namespace, name, err := serviceaccount.SplitUsername(user.Username); err == nil {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user.Username}
}

// rulesFor returns few rules that grant exactly these permissions, sorted.
func rulesFor(needs []Need) []rbacv1.PolicyRule {
	type what struct{ group, resource, name string }
	verbs := map[what][]string{}
	for _, n := range needs {
		at := what{n.Group, n.Resource, n.Name}
		verbs[at] = append(verbs[at], n.Verb)
	}
	type alike struct{ group, name, verbs string }
	resources := map[alike][]string{}
	for at, v := range verbs {
		slices.Sort(v)
		key := alike{at.group, at.name, strings.Join(v, ",")}
		resources[key] = append(resources[key], at.resource)
	}
	var out []rbacv1.PolicyRule
	for key, names := range resources {
		slices.Sort(names)
		rule := rbacv1.PolicyRule{APIGroups: []string{key.group}, Resources: names,
			Verbs: strings.Split(key.verbs, ",")}
		if key.name != "" {
			rule.ResourceNames = []string{key.name}
		}
		out = append(out, rule)
	}
	sort.Slice(out, func(i, j int) bool { return ruleKey(out[i]) < ruleKey(out[j]) })
	return out
}

// ruleKey returns a text that identifies a rule.
func ruleKey(r rbacv1.PolicyRule) string {
	return strings.Join([]string{
		r.APIGroups[0], strings.Join(r.Resources, ","), strings.Join(r.ResourceNames, ","), strings.Join(r.Verbs, ","),
	}, "\x00")
}

// rulesHash returns a short hash of rules.
func rulesHash(rules []rbacv1.PolicyRule) string {
	h := fnv.New32a()
	for _, r := range rules {
		_, _ = h.Write([]byte(ruleKey(r) + "\x01")) // never fails
	}
	return fmt.Sprintf("%08x", h.Sum32())
}
