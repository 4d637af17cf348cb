package run

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// writePEM writes blocks to a file of the test.
func writePEM(t *testing.T, name string, blocks ...*pem.Block) string {
	t.Helper()
	var text []byte
	for _, b := range blocks {
		text = append(text, pem.EncodeToMemory(b)...)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// keyPair makes a key and a certificate that it signs itself.
func keyPair(t *testing.T) (cert, key *pem.Block) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return &pem.Block{Type: "CERTIFICATE", Bytes: der}, &pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}
}

func TestAuthority(t *testing.T) {
	certBlock, keyBlock := keyPair(t)
	_, otherKeyBlock := keyPair(t)
	cert, key := writePEM(t, "ca.crt", certBlock), writePEM(t, "ca.key", keyBlock)
	two, otherKey := writePEM(t, "two.crt", certBlock, certBlock), writePEM(t, "other.key", otherKeyBlock)
	none := filepath.Join(t.TempDir(), "none")
	for _, tt := range []struct {
		flags  authorityFlags
		lacks  []string // of what a controller can lack
		err    []string // parts of the error
		reason string
	}{
		{authorityFlags{}, []string{controllers.MissingRootCA, controllers.MissingSigningAuthority, controllers.MissingServiceAccountKey}, nil, "nothing given"},
		{authorityFlags{accountKey: key, rootCA: two, signingCert: cert, signingKey: key}, nil, nil, "all given; several certificates may be known"},
		{authorityFlags{rootCA: cert}, []string{controllers.MissingSigningAuthority, controllers.MissingServiceAccountKey}, nil, "one given"},
		{authorityFlags{accountKey: none}, nil, []string{"--service-account-private-key-file", none}, "a file that is not there"},
		{authorityFlags{accountKey: cert}, nil, []string{"--service-account-private-key-file"}, "no key"},
		{authorityFlags{rootCA: none}, nil, []string{"--root-ca-file", none}, "a file that is not there"},
		{authorityFlags{rootCA: key}, nil, []string{"--root-ca-file", key}, "no certificate"},
		{authorityFlags{signingCert: cert}, nil, []string{"--cluster-signing-cert-file needs --cluster-signing-key-file"}, "half of a pair"},
		{authorityFlags{signingKey: key}, nil, []string{"--cluster-signing-key-file needs --cluster-signing-cert-file"}, "the other half"},
		{authorityFlags{signingCert: two, signingKey: key}, nil, []string{"--cluster-signing-cert-file", "2 certificates"}, "upstream takes one"},
		{authorityFlags{signingCert: cert, signingKey: otherKey}, nil, []string{"--cluster-signing-key-file", "does not match"}, "another's key"},
		{authorityFlags{accountKey: none, rootCA: none}, nil, []string{"--service-account-private-key-file", "--root-ca-file"}, "all that is wrong is told"},
	} {
		a, err := tt.flags.authority()
		if (err != nil) != (tt.err != nil) {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		for _, part := range tt.err {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error lacks %q: %v", tt.reason, part, err)
			}
		}
		if err == nil && !slices.Equal(lacking(a), tt.lacks) {
			t.Errorf("%s: lacking %q, want %q", tt.reason, lacking(a), tt.lacks)
		}
	}
}

// lacking is what controllers lack, each once, sorted.
func lacking(a controllers.Authority) []string {
	var out []string
	for _, c := range controllers.All() {
		if lack := c.MissingAuthority(a); lack != "" {
			out = append(out, lack)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestReadSigner reads keys of the sorts that openssl and kubeadm make.
func TestReadSigner(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	_, block := keyPair(t)
	for _, tt := range []struct {
		block  *pem.Block
		reason string
	}{
		{block, "an elliptic curve's"},
		{&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}, "PKCS 8"},
	} {
		if signer, err := readSigner(writePEM(t, "key", tt.block)); err != nil || signer.Public() == nil {
			t.Errorf("%s: %v", tt.reason, err)
		}
	}
}

// TestEveryLackHasItsFlag fails when a controller lacks something that no flag gives.
func TestEveryLackHasItsFlag(t *testing.T) {
	for _, lack := range lacking(controllers.Authority{}) {
		flags := flagsFor(lack)
		if flags == "" {
			t.Errorf("no flag gives what %q tells of", lack)
		}
		for flag := range strings.SplitSeq(flags, " and ") {
			if !isAuthorityFlag(strings.TrimPrefix(flag, "--")) {
				t.Errorf("%s is no flag of the authority", flag)
			}
		}
	}
	if flags := flagsFor("something else"); flags != "" {
		t.Errorf("%s does not help", flags)
	}
}
