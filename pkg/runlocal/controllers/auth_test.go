package controllers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestServiceAccountIsMadeAndMadeAgain(t *testing.T) {
	t.Parallel()
	s := bareSession(t)
	s.run(t, 0, "serviceaccount")
	s.namespace(t, "shop")
	s.expect(t, "serviceaccount", "create serviceaccounts by shop because ADDED Namespace shop seen by namespaceAdded")
	must(t, s.client.CoreV1().ServiceAccounts("shop").Delete(t.Context(), "default", metav1.DeleteOptions{}))
	s.expect(t, "serviceaccount",
		"create serviceaccounts by shop because DELETED ServiceAccount default seen by serviceAccountDeleted")
}

func TestClusterRolesAreAggregated(t *testing.T) {
	t.Parallel()
	s := bareSession(t)
	s.server.WaitReady(t.Context())
	s.run(t, 0, "clusterrole-aggregation")
	s.settle(t) // every role is an event for all that aggregate
	roles := s.client.RbacV1().ClusterRoles()
	part := mustValue[*rbacv1.ClusterRole](t)(roles.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "read-pods", Labels: map[string]string{"monitoring": "yes"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{}))
	s.settle(t)
	mustValue[*rbacv1.ClusterRole](t)(roles.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "monitoring"},
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
			{MatchLabels: map[string]string{"monitoring": "yes"}},
		}},
	}, metav1.CreateOptions{}))
	s.expect(t, "clusterrole-aggregation",
		"patch clusterroles by monitoring because ADDED ClusterRole monitoring seen by enqueue")
	s.settle(t)
	part.Rules[0].Verbs = []string{"get", "list"}
	mustValue[*rbacv1.ClusterRole](t)(roles.Update(t.Context(), part, metav1.UpdateOptions{}))
	s.expect(t, "clusterrole-aggregation",
		"patch clusterroles by monitoring because MODIFIED ClusterRole read-pods seen by enqueue")
	whole := mustValue[*rbacv1.ClusterRole](t)(roles.Get(t.Context(), "monitoring", metav1.GetOptions{}))
	if diff := cmp.Diff(part.Rules, whole.Rules); diff != "" {
		t.Errorf("what the role allows (-part +whole):\n%s", diff)
	}
}

// bootstrapToken is a Secret as kubeadm makes it.
func bootstrapToken(id string, expires time.Time) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id, Namespace: "kube-system"},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": id, "token-secret": "0123456789abcdef", "expiration": expires.UTC().Format(time.RFC3339),
			"usage-bootstrap-signing": "true", "usage-bootstrap-authentication": "true",
		},
	}
}

func TestClusterInfoIsSigned(t *testing.T) {
	t.Parallel()
	s := bareSession(t)
	s.run(t, 0, "bootstrapsigner")
	info := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cluster-info"},
		Data: map[string]string{"kubeconfig": "apiVersion: v1"}}
	mustValue[*corev1.ConfigMap](t)(s.client.CoreV1().ConfigMaps("kube-public").Create(t.Context(), info,
		metav1.CreateOptions{}))
	eventually(t, "a reconcile before a token exists", s.reconciled("bootstrapsigner", "kube-public/cluster-info"))
	token := bootstrapToken("abcdef", time.Now().Add(time.Hour))
	mustValue[*corev1.Secret](t)(s.client.CoreV1().Secrets("kube-system").Create(t.Context(), token,
		metav1.CreateOptions{}))
	s.expect(t, "bootstrapsigner",
		"update configmaps by kube-public/cluster-info because ADDED Secret bootstrap-token-abcdef seen by pokeConfigMapSync")
}

func TestExpiredTokensAreRemoved(t *testing.T) {
	t.Parallel()
	s := bareSession(t)
	s.run(t, 0, "tokencleaner")
	for id, expires := range map[string]time.Time{"abcdef": time.Now().Add(-time.Hour),
		"uvwxyz": time.Now().Add(time.Hour)} {
		mustValue[*corev1.Secret](t)(s.client.CoreV1().Secrets("kube-system").Create(t.Context(),
			bootstrapToken(id, expires), metav1.CreateOptions{}))
	}
	s.expect(t, "tokencleaner",
		"delete secrets by kube-system/bootstrap-token-abcdef because ADDED Secret bootstrap-token-abcdef seen by enqueueSecrets")
	eventually(t, "the other token to be enqueued for when it expires", func() bool {
		for _, c := range s.tap.State().Controllers {
			if c.Name == "tokencleaner" && len(c.Queues[0].Delayed) == 1 {
				return c.Queues[0].Delayed[0].Key == "kube-system/bootstrap-token-uvwxyz"
			}
		}
		return false
	})
}

// tokenSecret is a Secret that requests a token of the ServiceAccount default.
func tokenSecret(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}
}

func TestServiceAccountTokenIsMadeAndRemoved(t *testing.T) {
	t.Parallel()
	s := bareSession(t)
	s.server.WaitReady(t.Context())
	s.run(t, 0, "serviceaccount-token")
	secrets := s.client.CoreV1().Secrets("default")
	mustValue[*corev1.Secret](t)(secrets.Create(t.Context(), tokenSecret("robot"), metav1.CreateOptions{}))
	s.expect(t, "serviceaccount-token",
		"update secrets by secrets default/robot because ADDED Secret robot seen by queueSecretSync")
	filled := mustValue[*corev1.Secret](t)(secrets.Get(t.Context(), "robot", metav1.GetOptions{}))
	config := rest.CopyConfig(s.config)
	config.BearerToken = string(filled.Data["token"])
	if user := whoami(t, config); user != "system:serviceaccount:default:default" {
		t.Errorf("the token is that of %q", user)
	}
	s.settle(t) // else the controller may delete the Secret because it was filled, when it sees that late
	must(t, s.client.CoreV1().ServiceAccounts("default").Delete(t.Context(), "default", metav1.DeleteOptions{}))
	s.expect(t, "serviceaccount-token",
		"delete secrets by serviceaccounts default/default because DELETED ServiceAccount default seen by queueServiceAccountSync")
}

// TestUnusedTokensAreMarked has a clock that is ahead by more than the year that tokens may be left unused.
func TestUnusedTokensAreMarked(t *testing.T) {
	t.Parallel()
	s := bareSession(t)
	s.server.WaitReady(t.Context())
	secret := mustValue[*corev1.Secret](t)(s.client.CoreV1().Secrets("default").Create(t.Context(), tokenSecret("old"),
		metav1.CreateOptions{}))
	accounts := s.client.CoreV1().ServiceAccounts("default")
	account := mustValue[*corev1.ServiceAccount](t)(accounts.Get(t.Context(), "default", metav1.GetOptions{}))
	account.Secrets = []corev1.ObjectReference{{Name: secret.Name}} // as those had that got tokens by themselves
	mustValue[*corev1.ServiceAccount](t)(accounts.Update(t.Context(), account, metav1.UpdateOptions{}))
	later := clocktesting.NewFakeClock(time.Now().Add(2 * legacyTokenMaxAge))
	t.Cleanup(s.startThese(t, 0, legacyTokenCleaner(later)))
	s.expect(t, "legacy-service-account-token-cleaner", "patch secrets by no reconcile")
}
