package scenarios

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

// issue makes a certificate for that name, which lasts for an hour; issuer is its own or another's.
func issue(t *testing.T, name, issuer string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: begin, NotAfter: begin.Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	parent := &x509.Certificate{Subject: pkix.Name{CommonName: issuer}}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func encoded(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestCredential(t *testing.T) {
	n := newNormaliser(outcomeOf(t))
	part := base64.RawURLEncoding.EncodeToString
	token := func(claims string) string {
		return part([]byte(`{"alg":"ES256"}`)) + "." + part([]byte(claims)) + "." + part([]byte(rand.Text()))
	}
	const signed = `(certificate of CN=jane: usage 0 [2], authority false, names [] [], for 1h0m0s)`
	for _, tt := range []struct{ in, want, reason string }{
		{issue(t, "jane", "ca"), signed, "a certificate that was signed for somebody"},
		{encoded(issue(t, "jane", "ca")), signed, "the same as data"},
		{issue(t, "ca", "ca"), "(root certificate)", "one that signs itself"},
		{encoded(issue(t, "other", "other")), "(root certificate)", "another, as data"},
		{encoded(token(`{"sub":"x","uid":"` + uidB + `"}`)), `(token with {"sub":"x","uid":"(uid of ReplicaSet/web-abc)"})`, "a token as data"},
		{token(`{"sub":"x"}`), `(token with {"sub":"x"})`, "a token"},
		{"-----BEGIN CERTIFICATE-----\nmine", "", "no certificate"},
		{encoded("-----BEGIN CERTIFICATE REQUEST-----"), "", "a request for one is the scenario's own"},
		{"eyJhIjoxfQ..c2ln", "", "a signature without what it signs"},
		{encoded("hello"), "", "other data"},
		{"hello", "", "other text"},
	} {
		if got := n.credential(tt.in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
		want := tt.want
		if want == "" {
			want = tt.in
		}
		if got := n.text(tt.in); got != want {
			t.Errorf("%s: its text became %q, want %q", tt.reason, got, want)
		}
	}
}

func FuzzCredential(f *testing.F) {
	f.Add("eyJhIjoxfQ.e30.c2ln")
	f.Add(encoded("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	n := newNormaliser(&Outcome{})
	f.Fuzz(func(t *testing.T, s string) {
		if got := n.credential(s); got != "" && !strings.HasPrefix(got, "(") {
			t.Errorf("%q became %q", s, got)
		}
	})
}
