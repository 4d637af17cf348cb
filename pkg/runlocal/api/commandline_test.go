package api

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// authority signs client certificates, as envtest's does.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key, certificatePEM(der)}
}

// user returns a certificate for a user of groups.
func (a authority) user(t *testing.T, name string, groups ...string) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name, Organization: groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
}

// freePort returns a port of this machine that nothing listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// envtestArgs are the arguments that envtest gives, in a folder with the authority of clients.
func envtestArgs(t *testing.T, clients []byte) []string {
	t.Helper()
	dir := t.TempDir()
	ca := filepath.Join(dir, "client-ca.crt")
	if err := os.WriteFile(ca, clients, 0o600); err != nil {
		t.Fatal(err)
	}
	port, key := freePort(t), filepath.Join(dir, "apiserver.key") // made with the serving certificate
	return []string{
		"--allow-privileged=true", "--authorization-mode=RBAC", "--bind-address=127.0.0.1", "--cert-dir=" + dir,
		"--client-ca-file=" + ca, "--disable-admission-plugins=ServiceAccount", "--etcd-servers=http://127.0.0.1:1",
		"--secure-port=" + port, "--service-account-issuer=https://127.0.0.1:" + port + "/",
		"--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.0.0.0/24",
	}
}

func commandLine(t *testing.T, args ...string) (*CommandLine, error) {
	t.Helper()
	o := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	sections := o.Flags()
	for _, name := range sections.Order {
		flags.AddFlagSet(sections.FlagSets[name])
	}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return NewCommandLine(o)
}

// startWith starts a server with envtest's arguments and more. It returns clients of a user with a certificate.
func startWith(
	t *testing.T, o Options, more ...string,
) (server *fixture, as func(name string, groups ...string) *fixture) {
	t.Helper()
	ca := newAuthority(t)
	line, err := commandLine(t, append(envtestArgs(t, ca.pem), more...)...)
	if err != nil {
		t.Fatal(err)
	}
	o.CommandLine = line
	server = start(t, o)
	return server, func(name string, groups ...string) *fixture {
		root, err := server.RootCA()
		if err != nil {
			t.Fatal(err)
		}
		pair := ca.user(t, name, groups...)
		key, err := x509.MarshalECPrivateKey(ca.key)
		if err != nil {
			t.Fatal(err)
		}
		config := &rest.Config{Host: server.URL(), QPS: -1, Dial: (&net.Dialer{}).DialContext,
			TLSClientConfig: rest.TLSClientConfig{CAData: root, CertData: certificatePEM(pair.Certificate[0]),
				KeyData: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})}}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.CloseIdleConnections)
		return clients(t, server.Server, config)
	}
}

func TestCommandLineOfEnvtest(t *testing.T) {
	server, as := startWith(t, Options{NoDefaultAccounts: true})
	admin := as("admin", "system:masters")
	review, err := admin.AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || review.Status.UserInfo.Username != "admin" {
		t.Errorf("the user of a certificate: %v, %v", review, err)
	}
	stranger := as("stranger", "guests")
	if _, err := stranger.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without a role lists secrets: %v", err)
	}
	accounts, err := admin.CoreV1().ServiceAccounts("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(accounts.Items) > 0 {
		t.Errorf("service accounts that a kube-apiserver does not create: %v, %v", accounts.Items, err)
	}
	if _, err := admin.CoreV1().Pods("default").Create(t.Context(), pod("p"), metav1.CreateOptions{}); err != nil {
		t.Errorf("a pod without a service account: %v", err)
	}
	service, err := admin.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || service.Spec.ClusterIP != "10.0.0.1" {
		t.Errorf("the Service kubernetes: %v, %v", service.Spec.ClusterIP, err)
	}
	server.WaitReady(t.Context())
	if body := get(t, server, "/readyz"); body != "ok" {
		t.Errorf("/readyz without a certificate: %q", body)
	}
}

