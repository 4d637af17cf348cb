package controllers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority is that of the session's server, with an authority for certificates in files of the test.
func (s *session) authority(t testing.TB) Authority {
	t.Helper()
	root, err := s.server.RootCA()
	if err != nil {
		t.Fatal(err)
	}
	a := Authority{RootCA: root, ServiceAccountKey: s.server.ServiceAccountKey()}
	a.SigningCertFile, a.SigningKeyFile = signingFiles(t)
	return a
}

func signingFiles(t testing.TB) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(2 * 365 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: encoded},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestLacks(t *testing.T) {
	for _, test := range []struct {
		controller Controller
		want       string
	}{
		{rootCAPublisher(), LacksRootCA},
		{trustBundlePublisher(), LacksRootCA},
		{serviceAccountToken(), LacksServiceAccountKey},
		{csrSigning(), LacksSigningAuthority},
		{csrApproving(), ""},
		{deploymentController(), ""},
	} {
		if got := test.controller.Lacks(Authority{}); got != test.want {
			t.Errorf("%s lacks %q, want %q", test.controller.Name, got, test.want)
		}
		whole := Authority{RootCA: []byte("ca"), SigningCertFile: "a", SigningKeyFile: "b"}
		whole.ServiceAccountKey, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if got := test.controller.Lacks(whole); got != "" {
			t.Errorf("%s lacks %q, and has all", test.controller.Name, got)
		}
	}
}
