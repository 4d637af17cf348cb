package controllers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func whoami(t testing.TB, config *rest.Config) string {
	t.Helper()
	client := mustValue[*kubernetes.Clientset](t)(kubernetes.NewForConfig(config))
	review := mustValue[*authenticationv1.SelfSubjectReview](t)(client.AuthenticationV1().SelfSubjectReviews().Create(
		t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}))
	return review.Status.UserInfo.Username
}

// nodeRequest is the request of a kubelet.
func nodeRequest(t testing.TB, name, signer string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key := mustValue[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	subject := pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}}
	der := mustValue[[]byte](t)(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject},
		key))
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: signer, Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}
}

// bootstrappers allows bootstrap tokens to request certificates of nodes, as kubeadm does.
func (s *session) bootstrappers(t testing.TB) {
	t.Helper()
	for _, role := range []string{"system:node-bootstrapper",
		"system:certificates.k8s.io:certificatesigningrequests:nodeclient"} {
		mustValue[*rbacv1.ClusterRoleBinding](t)(s.client.RbacV1().ClusterRoleBindings().Create(t.Context(),
			&rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "test:" + role},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:bootstrappers"}},
			}, metav1.CreateOptions{}))
	}
}

func TestRequestOfANodeIsApprovedAndSigned(t *testing.T) {
	t.Parallel()
	s := bareSession(t)
	s.server.WaitReady(t.Context())
	s.bootstrappers(t)
	s.run(t, 0, "csrsigning")
	kubelet := s.impersonating(t, "system:bootstrap:abcdef", "system:bootstrappers", "system:authenticated")
	eventually(t, "the bindings to count", func() bool {
		_, err := kubelet.CertificatesV1().CertificateSigningRequests().Create(
			t.Context(), nodeRequest(t, "n1", certificatesv1.KubeAPIServerClientKubeletSignerName), metav1.CreateOptions{})
		return err == nil
	})
	eventually(t, "csrsigning to have seen the request", func() bool {
		return slices.ContainsFunc(s.log.list(), func(e *trace.Event) bool {
			_, ok := e.Detail.(*trace.End)
			return ok && e.Controller == "csrsigning" && e.Key == "n1"
		})
	})
	s.run(t, 0, "csrapproving")
	s.expect(t, "csrapproving",
		"update certificatesigningrequests/approval by n1 because ADDED CertificateSigningRequest n1 seen by enqueueCertificateRequest")
	s.expect(t, "csrsigning",
		"update certificatesigningrequests/status by n1 because MODIFIED CertificateSigningRequest n1 seen by enqueueCertificateRequest")
	signed := mustValue[*certificatesv1.CertificateSigningRequest](t)(
		s.client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), "n1", metav1.GetOptions{}))
	block, _ := pem.Decode(signed.Status.Certificate)
	if block == nil {
		t.Fatalf("no certificate: %q", signed.Status.Certificate)
	}
	cert := mustValue[*x509.Certificate](t)(x509.ParseCertificate(block.Bytes))
	if cert.Subject.CommonName != "system:node:n1" || cert.Issuer.CommonName != "test" {
		t.Errorf("the certificate is that of %s, by %s", cert.Subject, cert.Issuer)
	}
}

// expiredCertificate is one that has run out.
func expiredCertificate(t testing.TB) []byte {
	t.Helper()
	key := mustValue[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-2 * time.Hour),
		NotAfter: time.Now().Add(-time.Hour)}
	der := mustValue[[]byte](t)(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestExpiredRequestIsRemoved(t *testing.T) {
	t.Parallel()
	s := bareSession(t)
	requests := s.client.CertificatesV1().CertificateSigningRequests()
	for _, name := range []string{"old", "young"} {
		csr := mustValue[*certificatesv1.CertificateSigningRequest](t)(
			requests.Create(t.Context(), nodeRequest(t, name, "example.com/signer"), metav1.CreateOptions{}))
		if name == "young" {
			continue
		}
		csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
			{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"},
		}
		csr = mustValue[*certificatesv1.CertificateSigningRequest](t)(requests.UpdateApproval(t.Context(), name, csr,
			metav1.UpdateOptions{}))
		csr.Status.Certificate = expiredCertificate(t)
		mustValue[*certificatesv1.CertificateSigningRequest](t)(requests.UpdateStatus(t.Context(), csr,
			metav1.UpdateOptions{}))
	}
	s.run(t, 0, "csrcleaner")
	s.expect(t, "csrcleaner", "delete certificatesigningrequests by no reconcile")
	left := mustValue[*certificatesv1.CertificateSigningRequestList](t)(requests.List(t.Context(), metav1.ListOptions{}))
	if len(left.Items) != 1 || left.Items[0].Name != "young" {
		t.Errorf("left: %v", left.Items)
	}
}

// TestOldPodCertificateRequestIsRemoved has a clock that is ahead by more than such a request may take.
func TestOldPodCertificateRequestIsRemoved(t *testing.T) {
	t.Parallel()
	s := bareSession(t)
	key := mustValue[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	stub := mustValue[[]byte](t)(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key))
	seconds := int32(3600)
	request := &certificatesv1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "late"},
		Spec: certificatesv1.PodCertificateRequestSpec{
			SignerName: "example.com/signer", PodName: "p", PodUID: "pod-uid", ServiceAccountName: "default",
			ServiceAccountUID: "account-uid",
			NodeName:          "n1", NodeUID: "node-uid", MaxExpirationSeconds: &seconds, StubPKCS10Request: stub,
		},
	}
	mustValue[*certificatesv1.PodCertificateRequest](t)(
		s.client.CertificatesV1().PodCertificateRequests("default").Create(t.Context(), request, metav1.CreateOptions{}))
	later := clocktesting.NewFakePassiveClock(time.Now().Add(2 * podCertificateMaxAge))
	t.Cleanup(s.startThese(t, 0, podCertificateRequestCleaner(later)))
	s.expect(t, "podcertificaterequest-cleaner", "delete podcertificaterequests by no reconcile")
}

func TestRootCAIsPublishedAndRestored(t *testing.T) {
	t.Parallel()
	s := bareSession(t)
	s.run(t, 0, "root-ca-cert-publisher")
	s.namespace(t, "shop")
	s.expect(t, "root-ca-cert-publisher", "create configmaps by shop because ADDED Namespace shop seen by namespaceAdded")
	maps := s.client.CoreV1().ConfigMaps("shop")
	published := mustValue[*corev1.ConfigMap](t)(maps.Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{}))
	root, err := s.server.RootCA()
	must(t, err)
	if published.Data["ca.crt"] != string(root) {
		t.Errorf("published %q, want %q", published.Data["ca.crt"], root)
	}
	published.Data["ca.crt"] = "another"
	mustValue[*corev1.ConfigMap](t)(maps.Update(t.Context(), published, metav1.UpdateOptions{}))
	s.expect(t, "root-ca-cert-publisher",
		"update configmaps by shop because MODIFIED ConfigMap kube-root-ca.crt seen by configMapUpdated")
}

func TestTrustBundleIsPublished(t *testing.T) {
	t.Parallel()
	const name = "kube-apiserver-serving-clustertrustbundle-publisher"
	s := bareSession(t)
	s.run(t, 0, name)
	s.expect(t, name, "create clustertrustbundles by kubernetes.io:kube-apiserver-serving because of ")
	bundles := s.client.CertificatesV1().ClusterTrustBundles()
	must(t, bundles.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	eventually(t, "the bundle to be made again", func() bool {
		list, err := bundles.List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 1
	})
}
