package api

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// account returns the user name of the default ServiceAccount of f's namespace.
func (f *fixture) account() string { return "system:serviceaccount:" + f.namespace + ":default" }

// as is f for another identity.
func (f *fixture) as(t *testing.T, change func(*rest.Config)) *fixture {
	t.Helper()
	config := f.Config()
	change(config)
	as := clients(t, f.Server, config)
	as.namespace = f.namespace
	return as
}

func (f *fixture) whoami(t *testing.T) (authenticationv1.UserInfo, error) {
	t.Helper()
	review, err := f.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return review.Status.UserInfo, nil
}

func TestIdentities(t *testing.T) {
	f := plain.fixture(t)
	f.WaitReady(t.Context())
	for _, tt := range []struct {
		change  func(*rest.Config)
		user    string
		refused func(error) bool // of listing pods
		reason  string
	}{
		{func(*rest.Config) {}, "kubernetes-admin", nil, "who holds the token may do everything"},
		{func(c *rest.Config) { c.Impersonate.UserName = "jane" }, "jane", apierrors.IsForbidden, "impersonation, and RBAC has nothing for jane"},
		{func(c *rest.Config) {
			c.Impersonate.UserName = "jane"
			c.Impersonate.Groups = []string{"system:masters"}
		}, "jane", nil, "a group is impersonated too"},
		{func(c *rest.Config) { c.BearerToken = "" }, "system:anonymous", apierrors.IsForbidden, "no token is anonymous"},
		{func(c *rest.Config) { c.BearerToken = "wrong" }, "", apierrors.IsUnauthorized, "a wrong token is not anonymous"},
	} {
		as := f.as(t, tt.change)
		who, err := as.whoami(t)
		if tt.user != "" && tt.user != "system:anonymous" && (err != nil || who.Username != tt.user) {
			t.Errorf("the server sees %q, %v; want %q: %s", who.Username, err, tt.user, tt.reason)
		}
		_, err = as.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		if tt.refused == nil && err != nil || tt.refused != nil && !tt.refused(err) {
			t.Errorf("listing pods as %q: %v: %s", tt.user, err, tt.reason)
		}
	}
}

func TestAnonymousMayAskForHealth(t *testing.T) {
	f := plain.fixture(t)
	f.WaitReady(t.Context())
	anonymous := f.as(t, func(c *rest.Config) { c.BearerToken = "" })
	for _, path := range []string{"/livez", "/readyz", "/healthz", "/version"} {
		if _, err := anonymous.Discovery().RESTClient().Get().AbsPath(path).DoRaw(t.Context()); err != nil {
			t.Errorf("GET %s: %v", path, err)
		}
	}
	for _, path := range []string{"/metrics", "/apis", "/openapi/v3"} {
		if _, err := anonymous.Discovery().RESTClient().Get().AbsPath(path).DoRaw(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("GET %s: %v, want forbidden", path, err)
		}
	}
}

func TestServiceAccountToken(t *testing.T) {
	f := plain.fixture(t)
	f.WaitReady(t.Context())
	request := &authenticationv1.TokenRequest{}
	request, err := f.CoreV1().ServiceAccounts(f.namespace).CreateToken(t.Context(), "default", request,
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods := f.as(t, func(c *rest.Config) { c.BearerToken = request.Status.Token })
	if who, err := pods.whoami(t); err != nil || who.Username != f.account() ||
		!strings.Contains(strings.Join(who.Groups, " "), "system:serviceaccounts:"+f.namespace) {
		t.Errorf("the token speaks for %+v, %v", who, err)
	}
	if _, err := pods.CoreV1().Pods(f.namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing pods without a role: %v", err)
	}
	bind(t, f, "view-pods",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}})
	eventually(t, "the role allows the list", func(ctx context.Context) (bool, error) {
		_, err := pods.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	if _, err := pods.CoreV1().Pods("kube-system").List(t.Context(),
		metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing pods in a namespace without the role: %v", err)
	}
	for token, want := range map[string]bool{request.Status.Token: true, request.Status.Token + "x": false,
		"nonsense": false} {
		review, err := f.AuthenticationV1().TokenReviews().Create(t.Context(),
			&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
		if err != nil || review.Status.Authenticated != want {
			t.Errorf("TokenReview of %.10s…%.3s: %+v, %v", token, token[len(token)-3:], review, err)
		}
	}
}

// bind gives the default account of f's namespace a role with rule.
func bind(t *testing.T, f *fixture, name string, rule rbacv1.PolicyRule) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}}
	if _, err := f.RbacV1().Roles(f.namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "default", Namespace: f.namespace}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}
	if _, err := f.RbacV1().RoleBindings(f.namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestTokenBoundToPodEndsWithIt(t *testing.T) {
	f := plain.fixture(t)
	p := f.createPod(t, pod("holder"))
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.Name, UID: p.UID},
	}}
	request, err := f.CoreV1().ServiceAccounts(f.namespace).CreateToken(t.Context(), "default", request,
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.CoreV1().Pods(f.namespace).Delete(t.Context(), p.Name, *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	holder := f.as(t, func(c *rest.Config) { c.BearerToken = request.Status.Token })
	if _, err := holder.whoami(t); !apierrors.IsUnauthorized(err) {
		t.Errorf("the token of a deleted pod: %v, want unauthorized", err)
	}
}

func TestAccessReviews(t *testing.T) {
	f := plain.fixture(t)
	f.WaitReady(t.Context())
	eventually(t, "the bindings have reached the authorizer", func(ctx context.Context) (bool, error) {
		rules, err := f.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: f.namespace},
		}, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		for _, r := range rules.Status.ResourceRules {
			if r.Verbs[0] == "*" && r.Resources[0] == "*" {
				return true, nil
			}
		}
		return false, nil
	})
	can := func(as *fixture) bool {
		review, err := as.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(),
			&authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: f.namespace, Verb: "delete", Resource: "pods",
				}},
			}, metav1.CreateOptions{})
		if err != nil {
			t.Error(err)
			return false
		}
		return review.Status.Allowed
	}
	if !can(f) {
		t.Error("the administrator may not delete pods")
	}
	if can(f.as(t, func(c *rest.Config) { c.Impersonate.UserName = f.account() })) {
		t.Error("the default service account may delete pods")
	}
}

