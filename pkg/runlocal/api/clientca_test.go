package api

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

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
		{"anybody can make an authority", stranger, "", nil},
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
	for _, tt := range []struct{ reason, listen string }{
		{"that of the certificate that it serves", "127.0.0.1:0"},
		{"one that stands for it where it listens nowhere", ""},
	} {
		f := start(t, Options{Listen: tt.listen})
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
		if tt.listen != "" && !slices.Equal(first, f.listener.CA) {
			t.Errorf("%s: it is another", tt.reason)
		}
	}
}
