package runlocal

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func selected(t *testing.T, names ...string) []controllers.Controller {
	t.Helper()
	cs, err := controllers.Select(names)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func TestSigningAuthority(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	a, err := newSigningAuthority()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(a.certFile, a.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	if parsed, err := x509.ParseCertificate(pair.Certificate[0]); err != nil || !parsed.IsCA {
		t.Errorf("no authority: %v", err)
	}
	for _, tt := range []struct {
		path   string
		want   os.FileMode
		reason string
	}{
		{a.dir, 0o700, "other users cannot list it"},
		{a.keyFile, 0o600, "other users cannot read the key"},
		{a.certFile, 0o600, "nor what belongs to it"},
	} {
		if info, err := os.Stat(tt.path); err != nil || info.Mode().Perm() != tt.want {
			t.Errorf("%s: %v, %v: %s", tt.path, info, err, tt.reason)
		}
	}
	for range 2 {
		if err := a.remove(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestAuthorityGoesWithTheSession: whatever becomes of the start, no key is left behind.
func TestAuthorityGoesWithTheSession(t *testing.T) {
	for _, tt := range []struct {
		reason string
		api    api.Options
		fails  bool
	}{
		{"a session that starts", api.Options{Listen: "127.0.0.1:0"}, false},
		{"one that does not", api.Options{Listen: "nowhere"}, true},
	} {
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		s, err := Start(t.Context(), Options{API: tt.api, Controllers: selected(t, "csrsigning")})
		if (err != nil) != tt.fails {
			t.Fatalf("%s: %v", tt.reason, err)
		}
		if !tt.fails {
			if there, err := os.ReadDir(dir); err != nil || len(there) != 1 {
				t.Errorf("%s: want one folder, got %v, %v", tt.reason, there, err)
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", tt.reason, left, err)
		}
	}
}

func TestNoAuthorityWithoutItsController(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	start(t, Options{}, "deployment")
	if there, err := os.ReadDir(dir); err != nil || len(there) > 0 {
		t.Errorf("a key that no controller needs: %v, %v", there, err)
	}
}

// TestSignedCertificateAuthenticates requests a client certificate, as kubectl users do, and connects with it.
func TestSignedCertificateAuthenticates(t *testing.T) {
	s := start(t, Options{API: api.Options{Listen: "127.0.0.1:0"}}, "csrsigning")
	ctx := within(t)
	s.Server().WaitReady(ctx)
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	request, key := certificateRequest(t, "jane")
	requests := client.CertificatesV1().CertificateSigningRequests()
	csr, err := requests.Create(ctx, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
		{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"},
	}
	if _, err := requests.UpdateApproval(ctx, csr.Name, csr, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		csr, err = requests.Get(ctx, csr.Name, metav1.GetOptions{})
		return err == nil && len(csr.Status.Certificate) > 0, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if user := whoHas(t, s, csr.Status.Certificate, key); user != "jane" {
		t.Errorf("the certificate is that of %q", user)
	}
}

// certificateRequest is one for a user, and the user's key in PEM.
func certificateRequest(t *testing.T, user string) (*certificatesv1.CertificateSigningRequest, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{Subject: pkix.Name{CommonName: user}}, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})
}

// whoHas asks the session, over the network, who comes with the certificate.
func whoHas(t *testing.T, s *Session, cert, key []byte) string {
	t.Helper()
	root, err := s.Server().RootCA()
	if err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{
		Host: s.Server().URL(), TLSClientConfig: rest.TLSClientConfig{CAData: root, CertData: cert, KeyData: key},
		Dial: (&net.Dialer{}).DialContext, // not the shared transport
	}
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(config, transport)
	if err != nil {
		t.Fatal(err)
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo.Username
}

// TestAccountsAreTheControllers: where the controller runs, no other part makes accounts.
func TestAccountsAreTheControllers(t *testing.T) {
	for _, tt := range []struct {
		reason     string
		controller string
		want       string // the controller that makes the account; empty for the API
	}{
		{"without the controller the API makes accounts", "deployment", ""},
		{"with it the controller does", "serviceaccount", "serviceaccount"},
	} {
		made := &creators{}
		s := start(t, Options{Recorder: trace.NewRecorder(clock.RealClock{}, made)}, tt.controller)
		ctx := within(t)
		if err := s.EnsureNamespace(ctx, "shop"); err != nil {
			t.Fatal(err)
		}
		client, err := kubernetes.NewForConfig(s.Config())
		if err != nil {
			t.Fatal(err)
		}
		err = wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			_, err := client.CoreV1().ServiceAccounts("shop").Get(ctx, "default", metav1.GetOptions{})
			return err == nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.WaitSettled(ctx); err != nil {
			t.Fatal(err)
		}
		if got := made.of("serviceaccounts", "shop"); got != tt.want {
			t.Errorf("%s: it was made by controller %q, want %q", tt.reason, got, tt.want)
		}
	}
}

// creators is a sink that notes which controller has made an object, by resource and namespace.
type creators struct{ by sync.Map }

// Record implements trace.Sink.
func (c *creators) Record(e *trace.Event) {
	if r, ok := e.Detail.(*trace.Request); ok && r.Verb == "create" && !r.Failed() {
		c.by.Store(r.Resource+" "+r.Namespace, e.Controller)
	}
}

func (c *creators) of(resource, namespace string) string {
	if by, ok := c.by.Load(resource + " " + namespace); ok {
		return by.(string)
	}
	return ""
}
