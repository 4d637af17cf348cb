package access

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// rolePrefix begins the names of the roles of controllers.
const rolePrefix = "system:controller:"

// tokensAccount is the name of the credentials of the token controller.
const tokensAccount = "tokens-controller"

// tokenRules returns the rules of the token controller, which kube-controller-manager runs with its own credentials,
// and which has no role: the requests of pkg/controller/serviceaccount/tokens_controller.go.
func tokenRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{Verbs: []string{"get", "update", "delete"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
		{Verbs: []string{"get", "update"}, APIGroups: []string{""}, Resources: []string{"serviceaccounts"}},
	}
}

// unneededVerbs returns the verbs that a controller of certificates does not need, of the role that all of them share.
func unneededVerbs() map[string][]string {
	return map[string][]string{
		names.CertificateSigningRequestApprovingController: {"sign", "delete"},
		names.CertificateSigningRequestSigningController:   {"approve", "delete"},
		names.CertificateSigningRequestCleanerController:   {"sign", "approve", "update", "create"},
	}
}

// obsoleteGroup is a group that roles still name, and that no server serves.
const obsoleteGroup = "extensions"

// Needs returns what the controllers need, sorted, each permission once: in all namespaces, except for what upstream's
// roles grant in one only.
func Needs(of []controllers.Controller) []Need {
	all := needs{}
	for _, c := range of {
		for namespace, rules := range rulesOf(c.Credentials()) {
			all.addRules(c, namespace, rules)
		}
		for _, r := range c.Reads {
			for _, verb := range []string{"list", "watch"} {
				all.add(Permission{Group: r.Group, Resource: r.Resource, Verb: verb}, false, c.Short)
			}
		}
	}
	return all.sorted()
}

// rulesOf returns the rules of upstream's roles for the credentials of that name, by namespace: "" for a ClusterRole.
func rulesOf(account string) map[string][]rbacv1.PolicyRule {
	rules := map[string][]rbacv1.PolicyRule{}
	if account == tokensAccount {
		rules[""] = tokenRules()
	}
	for _, role := range bootstrappolicy.ControllerRoles() {
		if role.Name == rolePrefix+account {
			rules[""] = append(rules[""], role.Rules...)
		}
	}
	for namespace, roles := range bootstrappolicy.NamespaceRoles() {
		for _, role := range roles {
			if role.Name == rolePrefix+account {
				rules[namespace] = append(rules[namespace], role.Rules...)
			}
		}
	}
	return rules
}

// addRules adds what rules grant in a namespace, "" for all, as needs of a controller.
func (n needs) addRules(c controllers.Controller, namespace string, rules []rbacv1.PolicyRule) {
	spare := unneededVerbs()[c.Name]
	for _, rule := range rules {
		for r := range permissionsOf(namespace, rule) {
			if r.Group != obsoleteGroup && !slices.Contains(spare, r.Verb) {
				n.add(r, strings.HasPrefix(r.Resource, "events") && !r.IsRead(), c.Short)
			}
		}
	}
}

// permissionsOf yields all permissions that a rule grants.
func permissionsOf(namespace string, rule rbacv1.PolicyRule) func(yield func(Permission) bool) {
	objects := rule.ResourceNames
	if len(objects) == 0 {
		objects = []string{""}
	}
	return func(yield func(Permission) bool) {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, object := range objects {
					for _, verb := range rule.Verbs {
						if !yield(Permission{namespace, group, resource, object, verb}) {
							return
						}
					}
				}
			}
		}
	}
}
