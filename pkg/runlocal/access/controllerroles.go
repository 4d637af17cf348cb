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

// credentialNames are the names of the credentials with which kube-controller-manager runs a controller, where they
// differ from the controller's name: see the calls of NewClient in cmd/kube-controller-manager/app.
func credentialNames() map[string]string {
	return map[string]string{
		names.ReplicationControllerController:                    "replication-controller",
		names.DaemonSetController:                                "daemon-set-controller",
		names.EndpointsController:                                "endpoint-controller",
		names.EndpointSliceMirroringController:                   "endpointslicemirroring-controller",
		names.GarbageCollectorController:                         "generic-garbage-collector",
		names.ServiceAccountController:                           "service-account-controller",
		names.RootCACertificatePublisherController:               "root-ca-cert-publisher",
		names.KubeAPIServerClusterTrustBundlePublisherController: "kube-apiserver-serving-clustertrustbundle-publisher",
		names.PodGarbageCollectorController:                      "pod-garbage-collector",
		names.HorizontalPodAutoscalerController:                  "horizontal-pod-autoscaler",
		names.NodeLifecycleController:                            "node-controller",
		names.TaintEvictionController:                            "node-controller",
		names.PersistentVolumeBinderController:                   "persistent-volume-binder",
		names.PersistentVolumeExpanderController:                 "expand-controller",
		names.PersistentVolumeAttachDetachController:             "attachdetach-controller",
		names.PersistentVolumeClaimProtectionController:          "pvc-protection-controller",
		names.PersistentVolumeProtectionController:               "pv-protection-controller",
		names.CertificateSigningRequestApprovingController:       "certificate-controller",
		names.CertificateSigningRequestSigningController:         "certificate-controller",
		names.CertificateSigningRequestCleanerController:         "certificate-controller",
		names.PodCertificateRequestCleanerController:             "podcertificaterequestcleaner",
		names.BootstrapSignerController:                          "bootstrap-signer",
		names.TokenCleanerController:                             "token-cleaner",
		names.ResourceClaimController:                            "resource-claim-controller",
		names.ServiceCIDRController:                              "service-cidrs-controller",
		names.StorageVersionGarbageCollectorController:           "storage-version-garbage-collector",
		names.LegacyServiceAccountTokenCleanerController:         "legacy-service-account-token-cleaner",
	}
}

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
	account := credentialNames()
	for _, c := range of {
		name := c.Name
		if other, ok := account[name]; ok {
			name = other
		}
		for namespace, rules := range rulesOf(name) {
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
	if account == names.ServiceAccountTokenController {
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