func TestDefaultPolicyIsUpstreams(t *testing.T) {
	f := plain.fixture(t)
	f.WaitReady(t.Context())
	roles, err := f.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := len(bootstrappolicy.ClusterRoles()) + len(bootstrappolicy.ControllerRoles()); len(roles.Items) != want {
		t.Errorf("%d cluster roles, upstream has %d", len(roles.Items), want)
	}
	bindings, err := f.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := len(bootstrappolicy.ClusterRoleBindings()) + len(bootstrappolicy.ControllerRoleBindings()); len(bindings.Items) != want {
		t.Errorf("%d cluster role bindings, upstream has %d", len(bindings.Items), want)
	}
	for namespace, want := range bootstrappolicy.NamespaceRoles() {
		got, err := f.RbacV1().Roles(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(got.Items) != len(want) {
			t.Errorf("%d roles in %q, upstream has %d; %v", len(got.Items), namespace, len(want), err)
		}
	}
	for _, level := range []string{"exempt", "catch-all", "system"} {
		if _, err := f.FlowcontrolV1().PriorityLevelConfigurations().Get(t.Context(), level,
			metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func TestIssuerIsPublished(t *testing.T) {
	f := plain.fixture(t)
	for path, want := range map[string]string{"/.well-known/openid-configuration": issuerURL,
		"/openid/v1/jwks": "ES256"} {
		body, err := f.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "*/*").DoRaw(t.Context())
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("GET %s: %q, %v; want it to contain %q", path, body, err, want)
		}
	}
}

// clientAuthority signs client certificates.
type clientAuthority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// certify makes a certificate, both parts in PEM, signed by the authority, or by itself if that is nil.
func (a *clientAuthority) certify(t *testing.T, template *x509.Certificate) (*ecdsa.PrivateKey, []byte, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := template, key
	if a != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, certificatePEM(der), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})
}

func newClientAuthority(t *testing.T) (*clientAuthority, []byte) {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, cert, _ := (*clientAuthority)(nil).certify(t, template)
	block, _ := pem.Decode(cert)
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return &clientAuthority{parsed, key}, cert
}

func TestClientCertificates(t *testing.T) {
	accepted, ca := newClientAuthority(t)
	stranger, _ := newClientAuthority(t)
	f := start(t, Options{Listen: "127.0.0.1:0", ClientCA: ca})
	f.WaitReady(t.Context())
	_, config := overTLS(t, f)
	for _, tt := range []struct {
		reason string
		signer *clientAuthority
		user   string // empty for one that is refused
		groups []string
	}{
		{"the common name is the user, the organizations are the groups", accepted, "system:node:n1", []string{"system:nodes", "system:authenticated"}},
		{"an authority that the server does not know", stranger, "", nil},
	} {
		_, cert, key := tt.signer.certify(t, &x509.Certificate{
			Subject:     pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}},
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		})
		as := rest.CopyConfig(config)
		as.BearerToken, as.CertData, as.KeyData = "", cert, key
		as.Dial = (&net.Dialer{}).DialContext
		user, err := clients(t, f.Server, as).whoami(t)
		switch {
		case tt.user == "" && !apierrors.IsUnauthorized(err):
			t.Errorf("%s: want to be refused, got %+v, %v", tt.reason, user, err)
		case tt.user != "" && (err != nil || user.Username != tt.user || !slices.Equal(user.Groups, tt.groups)):
			t.Errorf("%s: got %+v, %v", tt.reason, user, err)
		}
	}
	if user, err := f.whoami(t); err != nil || user.Username != adminUser {
		t.Errorf("the administrator's token beside it: %+v, %v", user, err)
	}
}

func TestStartRefusesAnAuthorityThatIsNone(t *testing.T) {
	s, err := Start(t.Context(), Options{ClientCA: []byte("none")})
	if err == nil {
		_ = s.Stop()
		t.Fatal("it started")
	}
}

func TestRootCA(t *testing.T) {
	for _, tt := range []struct {
		reason string
		server *sharedServer
	}{
		{"that of the certificate that it serves", &listening},
		{"a generated one for a server that does not listen", &plain},
	} {
		f := tt.server.fixture(t)
		first, err := f.RootCA()
		if err != nil {
			t.Fatal(err)
		}
		second, err := f.RootCA()
		if err != nil || !slices.Equal(first, second) {
			t.Errorf("%s: it changes: %v", tt.reason, err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(first) {
			t.Errorf("%s: no certificate: %q", tt.reason, first)
		}
		if f.listener != nil && !slices.Equal(first, f.listener.CA) {
			t.Errorf("%s: it is another", tt.reason)
		}
	}
}
