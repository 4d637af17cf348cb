package scenarios

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"time"
)

// credential says what a certificate or the token of a service account is, in PEM or as base64 of that: no two control
// planes sign alike. It is empty for any other text.
func (n *normaliser) credential(s string) string {
	text := s
	if decoded, err := base64.StdEncoding.DecodeString(s); err == nil {
		text = string(decoded)
	}
	switch {
	case strings.HasPrefix(text, "-----BEGIN CERTIFICATE-----"):
		return certificate([]byte(text))
	case strings.HasPrefix(text, "eyJ") && strings.Count(text, ".") == 2:
		return n.token(strings.Split(text, ".")[1])
	}
	return ""
}

// certificate tells the subject, the purpose and the life of a certificate that was signed for a user. Those that sign
// themselves are all alike.
func certificate(text []byte) string {
	block, _ := pem.Decode(text)
	if block == nil {
		return ""
	}
	c, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return ""
	case c.Subject.String() == c.Issuer.String():
		return "(root certificate)"
	}
	// What it is backdated by depends on its life alone.
	return fmt.Sprintf("(certificate of %s: usage %d %d, authority %v, names %q %v, for %s)",
		c.Subject, c.KeyUsage, c.ExtKeyUsage, c.IsCA, c.DNSNames, c.IPAddresses,
		c.NotAfter.Sub(c.NotBefore).Round(time.Minute))
}

// token tells the claims of a token.
func (n *normaliser) token(payload string) string {
	decoded, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return ""
	}
	var claims map[string]any
	if err := json.Unmarshal(decoded, &claims); err != nil {
		return ""
	}
	return "(token with " + canonical(n.tree(claims)) + ")"
}
