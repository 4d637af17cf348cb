package serving

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// certificateLifetime is longer than any session.
const certificateLifetime = 365 * 24 * time.Hour

// SelfSigned returns a self-signed certificate with the common name name, for host and the local names of this machine;
// for all its addresses if host is empty or unspecified. It also returns the certificate in PEM, for clients to trust.
// client-go's util/cert does not do the same: its self-signed certificates have either no addresses, or two RSA keys,
// which take longer to make than a server takes to start.
func SelfSigned(name, host string) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("making the serving key: %w", err)
	}
	template, err := template(name, host)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("making the serving certificate: %w", err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, ca, nil
}

// template returns the certificate to sign.
func template(name, host string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-time.Hour), // clocks differ
		NotAfter:              now.Add(certificateLifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	return t, addHost(t, host)
}

// addHost adds host to the certificate's names, or every address of the machine if host is empty or unspecified.
func addHost(template *x509.Certificate, host string) error {
	ip := net.ParseIP(host)
	switch {
	case host == "" || ip.IsUnspecified():
		addresses, err := net.InterfaceAddrs()
		if err != nil {
			return fmt.Errorf("listing the addresses of this machine: %w", err)
		}
		for _, a := range addresses {
			if network, ok := a.(*net.IPNet); ok {
				template.IPAddresses = append(template.IPAddresses, network.IP)
			}
		}
	case ip != nil:
		template.IPAddresses = append(template.IPAddresses, ip)
	default:
		template.DNSNames = append(template.DNSNames, host)
	}
	return nil
}