// Tokens of service accounts have the issuer of the command line, and are accepted.
func TestCommandLineTokens(t *testing.T) {
	server, as := startWith(t, Options{}, "--service-account-issuer=https://old.example/", "--api-audiences=shop")
	admin := as("admin", "system:masters")
	token, err := admin.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claims, err := base64.RawURLEncoding.DecodeString(strings.Split(token.Status.Token, ".")[1])
	if err != nil || !strings.Contains(string(claims), `"iss":"`+server.URL()+`/"`) ||
		!strings.Contains(string(claims), `"aud":["shop"]`) {
		t.Errorf("the token says %s, %v", claims, err)
	}
	review, err := admin.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token}}, metav1.CreateOptions{})
	if err != nil || review.Status.User.Username != "system:serviceaccount:default:default" {
		t.Errorf("the token is reviewed as %v, %v", review.Status, err)
	}
}

// What else tests set: an API version that is off by default, an audit log, limits of Services, another authorizer.
func TestCommandLineOptions(t *testing.T) {
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	text := `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}`
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, as := startWith(t, Options{}, "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
		"--audit-policy-file="+policy, "--audit-log-path="+log, "--audit-log-mode=blocking",
		"--service-node-port-range=31000-31000", "--authorization-mode=AlwaysAllow",
		"--enable-admission-plugins=AlwaysPullImages")
	user := as("anyone")
	if _, err := user.Discovery().ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1beta1"); err != nil {
		t.Errorf("a version of --runtime-config: %v", err)
	}
	created, err := user.CoreV1().Pods("default").Create(t.Context(), pod("pulled"), metav1.CreateOptions{})
	if err != nil || created.Spec.Containers[0].ImagePullPolicy != corev1.PullAlways {
		t.Errorf("the admission plugin did not run: %v", err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}}
	if service, err = user.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil ||
		service.Spec.Ports[0].NodePort != 31000 {
		t.Errorf("a service on nodes: %v, %v", service, err)
	}
	audited, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(audited), `"username":"anyone"`) {
		t.Errorf("the audit log does not have the user: %v", err)
	}
}

func TestCommandLineErrors(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		want   string
		reason string
	}{
		{[]string{"--service-cluster-ip-range=nonsense"}, "service-cluster-ip-range[0] is not a valid cidr", "no range"},
		{[]string{"--service-cluster-ip-range=10.0.0.0/24,10.1.0.0/24"}, "must be of different IP family", "one family"},
		{[]string{"--service-cluster-ip-range=10.0.0.0/24,fd00::/112,fd01::/112"}, "more than two", "three ranges"},
		{[]string{"--authorization-mode=Nonsense"}, `"Nonsense" is not a valid mode`, "upstream's check"},
		{[]string{"--enable-admission-plugins=Nonsense"}, `"Nonsense" is unknown`, "upstream's check"},
		{[]string{"--runtime-config=nonsense/v1=true"}, "unknown api groups nonsense", "upstream's check"},
		{[]string{"--service-account-signing-key-file=/nonexistent"}, "no such file", "a key that is not there"},
		{[]string{"--service-account-max-token-expiration=1m"}, "between 1 hour", "upstream's check"},
	} {
		_, err := commandLine(t, append(envtestArgs(t, newAuthority(t).pem), tt.args...)...)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q: %s", tt.args, err, tt.want, tt.reason)
		}
	}
	line, err := commandLine(t, append(envtestArgs(t, newAuthority(t).pem), "--client-ca-file=/nonexistent")...)
	if err == nil {
		_, err = Start(t.Context(), Options{CommandLine: line})
	}
	if err == nil || !strings.Contains(err.Error(), "reading the authorities of client certificates") {
		t.Errorf("an authority that is not there: %v", err)
	}
}

// get requests a path as a client without a certificate.
func get(t *testing.T, server *fixture, path string) string {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, server.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body := make([]byte, 100)
	n, _ := response.Body.Read(body)
	return string(body[:n])
}
