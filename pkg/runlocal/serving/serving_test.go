package serving

import (
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSelfSigned(t *testing.T) {
	for _, tt := range []struct {
		host, want string
		reason     string
	}{
		{"0.0.0.0", "127.0.0.1", "every interface includes loopback"},
		{"", "127.0.0.1", "no host means every interface"},
		{"10.9.8.7", "10.9.8.7", "an address of one's own"},
		{"box.example.com", "box.example.com", "a name of one's own"},
		{"127.0.0.1", "::1", "loopback has two families"},
	} {
		certificate, ca, err := SelfSigned("one", tt.host)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := x509.ParseCertificate(certificate.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(ca) {
			t.Errorf("%s: the PEM holds no certificate: %s", tt.reason, ca)
		}
		if _, err := parsed.Verify(x509.VerifyOptions{Roots: roots, DNSName: tt.want}); err != nil {
			t.Errorf("the certificate for %q: %v: %s", tt.host, err, tt.reason)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for _, tt := range []struct {
		address string
		want    bool
		broken  bool
		reason  string
	}{
		{"127.0.0.1:0", true, false, "loopback"},
		{"127.8.8.8:9", true, false, "all of 127/8 is"},
		{"[::1]:9090", true, false, "loopback of IPv6"},
		{"localhost:9090", true, false, "its name"},
		{":9090", false, false, "no host means every interface"},
		{"0.0.0.0:9090", false, false, "every interface"},
		{"10.1.2.3:9090", false, false, "an address of others"},
		{"localhost.example.com:1", false, false, "a name that begins like it"},
		{"9090", false, true, "no port"},
	} {
		got, err := IsLoopback(tt.address)
		if got != tt.want || (err != nil) != tt.broken {
			t.Errorf("IsLoopback(%q) = %v, %v: %s", tt.address, got, err, tt.reason)
		}
	}
}

func TestReachable(t *testing.T) {
	for _, tt := range []struct {
		address net.Addr
		want    string
		reason  string
	}{
		{&net.TCPAddr{IP: net.IPv4zero, Port: 7}, "127.0.0.1:7", "every interface includes loopback"},
		{&net.TCPAddr{IP: net.IPv6zero, Port: 7}, "127.0.0.1:7", "of either family"},
		{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 7}, "10.0.0.1:7", "an address of one's own"},
		{&net.UnixAddr{Name: "/socket"}, "/socket", "no TCP at all"},
	} {
		if got := connectAddress(tt.address); got != tt.want {
			t.Errorf("reachable(%v) = %q, want %q: %s", tt.address, got, tt.want, tt.reason)
		}
	}
}

func TestWritePrivate(t *testing.T) {
	dir := t.TempDir()
	target, path := filepath.Join(dir, "target"), filepath.Join(dir, "token")
	if err := os.WriteFile(target, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	if err := WritePrivate(path, []byte("ours")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has mode %v, %v; want another file, for the owner alone", info.Mode(), err)
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "theirs" {
		t.Errorf("the link was followed: %q, %v", data, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("something is left over: %v, %v", entries, err)
	}
	if err := WritePrivate(filepath.Join(dir, "no", "file"), nil); err == nil ||
		!strings.Contains(err.Error(), "no/file") {
		t.Errorf("writing where there is no directory: %v", err)
	}
}
