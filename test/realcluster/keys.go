package realcluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is a certificate authority that lives as long as a control plane.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// validity is how long certificates hold: longer than any test, and clocks may differ.
const validity = 24 * time.Hour

// writeKeys writes what the control plane authenticates with: ca.crt and ca.key, server.crt and server.key, and sa.pub
// and sa.key, which sign the tokens of service accounts.
func writeKeys(dir string, now time.Time) (*authority, error) {
	ca, err := newAuthority(now)
	if err != nil {
		return nil, err
	}
	server, err := newKey()
	if err != nil {
		return nil, err
	}
	certificate, err := ca.serving(&server.PublicKey, now)
	if err != nil {
		return nil, err
	}
	accounts, err := newKey()
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&accounts.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("encoding the key of service accounts: %w", err)
	}
	return ca, errors.Join(
		writeFile(dir, "ca.crt", ca.pem), writeKey(dir, "ca.key", ca.key),
		writeFile(dir, "server.crt", certificate), writeKey(dir, "server.key", server),
		writeFile(dir, "sa.pub", encode("PUBLIC KEY", public)), writeKey(dir, "sa.key", accounts),
	)
}

func newAuthority(now time.Time) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "realcluster"},
		NotBefore: now.Add(-validity), NotAfter: now.Add(validity),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("making the authority's certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the authority's certificate: %w", err)
	}
	return &authority{certificate, key, encode("CERTIFICATE", der)}, nil
}

// serving is the certificate of a server on the loopback address.
func (a *authority) serving(key crypto.PublicKey, now time.Time) ([]byte, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"},
		NotBefore: now.Add(-validity), NotAfter: now.Add(validity),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key, a.key)
	if err != nil {
		return nil, fmt.Errorf("making the server's certificate: %w", err)
	}
	return encode("CERTIFICATE", der), nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return key, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func writeKey(dir, name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	return writeFile(dir, name, encode("EC PRIVATE KEY", der))
}

func writeFile(dir, name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
